package ingest

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"weak"

	"footfall/bench/workload"
	"footfall/sketch"
)

const (
	goodEvent    = `{"path":"/","visitorId":"v","traffic":"ai"}`
	escapedEvent = `{"path":"\/","visitorId":"v","traffic":"ai"}`
)

// Bad input of every kind. Where it is no JSON, it spoils its line, and all of an
// array; else it spoils one event, be that in a line or in an array.
func TestBadInput(t *testing.T) {
	const noJSON = "not JSON from byte "
	tests := []struct{ name, text, reason string }{
		{"truncated in a string", `{"path":"/a`, noJSON + "11 on"},
		{"truncated after a value", `{"path":"/a"`, noJSON + "12 on"},
		{"truncated after a name", `{"path"`, noJSON + "7 on"},
		{"truncated in an escape", `{"path":"\u00`, noJSON + "9 on"},
		{"a control character", "{\"path\":\"/a\tb\"}", noJSON + "11 on"},
		{"NUL", "{\"path\":\"/\x00\"}", noJSON + "10 on"},
		{"NUL between", "{\"path\":\"/\"\x00}", noJSON + "11 on"},
		{"an escape that is none", `{"path":"\x61"}`, noJSON + "9 on"},
		{"text after a value", `{"path":"/"x}`, noJSON + "11 on"},
		{"a comma at the end", `{"path":"/",}`, noJSON + "11 on"},
		{"a comma too many", `{"path":"/",,"ip":"::1"}`, noJSON + "12 on"},
		{"no comma", `{"path":"/" "ip":"::1"}`, noJSON + "12 on"},
		{"no colon", `{"path" "/"}`, noJSON + "8 on"},
		{"no quotes", `{path:"/"}`, noJSON + "1 on"},
		{"single quotes", `{'path':'/'}`, noJSON + "1 on"},
		{"a comment", `{"path":"/"/* home */}`, noJSON + "11 on"},
		{"a byte order mark", "\ufeff" + goodEvent, noJSON + "0 on"},
		{"a number with a zero before it", `{"path":01}`, noJSON + "9 on"},
		{"a number with a sign in it", `{"path":1-2}`, noJSON + "9 on"},
		{"a number without digits", `{"path":-}`, noJSON + "9 on"},
		{"NaN", `{"path":NaN}`, noJSON + "8 on"},
		{"a literal in capitals", `{"path":NULL}`, noJSON + "8 on"},
		{"nesting too deep", `{"path":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`, noJSON},
		{"a bracket that does not fit", `{"path":"/"]`, noJSON + "11 on"},

		{"a name twice", `{"path":"/","path":"/"}`, "path must be given once"},
		{"a name twice, once null", `{"path":null,"path":"/"}`, "path must be given once"},
		{"a name twice, once escaped", `{"path":"/","\u0070ath":"/"}`, "path must be given once"},
		{"invalid UTF-8", "{\"path\":\"/\xff\"}", "path must be valid UTF-8"},
		{"UTF-8 of half a surrogate pair", "{\"path\":\"/\xed\xa0\x80\"}", "path must be valid UTF-8"},
		{"UTF-8 that is too long", "{\"path\":\"/\xc0\xaf\"}", "path must be valid UTF-8"},
		{"half a surrogate pair", `{"path":"\ud83d"}`, "path must be valid UTF-8"},
		{"the other half", `{"path":"\udc63"}`, "path must be valid UTF-8"},
		{"halves in the wrong order", `{"path":"\udc63\ud83d"}`, "path must be valid UTF-8"},
		{"a huge number", `{"path":1e999999}`, "path must be a string, not a number"},
		{"a long number", `{"path":` + strings.Repeat("9", 10_000) + `}`, "path must be a string, not a number"},
		{"deep nesting", `{"path":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}`, "path must be a string, not an array"},
		{"a string", `"{}"`, "an event is a JSON object, not a string"},
		{"null", `null`, "an event is a JSON object, not null"},
		{"an array in it", `[{}]`, "an event is a JSON object, not an array"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, good := range []string{goodEvent, escapedEvent} {
				all, err := decodeAll(t, []byte(good+"\n"+test.text+"\n"+good), true)
				if err != nil || len(all) != 3 || all[0].reason+all[2].reason != "" || !strings.HasPrefix(all[1].reason, test.reason) {
					t.Errorf("in a line: %+v, %v, want %q", all, err, test.reason)
				}
				all, err = decodeAll(t, []byte("["+good+","+test.text+","+good+"]"), false)
				if strings.HasPrefix(test.reason, noJSON) {
					if _, ok := errors.AsType[*syntaxError](err); !ok {
						t.Errorf("in an array: %+v, %v, want a syntax error", all, err)
					}
				} else if err != nil || len(all) != 3 || all[0].reason+all[2].reason != "" || all[1].reason != test.reason {
					t.Errorf("in an array: %+v, %v, want %q", all, err, test.reason)
				}
			}
			if test.text[0] == '[' {
				return // an array of events
			}
			all, err := decodeAll(t, []byte(test.text), false)
			if err != nil || len(all) != 1 || !strings.HasPrefix(all[0].reason, test.reason) {
				t.Errorf("alone: %+v, %v, want %q", all, err, test.reason)
			}
		})
	}
}

