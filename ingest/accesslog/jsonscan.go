package accesslog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// scanner reads a line that is one JSON text (RFC 8259), front to back:
//
//	for more := s.enter('{'); more; more = s.next('}') {
//		switch string(s.key()) {
//		case "host":
//			host = s.text(FieldHost)
//		default:
//			s.skip()
//		}
//	}
//	s.end()
//
// After the first fault, which err holds, nothing is left to read: loops end,
// and values are empty.
//
// It reads exactly the grammar, with two differences. Bytes within strings need
// not be UTF-8: nginx writes what the client sent. Objects and arrays nest at
// most maxDepth deep. A key that is written with escapes is no key of ours; of
// keys that occur twice, the last one counts.
//
// jsontext of github.com/go-json-experiment/json, which the tests hold it to,
// takes twice as long for a line's tokens alone, and allocates
// (BenchmarkJSONText).
type scanner struct {
	line []byte
	at   int
	err  error
}

const maxDepth = 32

func (s *scanner) fail(field string, at int, reason string) {
	if s.err == nil {
		s.err = malformed(field, at, reason)
	}
	s.line, s.at = nil, 0
}

// peek returns the byte that the next token begins with, or 0 at the end. The
// byte 0 begins no token.
func (s *scanner) peek() byte {
	for ; s.at < len(s.line); s.at++ {
		switch c := s.line[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// enter reads the opening brace or bracket, and reports whether an element
// follows.
func (s *scanner) enter(open byte) bool {
	if s.peek() != open {
		s.fail(FieldJSON, s.at, "want an object or an array")
		return false
	}
	s.at++
	const toClose = '}' - '{' // and as much from [ to ]
	if s.peek() == open+toClose {
		s.at++
		return false
	}
	return true
}

// next reads what stands after an element, and reports whether another follows.
func (s *scanner) next(closing byte) bool {
	switch s.peek() {
	case ',':
		s.at++
		return true
	case closing:
		s.at++
		return false
	}
	s.fail(FieldJSON, s.at, "want a comma or the closing bracket")
	return false
}

// end reports a fault where anything follows the text.
func (s *scanner) end() {
	if s.peek() != 0 || s.at < len(s.line) {
		s.fail(FieldJSON, s.at, "want the line's end after the object")
	}
}

// key reads a member's name and the colon.
func (s *scanner) key() []byte {
	key := s.text(FieldJSON)
	if s.peek() != ':' {
		s.fail(FieldJSON, s.at, "want a colon")
		return nil
	}
	s.at++
	return key
}

// text reads a string for field, and returns it with its escapes: never nil
// unless it failed.
func (s *scanner) text(field string) []byte {
	if s.peek() != '"' {
		s.fail(field, s.at, "want a JSON string")
		return nil
	}
	start := s.at + 1
	for at := start; ; {
		at += plainLength(s.line[at:])
		if at == len(s.line) {
			s.fail(FieldJSON, start-1, "want a closing quote")
			return nil
		}
		switch s.line[at] {
		case '"':
			s.at = at + 1
			return s.line[start:at]
		case '\\':
			length := escapeLength(s.line[at:])
			if length == 0 {
				s.fail(FieldJSON, at, "want an escape of JSON")
				return nil
			}
			at += length
		default:
			s.fail(FieldJSON, at, "want control characters to be escaped")
			return nil
		}
	}
}

// plainLength counts the bytes before the first quote, backslash or control
// character, eight at a time: a byte is less than n, at most 128, where
// subtracting n borrows into its highest bit, unless that was set before. A byte
// above one that is less may be taken for one too, but the lowest is right.
func plainLength(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	length := 0
	for ; len(b)-length >= 8; length += 8 {
		w := binary.LittleEndian.Uint64(b[length:])
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		found := (w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash
		if found &= highs; found != 0 {
			return length + bits.TrailingZeros64(found)/8
		}
	}
	for ; length < len(b); length++ {
		if c := b[length]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return length
}

// escapeLength returns the length of the escape that b begins with, or 0.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hexRune(b); ok {
			return 6
		}
	}
	return 0
}

// scalar reads any value. The text of one that is neither a string nor a number
// is empty.
func (s *scanner) scalar() scalar {
	c := s.peek()
	v := scalar{at: s.at, text: s.line[s.at:s.at]}
	switch {
	case c == '"':
		v.text = s.text(FieldJSON)
	case c == '-' || isDigit(c):
		v.text = s.number()
	default:
		s.skip()
	}
	return v
}

func (s *scanner) number() []byte {
	start := s.at
	length := numberLength(s.line[start:])
	if length == 0 {
		s.fail(FieldJSON, start, "want a JSON value")
		return nil
	}
	s.at += length
	return s.line[start:s.at]
}

// numberLength returns the length of the number that b begins with, or 0.
func numberLength(b []byte) int {
	length := 0
	if len(b) > 0 && b[0] == '-' {
		length++
	}
	integer := digitCount(b[length:])
	if integer == 0 || integer > 1 && b[length] == '0' {
		return 0
	}
	length += integer
	if length < len(b) && b[length] == '.' {
		fraction := digitCount(b[length+1:])
		if fraction == 0 {
			return 0
		}
		length += 1 + fraction
	}
	if length < len(b) && (b[length] == 'e' || b[length] == 'E') {
		length++
		if length < len(b) && (b[length] == '+' || b[length] == '-') {
			length++
		}
		exponent := digitCount(b[length:])
		if exponent == 0 {
			return 0
		}
		length += exponent
	}
	return length
}

func digitCount(b []byte) int {
	for i, c := range b {
		if !isDigit(c) {
			return i
		}
	}
	return len(b)
}

// skip passes any value.
func (s *scanner) skip() { s.skipWithin(maxDepth - 1) } // The line is an object.

func (s *scanner) skipWithin(depth int) {
	c := s.peek()
	if (c == '{' || c == '[') && depth == 0 {
		s.fail(FieldJSON, s.at, "want less nesting")
		return
	}
	switch c {
	case '{':
		for more := s.enter('{'); more; more = s.next('}') {
			s.key()
			s.skipWithin(depth - 1)
		}
	case '[':
		for more := s.enter('['); more; more = s.next(']') {
			s.skipWithin(depth - 1)
		}
	case '"':
		s.text(FieldJSON)
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

func (s *scanner) literal(want string) {
	if !bytes.HasPrefix(s.line[s.at:], []byte(want)) {
		s.fail(FieldJSON, s.at, "want a JSON value")
		return
	}
	s.at += len(want)
}
