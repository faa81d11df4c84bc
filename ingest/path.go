package ingest

import (
	"bytes"
	"errors"
	"unicode"
	"unicode/utf8"
)

// MaxPathBytes bounds a normalised path.
const MaxPathBytes = 1024

// Why a path is refused.
var (
	errPathMissing = errors.New("path is required")
	errPathUTF8    = errors.New("path must be valid UTF-8")
	errPathControl = errors.New("path must not contain control characters")
	errPathLength  = errors.New("path must have at most 1,024 bytes")
)

// appendPath appends the normal form of a path or a full URL to dst, so that one
// page has one path:
//
//   - scheme and authority, query and fragment go;
//   - a leading slash comes, repeated and trailing slashes go;
//   - percent-encoding is normalised as RFC 3986 section 6.2.2 and RFC 3987
//     section 5.3.2.3 have it: unreserved characters and printable characters
//     beyond ASCII stand for themselves; all else that a path can not hold as it
//     is stands percent-encoded with upper-case digits; a percent sign that
//     begins no escape is escaped itself.
//
// The normal form of a normal form is itself. Decoding everything instead would
// not have that: /a%252Fb would become another path each time.
func appendPath(dst, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return dst, errPathMissing
	}
	raw = cutAuthority(raw)
	if end := bytes.IndexAny(raw, "?#"); end >= 0 {
		raw = raw[:end]
	}
	start := len(dst)
	dst = append(dst, '/')
	for len(raw) > 0 {
		switch c := raw[0]; {
		case c == '/':
			if dst[len(dst)-1] != '/' {
				dst = append(dst, '/')
			}
			raw = raw[1:]
		case isPathByte(c):
			dst = append(dst, c)
			raw = raw[1:]
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(raw)
			if r == utf8.RuneError && size == 1 {
				return dst, errPathUTF8
			}
			if unicode.IsControl(r) {
				return dst, errPathControl
			}
			dst = appendRune(dst, r)
			raw = raw[size:]
		case c < ' ' || c == 0x7f:
			return dst, errPathControl
		case c == '%':
			var err error
			if dst, raw, err = appendEscape(dst, raw); err != nil {
				return dst, err
			}
		default:
			dst = appendEscaped(dst, c)
			raw = raw[1:]
		}
		if len(dst)-start > MaxPathBytes+1 { // One more for a trailing slash that goes.
			return dst, errPathLength
		}
	}
	if n := len(dst); n-start > 1 && dst[n-1] == '/' {
		dst = dst[:n-1]
	}
	if len(dst)-start > MaxPathBytes {
		return dst, errPathLength
	}
	return dst, nil
}

// isNormalPath reports whether a path is its own normal form, for those that need
// neither decoding nor escaping: nearly all that are sent.
func isNormalPath(raw []byte) bool {
	if len(raw) == 0 || len(raw) > MaxPathBytes || raw[0] != '/' {
		return false
	}
	before := byte('/')
	for _, c := range raw[1:] {
		if !pathBytes[c] || c == '/' && before == '/' {
			return false
		}
		before = c
	}
	return before != '/' || len(raw) == 1
}

// pathBytes are those that stand in a path as they are, slashes included.
var pathBytes = func() (table [256]bool) {
	for c := range table {
		table[c] = c == '/' || isPathByte(byte(c))
	}
	return table
}()

// cutAuthority returns what follows scheme and authority of a full URL, and any
// other text as it is.
func cutAuthority(raw []byte) []byte {
	scheme, rest, found := bytes.Cut(raw, []byte("://"))
	if !found || len(scheme) == 0 {
		return raw
	}
	for i, c := range scheme {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		other := '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return raw
		}
	}
	if end := bytes.IndexAny(rest, "/?#"); end >= 0 {
		return rest[end:]
	}
	return nil
}

// appendEscape takes the percent sign that raw begins with, and what it escapes,
// off raw.
func appendEscape(dst, raw []byte) (_, rest []byte, err error) {
	first, ok := unescape(raw)
	if !ok {
		return appendEscaped(dst, '%'), raw[1:], nil
	}
	if first < utf8.RuneSelf {
		switch {
		case first < ' ' || first == 0x7f:
			return dst, raw, errPathControl
		case isUnreserved(first):
			return append(dst, first), raw[3:], nil
		}
		return appendEscaped(dst, first), raw[3:], nil
	}
	var encoded [utf8.UTFMax]byte
	n := 0
	for n < len(encoded) {
		c, ok := unescape(raw[3*n:])
		if !ok {
			break
		}
		encoded[n] = c
		n++
	}
	r, size := utf8.DecodeRune(encoded[:n])
	if r == utf8.RuneError && size == 1 {
		return appendEscaped(dst, first), raw[3:], nil
	}
	if unicode.IsControl(r) {
		return dst, raw, errPathControl
	}
	return appendRune(dst, r), raw[3*size:], nil
}

// appendRune appends a character beyond ASCII: as it is where it is printable,
// else escaped, since what shows nothing or turns the text around misleads.
func appendRune(dst []byte, r rune) []byte {
	if unicode.IsPrint(r) {
		return utf8.AppendRune(dst, r)
	}
	for _, c := range utf8.AppendRune(nil, r) {
		dst = appendEscaped(dst, c)
	}
	return dst
}

func appendEscaped(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}

func unescape(raw []byte) (byte, bool) {
	if len(raw) < 3 || raw[0] != '%' {
		return 0, false
	}
	high, ok1 := hexDigit(raw[1])
	low, ok2 := hexDigit(raw[2])
	return high<<4 | low, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// isUnreserved tells the characters that mean the same escaped or not (RFC 3986
// section 2.3).
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

// isPathByte tells the characters that stand in a path segment as they are (RFC
// 3986 section 3.3).
func isPathByte(c byte) bool {
	if isUnreserved(c) {
		return true
	}
	switch c {
	case '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=', ':', '@':
		return true
	}
	return false
}
