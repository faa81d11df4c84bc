package gate

import (
	"bytes"
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// FuzzCheck holds what is forwarded to what the gate promises, read by a parser
// that is as lenient as a host's may be: it ignores case and takes the last of two
// names.
func FuzzCheck(f *testing.F) {
	const model = "acme/writer-2"
	forms := []*form{&chatForm, &responsesForm, &messagesForm}
	for i, name := range []string{"opencode.json", "codex.json", "claude.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), text)
	}
	for i := range forms {
		for _, text := range []string{
			`{"model":"acme/writer-2","Model":"other"}`,
			`{"model":"acme/writer-2","mod\u0065l":"other"}`,
			`{"model":"acme/writer-2","tools":[{"type":"web_search"}]}`,
			`{"model":"acme/writer-2","tools":[{"type":"function","Type":"mcp"}],"x":{"model":1}}`,
			`{"model":"acme/writer-2","messages":[{"content":[{"type":"image_url","image_url":{"url":"https://e"}}]}]}`,
			`{"model":"acme/writer-2","input":[{"type":"additional_tools","tools":[{"type":"mcp"}]}],"seed":1e999}`,
		} {
			f.Add(byte(i), []byte(text))
		}
	}
	// What a host would run, in any of the APIs.
	hosted := regexp.MustCompile(`(?i)^(web_|mcp|code_|file_search|computer|image_gen|advisor|tool_search_tool|programmatic|container|builtin)`)
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		checked, err := forms[int(which)%len(forms)].check(body, model)
		if err != nil {
			return
		}
		var fields map[string]stdjson.RawMessage
		if err := stdjson.Unmarshal(checked.body, &fields); err != nil {
			t.Fatalf("forwarded %q: %v", checked.body, err)
		}
		models := 0
		for name := range fields {
			if strings.EqualFold(name, "model") {
				models++
			}
		}
		if models != 1 || bytes.Count(checked.body, []byte(`"model":`)) < 1 {
			t.Fatalf("forwarded %d models: %q", models, checked.body)
		}
		var read struct {
			Model string
			Tools []struct {
				Type        any
				Environment struct{ Type string }
				Tools       []struct{ Type string }
			}
		}
		// Tools that are not of this shape run nowhere.
		_ = stdjson.Unmarshal(checked.body, &read)
		if read.Model != model {
			t.Fatalf("forwarded the model %q: %q", read.Model, checked.body)
		}
		for _, tool := range read.Tools {
			kind, _ := tool.Type.(string)
			if hosted.MatchString(kind) || strings.EqualFold(kind, "shell") && tool.Environment.Type != "local" {
				t.Fatalf("forwarded a tool of type %q: %q", kind, checked.body)
			}
			for _, inner := range tool.Tools {
				if hosted.MatchString(inner.Type) {
					t.Fatalf("forwarded a tool of type %q: %q", inner.Type, checked.body)
				}
			}
		}
		again, err := forms[int(which)%len(forms)].check(checked.body, model)
		if err != nil || !bytes.Equal(again.body, checked.body) || again.dropped != 0 {
			t.Fatalf("forwarded %q, which is checked as %q, %v", checked.body, again.body, err)
		}
	})
}

// FuzzMask cuts a text at any place: the key must not come out of the pieces.
func FuzzMask(f *testing.F) {
	f.Add("sk-sk-secret-secret", "sk-secret", 5, 9)
	f.Add("aaaaaaaaaaaaaaaaa", "aaaaaaaa", 3, 4)
	f.Add("abababababababab", "abababab", 7, 8)
	f.Fuzz(func(t *testing.T, text, key string, first, second int) {
		if !secret(key) || strings.Contains(key, "*") {
			return
		}
		first = min(max(first, 0), len(text))
		second = min(max(second, first), len(text))
		m := newMask(key)
		var passed []byte
		for _, chunk := range []string{text[:first], text[first:second], text[second:]} {
			passed = append(passed, m.next([]byte(chunk))...)
		}
		passed = append(passed, m.rest()...)
		if want := strings.ReplaceAll(text, key, strings.Repeat("*", len(key))); string(passed) != want {
			t.Fatalf("passed %q, want %q", passed, want)
		}
	})
}
