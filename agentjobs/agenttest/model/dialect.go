package model

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// dialect is how one API writes things down.
type dialect struct {
	decode func(*Request) error           // reads Body into the rest
	whole  func(Request, Answer) any      // an answer in one piece
	stream func(*stream, Request, Answer) // an answer as events
	fault  func(status int, message string) any
}

// fields is a JSON object.
type fields = map[string]any

// filler is what answers that are too long are made of.
var filler = strings.Repeat("filler ", 1024)

// stream sends server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), each at once.
type stream struct {
	w      http.ResponseWriter
	client context.Context // done when the client has gone
	failed bool
}

// send sends an event. Without a name it is one of plain data.
func (s *stream) send(name string, data any) {
	if s.failed {
		return
	}
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // our own values: a mistake in this package
	}
	if name != "" {
		_, _ = fmt.Fprintf(s.w, "event: %s\n", name)
	}
	s.raw(string(text))
}

func (s *stream) raw(data string) {
	_, err := fmt.Fprintf(s.w, "data: %s\n\n", data)
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	s.failed = err != nil
}

// stall waits until the client is gone, which the end of the test sees to.
func (s *stream) stall() {
	_ = http.NewResponseController(s.w).Flush()
	<-s.client.Done()
	s.failed = true
}

// text is the answer's text in pieces, as a model sends it, with its filler. It
// ends early when the client has gone, and stalls where the answer does.
func (s *stream) text(answer Answer) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, piece := range halves(answer.Text) {
			if piece != "" && !yield(piece) {
				return
			}
		}
		for left := answer.Filler; left > 0 && !s.failed; left -= int64(len(filler)) {
			if !yield(filler[:min(left, int64(len(filler)))]) {
				return
			}
		}
		if answer.Stall {
			s.stall()
		}
	}
}

// hasText tells whether an answer has a message beside its calls.
func (a Answer) hasText() bool {
	return a.Text != "" || a.Filler > 0 || a.Stall || len(a.Calls) == 0
}

// halves cuts a text in two between characters. Clients have to put it together.
func halves(text string) []string {
	half := len(text) / 2
	for half > 0 && !utf8.RuneStart(text[half]) {
		half--
	}
	return []string{text[:half], text[half:]}
}

// content is text that comes as a string or as a list of parts.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content(text)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("decode content: %w", err)
	}
	var texts []string
	for _, part := range parts {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	*c = content(strings.Join(texts, "\n"))
	return nil
}

// schema is as much of a tool's JSON schema as Tool tells of.
type schema struct {
	Properties map[string]json.RawMessage `json:"properties"`
}

func (s schema) names() []string {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func role(name string) string {
	if name == "developer" {
		return System
	}
	return name
}

// openaiFault is an error as OpenAI writes it.
func openaiFault(status int, message string) any {
	kind := "server_error"
	if status < http.StatusInternalServerError {
		kind = "invalid_request_error"
	}
	return fields{"error": fields{"message": message, "type": kind, "param": nil, "code": nil}}
}