// Arrays that are none.
func TestBrokenArrays(t *testing.T) {
	for _, good := range []string{goodEvent, escapedEvent} {
		for _, body := range []string{
			"[", "[" + good, "[" + good + ",", "[" + good + ",]", "[," + good + "]", "[" + good + good + "]", "[" + good + ",," + good + "]",
			"[" + good + "]]", "[" + good + "]" + good, "[" + good + "]\x00", "[" + good + "}", "[" + good + "]//", "[" + good + "\x00]",
		} {
			_, err := decodeAll(t, []byte(body), false)
			syntax, ok := errors.AsType[*syntaxError](err)
			if !ok || syntax.offset > int64(len(body)) {
				t.Errorf("%s: %v, want a syntax error", body, err)
			}
		}
	}
}

func TestDecodingAllocatesNothing(t *testing.T) {
	batch := workloadBatch(t)
	for name, body := range map[string]string{
		"lines": string(batch), "one": goodEvent, "array": "[" + strings.ReplaceAll(strings.TrimSpace(string(batch)), "\n", ",\n") + "]",
		"escaped": strings.Repeat(escapedEvent+"\n", 1000),
	} {
		d := newDecoder(64 << 10)
		text := []byte(body)
		allocations := testing.AllocsPerRun(10, func() {
			if err := d.events(text, false, func(_ int, _ *event, err error) {
				if err != nil {
					t.Fatal(err)
				}
			}); err != nil {
				t.Fatal(err)
			}
		})
		if allocations > 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

// A decoder that waits for the next request must not keep the last one's body, or
// what that one took.
func TestDecoderLetsGo(t *testing.T) {
	const padding = 1 << 20
	for _, text := range []string{
		goodEvent, escapedEvent, `{"eventType":"docs.content.view","payload":` + escapedEvent + `}`, "[" + escapedEvent + "]", "[" + goodEvent, "{",
		`{"path":"\/` + strings.Repeat("x", padding) + `"}`, `{"eventType":"docs.content.view","payload":{"path":"\/` + strings.Repeat("x", padding) + `"}}`,
	} {
		d := newDecoder(64 << 10)
		body := weak.Make(decodeAndForget(d, text+strings.Repeat(" ", padding)))
		runtime.GC()
		if body.Value() != nil {
			t.Errorf("%.60s: the body is still held", text)
		}
		for ; d != nil; d = d.payload {
			if cap(d.scratch) > padding/2 {
				t.Errorf("%.60s: %d bytes are still held", text, cap(d.scratch))
			}
		}
	}
}

//go:noinline
func decodeAndForget(d *decoder, text string) *byte {
	body := []byte(text)
	_ = d.events(body, false, func(int, *event, error) {})
	return &body[0]
}

// workloadBatch is 1,000 events of the workload that throughput is measured with.
func workloadBatch(t testing.TB) []byte {
	t.Helper()
	events, err := workload.NewEvents(workload.EventsConfig{Seed: 1, From: sketch.FirstDay, Events: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for batch := range events.Batches(1000) {
		return batch.Body
	}
	panic("unreachable: there are events")
}

func BenchmarkDecodeEvents(b *testing.B) {
	batch := string(workloadBatch(b))
	for _, bench := range []struct {
		name, body string
		lines      bool
		decode     func([]byte, bool, func(int, *event, error)) error
	}{
		{"lines", batch, true, newDecoder(64 << 10).events},
		{"lines/jsontext", batch, true, judgeEvents},
		{"array", "[" + strings.ReplaceAll(strings.TrimSpace(batch), "\n", ",") + "]", false, newDecoder(64 << 10).events},
		{"slashes escaped", strings.ReplaceAll(batch, "/", `\/`), true, newDecoder(64 << 10).events},
		{"one", batch[:strings.IndexByte(batch, '\n')], false, newDecoder(64 << 10).events},
		{"one/jsontext", batch[:strings.IndexByte(batch, '\n')], false, judgeEvents},
	} {
		b.Run(bench.name, func(b *testing.B) {
			body := []byte(bench.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			events := 0
			take := func(_ int, _ *event, err error) {
				if err != nil {
					b.Fatal(err)
				}
				events++
			}
			for b.Loop() {
				if err := bench.decode(body, bench.lines, take); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
