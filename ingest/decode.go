package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// errNoEvents: the body holds nothing to take.
var errNoEvents = errors.New("the body holds no events")

// syntaxError says that a text is no JSON from some place on.
type syntaxError struct {
	offset int64 // in bytes from the beginning of the text
	cause  error
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("not JSON from byte %d on: %v", e.offset, e.cause)
}

func (e *syntaxError) Unwrap() error { return e.cause }

// space is what JSON takes for white space (RFC 8259 section 2).
const space = " \t\r\n"

// decoder takes events off JSON. What it returns is valid until its next call,
// and for as long as the text that it was given does not change. It is not safe
// for concurrent use.
type decoder struct {
	maxLine int
	json    *jsontext.Decoder
	input   bytes.Buffer
	scratch []byte
	event   event
	given   []*[]byte // the fields of event that stood in the text, null included

	// place returns where the value of a field goes, nil for one that is ignored.
	place func(e *event, name []byte) *[]byte
	// payload decodes what envelopes hold. It is made for the first one.
	payload *decoder
}

// newDecoder returns a decoder of events that have at most maxLine bytes where they
// stand on a line or by themselves.
func newDecoder(maxLine int) *decoder {
	return &decoder{maxLine: maxLine, json: jsontext.NewDecoder(bytes.NewReader(nil)), place: (*event).field}
}

// events calls take for each event of a body, in order, with its index from 0.
// The event is valid until take returns. An event that does not decode comes with
// the reason instead. The decoder holds nothing of the body afterwards.
//
// A body that begins with [ is an array, unless it was sent as lines. Where it is
// no JSON from some place on, no event of it is to be kept: that is a
// *syntaxError, and what take was given before is void. Any other body is
// one JSON object, or newline-delimited JSON, of which each line is judged by
// itself and blank ones do not count.
func (d *decoder) events(body []byte, lines bool, take func(index int, e *event, err error)) error {
	defer d.release()
	rest := body[skipSpace(body, 0):]
	if len(rest) == 0 {
		return errNoEvents
	}
	if rest[0] == '[' && !lines {
		return d.array(body, take)
	}
	for index := 0; len(rest) > 0; index++ {
		length := d.plainLine(rest)
		switch {
		case length > d.maxLine:
			take(index, nil, d.tooLong())
		case length > 0:
			e, err := d.opened()
			take(index, e, err)
		default:
			if index == 0 && !lines && d.single(rest, take) {
				return nil
			}
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			length = len(line)
			if length > d.maxLine {
				take(index, nil, d.tooLong())
				break
			}
			e, err := d.judge(bytes.TrimRight(line, space))
			take(index, e, err)
		}
		rest = rest[skipSpace(rest, length):]
	}
	return nil
}

func (d *decoder) tooLong() error {
	return fmt.Errorf("an event on a line or by itself must have at most %d bytes", d.maxLine)
}

// release lets go of the text, and of memory that only a long one took.
func (d *decoder) release() {
	const maxKeptScratch = 64 << 10
	d.event = event{}
	if d.input.Cap() > 0 {
		d.reset(nil)
	}
	if cap(d.scratch) > maxKeptScratch {
		d.scratch = nil
	}
	if d.payload != nil {
		d.payload.release()
	}
}

