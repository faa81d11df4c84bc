package accesslog

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote takes back the escapes of a string that a scanner read. Without
// escapes that is raw itself; otherwise it is in p.unescaped.
func (p *Parser) unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	start := len(p.unescaped)
	p.unescaped = appendUnquoted(p.unescaped, raw)
	return p.unescaped[start:]
}

// appendUnquoted appends what the string raw, its escapes valid, stands for. Half
// of a surrogate pair stands for U+FFFD.
func appendUnquoted(dst, raw []byte) []byte {
	for {
		backslash := bytes.IndexByte(raw, '\\')
		if backslash < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:backslash]...)
		raw = raw[backslash:]
		length := 2
		switch c := raw[1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			length = 6
			r, _ := hexRune(raw)
			if utf16.IsSurrogate(r) {
				low, _ := hexRune(raw[length:])
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					length = 12
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		raw = raw[length:]
	}
}

// hexRune reads the escape \uhhhh that b begins with.
func hexRune(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		digit := hexDigit(c)
		if digit > 15 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
