package forge

import (
	"errors"
	"strings"
	"unicode"

	"github.com/google/go-github/v84/github"
)

const (
	// maxTitle is in characters. GitHub takes 256 and Gitea 255, with its prefix.
	maxTitle = 240
	// maxBody is in characters, below GitHub's 65,536.
	maxBody = 60_000
	// maxQuote is how many characters of what a forge says are shown.
	maxQuote = 300
)

// cut shortens a text to a number of characters and marks where it did.
func cut(text string, limit int) string {
	characters := []rune(text)
	if len(characters) <= limit {
		return text
	}
	return string(characters[:limit-1]) + "…"
}

func cutTitle(title string) string {
	title, _, _ = strings.Cut(strings.TrimSpace(title), "\n")
	return cut(strings.TrimSpace(strings.ToValidUTF8(title, "\ufffd")), maxTitle)
}

func cutBody(body string) string { return cut(strings.ToValidUTF8(body, "\ufffd"), maxBody) }

// quote returns a sentence with what the forge said about an error, or nothing.
// GitHub's own message is often "Validation Failed", and the errors' messages
// say why.
func (c *call) quote(err error) string {
	var plain *github.ErrorResponse
	if !errors.As(err, &plain) {
		return ""
	}
	var messages []string
	for _, e := range plain.Errors {
		if e.Message != "" {
			messages = append(messages, e.Message)
		}
	}
	if len(messages) == 0 {
		messages = []string{plain.Message}
	}
	text := sentence(strings.Join(messages, "; "), c.token)
	if text == "" {
		return ""
	}
	return " It says: " + text
}

// sentence makes a text of others fit to be shown: one line, bounded, without the
// token and without markup, with a stop at its end.
func sentence(text, token string) string {
	if token != "" {
		text = strings.ReplaceAll(text, token, "[token]")
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1 // Also marks that turn the direction of writing.
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || strings.ContainsAny(text, "<>") {
		return "" // A proxy's page, which helps nobody.
	}
	text = cut(text, maxQuote)
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
		text += "."
	}
	return text
}
