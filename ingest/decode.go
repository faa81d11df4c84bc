package ingest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// errNoEvents: the body holds nothing to take.
var errNoEvents = errors.New("the body holds no events")

// arraySyntaxError says that a body is no JSON from some place on.
type arraySyntaxError struct {
	offset int64
	cause  error
}

func (e *arraySyntaxError) Error() string {
	return fmt.Sprintf("the body is not a JSON array of events: at byte %d: %v", e.offset, e.cause)
}

func (e *arraySyntaxError) Unwrap() error { return e.cause }

// decodeEvents calls take for each event of a body, in order, with its index
// from 0. The event is valid until take returns. An event that does not decode
// comes with the reason instead.
//
// A body that begins with [ is an array, unless it was sent as lines. Where it is
// no JSON from some place on, no event of it is to be kept: that is an
// *arraySyntaxError, and what take was given before is void. Any other body is
// one JSON object, or newline-delimited JSON, of which each line is judged by
// itself and blank ones do not count.
func decodeEvents(body []byte, lines bool, take func(index int, e *event, err error)) error {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 {
		return errNoEvents
	}
	d := newDecoder()
	if body[0] == '[' && !lines {
		return d.array(body, take)
	}
	if !lines && d.single(body) {
		e, err := d.object(body)
		take(0, e, err)
		return nil
	}
	index := 0
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		e, err := d.object(line)
		take(index, e, err)
		index++
	}
	return nil
}

// decoder takes events off JSON. What it returns is valid until its next call.
type decoder struct {
	json    *jsontext.Decoder
	input   bytes.Buffer
	scratch []byte
	event   event
}

func newDecoder() *decoder {
	return &decoder{json: jsontext.NewDecoder(bytes.NewReader(nil))}
}

func (d *decoder) reset(text []byte) {
	// A bytes.Buffer is read in place; any other reader would be copied.
	d.input = *bytes.NewBuffer(text)
	d.json.Reset(&d.input)
}

// single reports whether text is one JSON object and nothing else, however many
// lines it takes. The first line of newline-delimited JSON ends the look.
func (d *decoder) single(text []byte) bool {
	d.reset(text)
	if err := d.json.SkipValue(); err != nil {
		return false
	}
	return len(bytes.TrimSpace(text[d.json.InputOffset():])) == 0
}

func (d *decoder) array(text []byte, take func(int, *event, error)) error {
	d.reset(text)
	fail := func(err error) error {
		return &arraySyntaxError{offset: d.json.InputOffset(), cause: err}
	}
	if _, err := d.json.ReadToken(); err != nil {
		return fail(err)
	}
	index := 0
	for ; d.json.PeekKind() != ']'; index++ {
		e, err := d.next()
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) || errors.Is(err, errEndOfBody) {
			return fail(err)
		}
		take(index, e, err)
	}
	if _, err := d.json.ReadToken(); err != nil {
		return fail(err)
	}
	if rest := bytes.TrimSpace(text[d.json.InputOffset():]); len(rest) > 0 {
		return fail(errors.New("text follows the array"))
	}
	if index == 0 {
		return errNoEvents
	}
	return nil
}

// object decodes a text that is one event.
func (d *decoder) object(text []byte) (*event, error) {
	d.reset(text)
	e, err := d.next()
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimSpace(text[d.json.InputOffset():]); len(rest) > 0 {
		return nil, errors.New("text follows the event's JSON object")
	}
	return e, nil
}

// errEndOfBody: the text ends within a value.
var errEndOfBody = errors.New("the text ends within an event")

// next decodes the next value as an event. An error that is no syntax error
// leaves the decoder behind that value.
func (d *decoder) next() (*event, error) {
	d.event, d.scratch = event{}, d.scratch[:0]
	if kind := d.json.PeekKind(); kind != '{' {
		if err := d.json.SkipValue(); err != nil {
			return nil, notJSON(err)
		}
		return nil, fmt.Errorf("an event is a JSON object, not a %s", kindName(kind))
	}
	if _, err := d.json.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	var wrong error
	for d.json.PeekKind() != '}' {
		quoted, err := d.json.ReadValue()
		if err != nil {
			return nil, notJSON(err)
		}
		name := d.unquote(quoted)
		field := d.event.field(name)
		value, err := d.json.ReadValue()
		switch {
		case err != nil:
			return nil, notJSON(err)
		case field == nil || value.Kind() == 'n':
		case value.Kind() != '"':
			if wrong == nil {
				wrong = fmt.Errorf("%s must be a string, not a %s", name, kindName(value.Kind()))
			}
		default:
			*field = d.unquote(value)
		}
	}
	if _, err := d.json.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	if wrong != nil {
		return nil, wrong
	}
	return &d.event, nil
}

// unquote returns the text of a JSON string that the decoder has checked. The
// string may lie in a buffer that the decoder moves, so it is copied.
func (d *decoder) unquote(quoted jsontext.Value) []byte {
	start := len(d.scratch)
	// The decoder has refused what can not be unquoted.
	d.scratch, _ = jsontext.AppendUnquote(d.scratch, quoted)
	return d.scratch[start:len(d.scratch):len(d.scratch)]
}

func notJSON(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Errorf("not JSON: %w", syntax)
	}
	return errEndOfBody
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "JSON value"
}
