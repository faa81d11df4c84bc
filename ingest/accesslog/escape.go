package accesslog

import "bytes"

// quoted reads a space and a quoted field at line[at:]. It returns what is
// between the quotes, escapes and all, and where the field ends. A field that
// the line ends in is malformed: it was cut off.
func quoted(line []byte, at int, field string) (raw []byte, end int, err error) {
	if !bytes.HasPrefix(line[at:], []byte(` "`)) {
		return nil, 0, malformed(field, at, "want a space and a quoted field")
	}
	start := at + 2
	length := bytes.IndexByte(line[start:], '"')
	if length < 0 {
		return nil, 0, malformed(field, start-1, "want a closing quote")
	}
	backslash := bytes.IndexByte(line[start:start+length], '\\')
	if backslash < 0 {
		return line[start : start+length], start + length + 1, nil
	}
	// Whether a quote is escaped depends on every backslash before it: `\\"` ends
	// a field, `\"` does not.
	for i := start + backslash; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return line[start:i], i + 1, nil
		}
	}
	return nil, 0, malformed(field, start-1, "want a closing quote")
}

// unescape takes back what the server escaped in raw. Without escapes that is
// raw itself; otherwise it is in p.unescaped.
//
// Apache writes \" \\ \b \n \r \t \v, and \xhh for other bytes that are not
// printable (ap_escape_logitem in server/util.c). nginx writes \xHH for these
// and for the quote and the backslash (ngx_http_log_escape, escape=default).
// Neither writes anything that means something else in the other. What is no
// escape of theirs stays as it is, as servers older than the escapes wrote it.
func (p *Parser) unescape(raw []byte) []byte {
	backslash := bytes.IndexByte(raw, '\\')
	if backslash < 0 {
		return raw
	}
	// Growing moves the buffer, but fields unescaped before keep the old one.
	start := len(p.unescaped)
	out := append(p.unescaped, raw[:backslash]...)
	for i := backslash; i < len(raw); i++ {
		if raw[i] == '\\' {
			if b, length, ok := decodeEscape(raw[i:]); ok {
				out = append(out, b)
				i += length - 1
				continue
			}
		}
		out = append(out, raw[i])
	}
	p.unescaped = out
	return out[start:]
}

// decodeEscape reads the escape that s starts with: the byte it stands for and
// its length. It reports false where s starts with a backslash that is none.
func decodeEscape(s []byte) (b byte, length int, ok bool) {
	if len(s) < 2 {
		return 0, 0, false
	}
	switch s[1] {
	case '"', '\\':
		return s[1], 2, true
	case 'b':
		return '\b', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'v':
		return '\v', 2, true
	case 'x':
		if len(s) < 4 {
			return 0, 0, false
		}
		high, low := hexDigit(s[2]), hexDigit(s[3])
		if high > 15 || low > 15 {
			return 0, 0, false
		}
		return high<<4 | low, 4, true
	}
	return 0, 0, false
}

// hexDigit returns the value of c, or more than 15 where c is no digit.
func hexDigit(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}
