package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// form is what the body of a route may hold.
type form struct {
	// plain are top-level fields that pass as they are: how to generate, not what
	// to reach.
	plain []string
	// rules are top-level fields that pass when their check lets them.
	rules map[string]rule
	// tools are the tools that pass, by their type.
	tools map[string]toolRule
	// dated says that a tool's type may end in a date: bash_20250124 is bash.
	dated bool
	// kinds are the types of content that pass, at any depth.
	kinds []string
}

// rule checks the value of a field.
type rule func(f *form, value any) error

// refusedFields ask the model's host for what the gate is there to prevent:
// another model, another conversation, tools or data of the host. They are written
// folded. None of them is in a form, so leaving them out would be as safe; but an
// agent that depends on one is told.
var refusedFields = []string{
	"background", "conversation", "previousresponseid", "prompt",
	"websearchoptions", "searchparameters", "enablesearch",
	"mcpservers", "container", "plugins",
	"models", "fallbacks", "preset",
	"fileids", "vectorstoreids", "extrabody",
}

// outline is a checked body: what may be forwarded of it.
type outline struct {
	body    []byte
	dropped int
}

// check reads a body and returns what is forwarded of it: one object with listed
// fields alone, written anew, with the model and nothing that is refused.
//
// The parse refuses a name that comes twice, in any object. Most parsers take the
// last of them, some the first: one of the two would go by unchecked.
func (f *form) check(body []byte, model string) (outline, error) {
	fields, err := readObject(body)
	if err != nil {
		return outline{}, err
	}
	var passed bytes.Buffer
	encoder := jsontext.NewEncoder(&passed)
	var result outline
	named := false
	err = encoder.WriteToken(jsontext.BeginObject)
	for _, field := range fields {
		passes, checkErr := f.checkField(field, model)
		if checkErr != nil {
			return outline{}, checkErr
		}
		if !passes {
			result.dropped++
			continue
		}
		named = named || field.name == "model"
		err = errors.Join(err, encoder.WriteToken(jsontext.String(field.name)), encoder.WriteValue(field.value))
	}
	if err = errors.Join(err, encoder.WriteToken(jsontext.EndObject)); err != nil {
		return outline{}, fmt.Errorf("writing a checked body: %w", err)
	}
	if !named {
		return outline{}, malformed("the body names no model; it must be %q", model)
	}
	result.body = bytes.TrimSuffix(passed.Bytes(), []byte("\n"))
	return result, nil
}

// checkField tells whether a top-level field is passed on.
func (f *form) checkField(field member, model string) (bool, error) {
	folded := fold(field.name)
	if folded == "model" {
		return true, checkModelField(field, model)
	}
	if slices.Contains(f.plain, field.name) {
		return true, nil
	}
	rule, checked := f.rules[field.name]
	if !checked && !slices.Contains(refusedFields, folded) && !f.misspells(folded) {
		return false, nil
	}
	value, err := field.decode()
	if err != nil {
		return false, err
	}
	switch {
	case asksNothing(value):
		return checked, nil
	case checked:
		return true, rule(f, value)
	case f.misspells(folded):
		return false, malformed("the field %.60q is not spelled as the API spells it", field.name)
	}
	return false, forbidden("the field %q asks the model's host for more than an answer", field.name)
}

// misspells tells whether a name is taken for that of a checked field by a parser
// that is not strict about names.
func (f *form) misspells(folded string) bool {
	for name := range f.rules {
		if fold(name) == folded {
			return true
		}
	}
	return false
}

func checkModelField(field member, model string) error {
	if field.name != "model" {
		return malformed("the field %.60q is not spelled as the API spells it", field.name)
	}
	var name string
	if err := json.Unmarshal(field.value, &name); err != nil || name != model {
		return forbidden("no other model than %q may be asked", model)
	}
	return nil
}

// asksNothing tells whether a value says the same as the field's absence.
func asksNothing(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

// member is a name in an object and its value, which is a part of the body.
type member struct {
	name  string
	value jsontext.Value
}

// maxTokensChecked bounds what a checked field becomes in memory: a list of empty
// lists takes twenty times its text. A long conversation with a hundred tools has
// some fifty thousand.
const maxTokensChecked = 1 << 18

func (m member) decode() (any, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(m.value))
	for count := 0; ; count++ {
		if _, err := decoder.ReadToken(); err != nil {
			// The body was read before: it is the end.
			break
		}
		if count == maxTokensChecked {
			return nil, malformed("%q holds more than %d names and values", m.name, maxTokensChecked)
		}
	}
	var value any
	if err := json.Unmarshal(m.value, &value); err != nil {
		return nil, malformed("the value of %q can not be read", m.name)
	}
	return value, nil
}

// readObject reads the one object that a body has to be.
func readObject(body []byte) ([]member, error) {
	// A buffer is read in place, without a copy.
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body))
	if decoder.PeekKind() != jsontext.KindBeginObject {
		return nil, malformed("the body is not a JSON object")
	}
	var members []member
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() == jsontext.KindString {
		var name jsontext.Token
		if name, err = decoder.ReadToken(); err != nil {
			break
		}
		// The token is valid until the next read.
		read := member{name: name.String()}
		var value jsontext.Value
		if value, err = decoder.ReadValue(); err == nil {
			end := int(decoder.InputOffset())
			read.value = body[end-len(value) : end]
			members = append(members, read)
		}
	}
	if err == nil {
		_, err = decoder.ReadToken()
	}
	if err == nil {
		if _, err = decoder.ReadToken(); errors.Is(err, io.EOF) {
			return members, nil
		}
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return nil, malformed("the body is not strict JSON at byte %d: one object in valid UTF-8, no name twice", syntax.ByteOffset)
	}
	return nil, malformed("the body is not one JSON object")
}

// fold makes one name of all that parsers take for the same: encoding/json folds
// case by Unicode, its second version and protocol buffers also leave underscores
// and dashes out.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		// By way of the upper case, the long s and the Kelvin sign become letters.
		return unicode.ToLower(unicode.ToUpper(r))
	}, name)
}
