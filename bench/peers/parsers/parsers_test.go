// Package parsers compares JSON parsers on Footfall's workload: how long they take
// to read the four fields of an event, and what they do with bad input. Footfall's
// own way is measured in package ingest (BenchmarkDecodeEvents), with what it
// refuses (TestBadInput).
package parsers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fastjson"

	"footfall/bench/workload"
	"footfall/sketch"
)

// view is what a parser has to find in an event.
type view struct {
	Path      string `json:"path"`
	VisitorID string `json:"visitorId"`
	Traffic   string `json:"traffic"`
	Timestamp string `json:"timestamp"`
}

// parser makes functions that read one event of a line. They return the length of
// the four fields, so that none is left out.
type parser struct {
	name   string
	family string // of those that must agree on what is JSON
	make   func() func(line []byte) (size int, err error)
}

// Families.
const (
	v1   = "encoding/json"
	v2   = "json/v2"
	fast = "fastjson"
)

func parsers() []parser {
	return append([]parser{
		{"encoding-json", v1, func() func([]byte) (int, error) { return unmarshal(json.Unmarshal) }},
		{"json-experiment", v2, func() func([]byte) (int, error) {
			return unmarshal(func(line []byte, v any) error { return jsonv2.Unmarshal(line, v) })
		}},
		{"jsontext", v2, readTokens},
		{"fastjson", fast, func() func([]byte) (int, error) {
			var p fastjson.Parser
			return func(line []byte) (int, error) {
				v, err := p.ParseBytes(line)
				if err != nil {
					return 0, err
				}
				return len(v.GetStringBytes("path")) + len(v.GetStringBytes("visitorId")) +
					len(v.GetStringBytes("traffic")) + len(v.GetStringBytes("timestamp")), nil
			}
		}},
	}, experimental()...)
}

func unmarshal(into func([]byte, any) error) func([]byte) (int, error) {
	var v view
	return func(line []byte) (int, error) {
		v = view{}
		err := into(line, &v)
		return len(v.Path) + len(v.VisitorID) + len(v.Traffic) + len(v.Timestamp), err
	}
}

// readTokens reads names and values one by one, without a copy of their own.
func readTokens() func([]byte) (int, error) {
	var (
		input    bytes.Buffer
		decoder  = jsontext.NewDecoder(&input)
		unquoted []byte
	)
	return func(line []byte) (size int, err error) {
		input = *bytes.NewBuffer(line)
		decoder.Reset(&input)
		if _, err := decoder.ReadToken(); err != nil {
			return 0, err
		}
		for decoder.PeekKind() != '}' {
			name, err := decoder.ReadValue()
			if err != nil {
				return 0, err
			}
			var known bool
			switch string(name) {
			case `"path"`, `"visitorId"`, `"traffic"`, `"timestamp"`:
				known = true
			}
			value, err := decoder.ReadValue()
			if err != nil {
				return 0, err
			}
			if known {
				if unquoted, err = jsontext.AppendUnquote(unquoted[:0], value); err != nil {
					return 0, err
				}
				size += len(unquoted)
			}
		}
		if _, err := decoder.ReadToken(); err != nil {
			return 0, err
		}
		if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
			return 0, errors.New("text follows")
		}
		return size, nil
	}
}

func BenchmarkParsers(b *testing.B) {
	events, err := workload.NewEvents(workload.EventsConfig{Seed: 1, From: sketch.FirstDay, Events: 1000})
	if err != nil {
		b.Fatal(err)
	}
	var batch workload.Batch
	for batch = range events.Batches(1000) {
		break
	}
	want := 0
	read := unmarshal(json.Unmarshal)
	for line := range bytes.Lines(batch.Body) {
		size, err := read(line)
		if err != nil {
			b.Fatal(err)
		}
		want += size
	}
	for _, p := range parsers() {
		b.Run(p.name, func(b *testing.B) {
			read := p.make()
			b.SetBytes(int64(len(batch.Body)))
			b.ReportAllocs()
			parsed := 0
			for b.Loop() {
				total := 0
				for rest := batch.Body; len(rest) > 0; {
					var line []byte
					line, rest, _ = bytes.Cut(rest, []byte("\n"))
					size, err := read(line)
					if err != nil {
						b.Fatal(err)
					}
					total += size
					parsed++
				}
				if total != want {
					b.Fatalf("read %d bytes, want %d", total, want)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(parsed), "ns/event")
		})
	}
}

// What the parsers do with bad input: which of them take it.
func TestBadInput(t *testing.T) {
	deep := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	for _, test := range []struct {
		name, text string
		takenBy    []string
	}{
		{"none", `{"path":"/","visitorId":"v"}`, []string{v1, v2, fast}},
		{"raw control character", "{\"path\":\"/a\tb\"}", []string{fast}},
		{"raw NUL", "{\"path\":\"/a\x00b\"}", []string{fast}},
		{"invalid UTF-8", "{\"path\":\"/\xff\"}", []string{v1, fast}},
		{"name twice", `{"path":"/a","path":"/b"}`, []string{v1, fast}},
		{"lone surrogate escape", `{"path":"/\ud800"}`, []string{v1, fast}},
		{`escape \x61`, `{"path":"/\x61"}`, []string{fast}},
		{"number 01", `{"path":"/","n":01}`, []string{fast}},
		{"number 1-2", `{"path":"/","n":1-2}`, []string{fast}},
		{"NaN", `{"path":"/","n":NaN}`, []string{fast}},
		{"number without digits", `{"path":"/","n":-}`, nil},
		{"text after the object", `{"path":"/"}x`, nil},
		{"unterminated string", `{"path":"/`, nil},
		{"trailing comma", `{"path":"/",}`, nil},
		{"comment", `{"path":"/"/**/}`, nil},
		{"byte order mark", "\ufeff{\"path\":\"/\"}", nil},
		{"400 arrays deep", `{"path":"/","n":` + deep(400) + `}`, []string{v1, v2}},
		{"10,001 arrays deep", `{"path":"/","n":` + deep(10_001) + `}`, nil},
	} {
		for _, p := range parsers() {
			_, err := p.make()([]byte(test.text))
			if want := slices.Contains(test.takenBy, p.family); (err == nil) != want {
				t.Errorf("%s: %s takes it: %v, want %v", test.name, p.name, err == nil, want)
			}
		}
	}
}
