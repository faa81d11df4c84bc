package ingest

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Most events are plain: an object in one line whose values are strings without
// escapes. Those are taken as they stand, without a copy. Everything else is the
// JSON decoder's to judge, so nothing is refused here; a second parser with a
// judgement of its own would make it a matter of luck which events count.

// plain takes the event that text begins with, if it is plain, and returns the
// length of its JSON, else 0. It takes nothing that the JSON decoder refuses, and
// nothing otherwise.
func (d *decoder) plain(text []byte) int {
	d.event = event{}
	if len(text) == 0 || text[0] != '{' {
		return 0
	}
	for at := 1; ; at++ {
		name, end := plainString(text, at)
		if end = skipBlanks(text, end); name == nil || end == len(text) || text[end] != ':' {
			return 0
		}
		value, end := plainString(text, end+1)
		if value == nil {
			return 0
		}
		if field := d.place(&d.event, name); field != nil {
			if *field != nil {
				return 0 // given twice
			}
			*field = value
		}
		at = skipBlanks(text, end)
		switch {
		case at == len(text):
			return 0
		case text[at] == '}':
			return at + 1
		case text[at] != ',':
			return 0
		}
	}
}

// plainLine takes the event that the first line of text is, if it is plain, and
// returns the length of that line, else 0.
func (d *decoder) plainLine(text []byte) int {
	end := d.plain(text)
	if end == 0 {
		return 0
	}
	for end < len(text) && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r') {
		end++
	}
	if end < len(text) && text[end] != '\n' {
		return 0
	}
	return end
}

// plainElements gives take the events that an array begins with, up to the first
// one that is not plain, and returns their number. done reports that these were
// all, and that the body holds nothing else.
func (d *decoder) plainElements(body []byte, take func(int, *event, error)) (index int, done bool) {
	at := skipSpace(body, 0) + len("[")
	for {
		at = skipSpace(body, at)
		length := d.plain(body[at:])
		if length == 0 {
			return index, false
		}
		e, err := d.opened()
		take(index, e, err)
		index++
		at = skipSpace(body, at+length)
		switch {
		case at < len(body) && body[at] == ',':
			at++
		case at < len(body) && body[at] == ']':
			return index, skipSpace(body, at+1) == len(body)
		default:
			return index, false
		}
	}
}

// plainString returns the text of the string that follows at, and where the
// string ends. It is nil for anything but a string of valid UTF-8 without escapes.
func plainString(text []byte, at int) (s []byte, end int) {
	start := skipBlanks(text, at) + 1
	if start > len(text) || text[start-1] != '"' {
		return nil, 0
	}
	end, ascii := plainEnd(text, start)
	if end == len(text) || text[end] != '"' {
		return nil, 0
	}
	s = text[start:end:end]
	if !ascii && !utf8.Valid(s) {
		return nil, 0
	}
	return s, end + 1
}

// plainEnd returns where the first quote, backslash or control character from at
// on stands, or the text's end. ascii is false where a byte before it is not
// ASCII, and may be where one is right behind it.
//
// It looks at eight bytes at a time: a byte is less than n, at most 128, where
// subtracting n borrows into its highest bit, unless that was set before. A byte
// above one that is less may be taken for one too, but the lowest is right.
func plainEnd(text []byte, at int) (end int, ascii bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	var seen uint64
	for ; len(text)-at >= 8; at += 8 {
		word := binary.LittleEndian.Uint64(text[at:])
		seen |= word
		swapped, backslash := word^(ones*('"'^' ')), word^(ones*'\\')
		found := (swapped-ones*(' '+1))&^swapped | (backslash-ones)&^backslash
		if found &= highs; found != 0 {
			return at + bits.TrailingZeros64(found)/8, seen&highs == 0
		}
	}
	for ; at < len(text); at++ {
		c := text[at]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		seen |= uint64(c)
	}
	return at, seen&highs == 0
}

// skipSpace returns where the white space that begins at ends.
func skipSpace(text []byte, at int) int {
	for at < len(text) && text[at] <= ' ' && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
		at++
	}
	return at
}

// skipBlanks returns where the white space within a line that begins at ends.
func skipBlanks(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}