func (d *decoder) reset(text []byte) {
	// A bytes.Buffer is read in place; any other reader would be copied.
	d.input = *bytes.NewBuffer(text)
	// Text with a name twice, or that is no UTF-8, still has a place where the
	// next event begins: one event is refused for it, not the whole array.
	d.json.Reset(&d.input, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// rest returns what of text the decoder has not read.
func (d *decoder) rest(text []byte) []byte {
	return bytes.Trim(text[d.json.InputOffset():], space)
}

// single gives take the event that text is, however many lines it takes, if text
// is one value and nothing else. Else it reports false: the first line of
// newline-delimited JSON ends the look.
func (d *decoder) single(text []byte, take func(int, *event, error)) bool {
	d.reset(text)
	e, err := d.next()
	if _, broken := errors.AsType[*syntaxError](err); broken || len(d.rest(text)) > 0 {
		return false
	}
	if len(text) > d.maxLine {
		e, err = nil, d.tooLong()
	}
	take(0, e, err)
	return true
}

func (d *decoder) array(text []byte, take func(int, *event, error)) error {
	index, done := d.plainElements(text, take)
	if done {
		return nil
	}
	d.reset(text)
	fail := func(err error) error {
		return fmt.Errorf("the body is not a JSON array of events: %w", d.syntax(err))
	}
	if _, err := d.json.ReadToken(); err != nil {
		return fail(err)
	}
	for range index {
		if err := d.json.SkipValue(); err != nil {
			return fail(err)
		}
	}
	for ; d.json.PeekKind() != ']'; index++ {
		e, err := d.next()
		if _, broken := errors.AsType[*syntaxError](err); broken {
			return fail(err)
		}
		take(index, e, err)
	}
	if _, err := d.json.ReadToken(); err != nil {
		return fail(err)
	}
	if len(d.rest(text)) > 0 {
		return fail(errors.New("text follows the array"))
	}
	if index == 0 {
		return errNoEvents
	}
	return nil
}

// object decodes a text that is one event.
func (d *decoder) object(text []byte) (*event, error) {
	if d.plainLine(text) == len(text) && len(text) > 0 {
		return d.opened()
	}
	return d.judge(text)
}

// judge is object without a look for what is plain.
func (d *decoder) judge(text []byte) (*event, error) {
	d.reset(text)
	e, err := d.next()
	if err != nil {
		return nil, err
	}
	if len(d.rest(text)) > 0 {
		return nil, errors.New("text follows the event's JSON object")
	}
	return e, nil
}

// next decodes the next value as an event. An error that is no *syntaxError
// leaves the decoder behind that value.
func (d *decoder) next() (*event, error) {
	if err := d.read(); err != nil {
		return nil, err
	}
	return d.opened()
}

// opened returns the event that was read: what is in it, if it is an envelope.
func (d *decoder) opened() (*event, error) {
	if d.event.eventType != nil {
		return d.open(&d.event)
	}
	return &d.event, nil
}

// read decodes the next value into the event, without a look into envelopes.
func (d *decoder) read() error {
	d.event, d.scratch, d.given = event{}, d.scratch[:0], d.given[:0]
	if kind := d.json.PeekKind(); kind != '{' {
		if err := d.json.SkipValue(); err != nil {
			return d.syntax(err)
		}
		return fmt.Errorf("an event is a JSON object, not %s", kindName(kind))
	}
	if _, err := d.json.ReadToken(); err != nil {
		return d.syntax(err)
	}
	var wrong error
	for d.json.PeekKind() != '}' {
		if err := d.field(); err != nil {
			if _, broken := errors.AsType[*syntaxError](err); broken {
				return err
			}
			wrong = cmp.Or(wrong, err)
		}
	}
	if _, err := d.json.ReadToken(); err != nil {
		return d.syntax(err)
	}
	return wrong
}

// field decodes the next name and value into the event.
func (d *decoder) field() error {
	quoted, err := d.json.ReadValue()
	if err != nil {
		return d.syntax(err)
	}
	// A name that is no UTF-8 is none of ours.
	name, _ := d.unquote(quoted)
	field := d.place(&d.event, name)
	value, err := d.json.ReadValue()
	if err != nil {
		return d.syntax(err)
	}
	if field == nil {
		return nil
	}
	if slices.Contains(d.given, field) {
		return fmt.Errorf("%s must be given once", name)
	}
	d.given = append(d.given, field)
	switch value.Kind() {
	case 'n':
	case '"':
		if *field, err = d.unquote(value); err != nil {
			return fmt.Errorf("%s must be valid UTF-8", name)
		}
	default:
		if value.Kind() == '{' && field == &d.event.payload {
			*field = d.keep(value)
			return nil
		}
		return fmt.Errorf("%s must be a string, not %s", name, kindName(value.Kind()))
	}
	return nil
}

// keep copies what lies in a buffer that the decoder moves.
func (d *decoder) keep(value []byte) []byte {
	start := len(d.scratch)
	d.scratch = append(d.scratch, value...)
	return d.scratch[start:len(d.scratch):len(d.scratch)]
}

// unquote returns the text of a JSON string that the decoder has checked; the
// error says that it is no UTF-8, be it raw or as half of a surrogate pair. The
// string may lie in a buffer that the decoder moves, so it is copied.
func (d *decoder) unquote(quoted jsontext.Value) ([]byte, error) {
	start := len(d.scratch)
	var err error
	d.scratch, err = jsontext.AppendUnquote(d.scratch, quoted)
	return d.scratch[start:len(d.scratch):len(d.scratch)], err
}

// syntax makes a *syntaxError of what the decoder answered.
func (d *decoder) syntax(err error) error {
	if _, already := errors.AsType[*syntaxError](err); already {
		return err
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &syntaxError{offset: syntax.ByteOffset, cause: syntax.Err}
	}
	return &syntaxError{offset: d.json.InputOffset(), cause: err}
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	}
	return "an object"
}
