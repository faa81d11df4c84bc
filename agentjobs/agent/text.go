package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cut marks where a text was shortened.
const cut = " [...]"

// clean makes a text fit for a log and a terminal: valid UTF-8, no control
// characters but newline and tab, nothing that turns the direction of writing, at most
// limit bytes. Other marks that end a line become a newline. The bound comes first:
// the text may be megabytes.
func clean(text string, limit int) string {
	text = shorten(text, limit)
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t', unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
	// A byte that is no UTF-8 grew to the three of U+FFFD.
	return shorten(text, limit)
}

// Clean makes what an agent's process wrote fit for an Event.
func Clean(text string) string { return clean(text, MaxEventText) }

// cleanLine is clean with the text on one line.
func cleanLine(text string, limit int) string {
	return strings.Join(strings.Fields(clean(text, limit)), " ")
}

// shorten cuts a text between two characters so that it has at most limit bytes,
// the mark of the cut included.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(limit-len(cut), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cut
}
