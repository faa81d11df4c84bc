package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// checkPath holds the normal form of a path to what it promises.
func checkPath(t interface{ Fatalf(string, ...any) }, raw []byte) {
	normal, err := appendPath(nil, raw)
	if err != nil {
		return
	}
	path := string(normal)
	switch {
	case !strings.HasPrefix(path, "/"), strings.Contains(path, "//"), len(path) > 1 && strings.HasSuffix(path, "/"):
		t.Fatalf("%q became %q: slashes", raw, path)
	case len(path) > MaxPathBytes:
		t.Fatalf("%q became %q: %d bytes", raw, path, len(path))
	case !utf8.ValidString(path):
		t.Fatalf("%q became %q: no UTF-8", raw, path)
	case strings.ContainsAny(path, "?#"):
		t.Fatalf("%q became %q: query or fragment", raw, path)
	case strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }):
		t.Fatalf("%q became %q: what can not be seen", raw, path)
	}
	// Stored paths are sent again: the normal form of a normal form is itself.
	again, err := appendPath(nil, normal)
	if err != nil || !bytes.Equal(again, normal) {
		t.Fatalf("%q became %q, and that %q, %v", raw, path, again, err)
	}
	if behind, err := appendPath([]byte("x/"), raw); err != nil || string(behind) != "x/"+path {
		t.Fatalf("%q behind other bytes became %q, %v", raw, behind, err)
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "", "guide/", "https://example.org//a/?b#c", "/%67uide%2F%2f", "/a%252Fb", "/%2%35", "/%%36%31", "/100%",
		"/%C3%C3%B6", "/%E2%80%AE", "/%E2%80\u00ad", "/%ED%A0%80", "/%F4%90%80%80", "/\xff", "/ö\u202e", "/%0a", "/%C2%85", "\x7f",
		"/" + strings.Repeat("x", MaxPathBytes-1) + "//", strings.Repeat("%25", 400), strings.Repeat(" ", 400), "://", "a://", "a://?",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkPath(t, raw) })
}

// Bytes at random seldom make an escape; these are made of its parts.
func TestPathsAreNormalOnce(t *testing.T) {
	parts := []string{
		"/", "//", "a", "A", "%", "%%", "%2", "%25", "%2F", "%2f", "%61", "2", "5", "6", "1", "?", "#", ":", "://", ".", " ", "+",
		"ö", "日", "👣", "\u00ad", "\u200b", "\u2028", "\ufffd", "%C3", "%B6", "%c3%b6", "%E2", "%80", "%AE", "%F0%9F%91%A3", "%FF", "%C0%AF",
		"%ED%A0%80", "\\", "|", "~", "%7E", "%00", "%C2%85",
	}
	rapid.Check(t, func(t *rapid.T) {
		checkPath(t, []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "parts"), "")))
	})
}

// told is what a decoder says of one event.
type told struct {
	event   [6]string
	foreign bool
	reason  string
}

// decodeAll collects all that is told of a body.
func decodeAll(t *testing.T, body []byte, lines bool) ([]told, error) {
	t.Helper()
	return tell(t, newDecoder(64<<10).events, body, lines)
}

// tell collects all that is told of a body, and holds the indexes to 0, 1, 2.
func tell(t testing.TB, decode func([]byte, bool, func(int, *event, error)) error, body []byte, lines bool) ([]told, error) {
	t.Helper()
	var all []told
	err := decode(body, lines, func(index int, e *event, err error) {
		if index != len(all) {
			t.Fatalf("index %d, want %d", index, len(all))
		}
		if err != nil {
			all = append(all, told{reason: err.Error()})
			return
		}
		one := told{foreign: e.foreign}
		for i, field := range [][]byte{e.path, e.visitorID, e.ip, e.userAgent, e.traffic, e.timestamp} {
			if field != nil {
				one.event[i] = "=" + string(field)
			}
			if !utf8.Valid(field) {
				t.Fatalf("field %d is %q", i, field)
			}
			_ = append(field, 0xff) // It must not reach the body.
		}
		all = append(all, one)
	})
	return all, err
}

// The standard library's JSON decides what is JSON. Where a body is an array, all
// of its elements are told of, each as it would be on a line of its own; where it
// is none, the body is refused with a place within it.
func FuzzDecodeEvents(f *testing.F) {
	const good = `{"path":"/","visitorId":"v","traffic":"human"}`
	for _, seed := range []string{
		"", " \n", good, "[" + good + "]", " [" + good + ",\n" + good + "]\n", good + "\r\n\n" + good, "[]", "[", "[{", "[1,2", "[1]2", "[{}]]",
		"{\n\"path\": \"/a\"\n}", good + good, "5", "nonsense", `[{"path":"\ud800"}]`, "[{\"path\":\"\xff\"}]", `[{"path":1,"ip":[],"x":{"y":[{}]}}]`,
		`[{"path":"/","path":"/"}]`, `[{"":null,"\u0070ath":null}]`, "\ufeff[]", "[1.5e+7,-0,\"\\u0000\"]", "[01]", "[\"\t\"]", "\x00", "{\"a\"\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, lines bool) {
		all, err := decodeAll(t, body, lines)
		trimmed := bytes.Trim(body, " \t\r\n")
		switch {
		case len(trimmed) == 0:
			if !errors.Is(err, errNoEvents) {
				t.Fatalf("nothing is %v", err)
			}
		case lines || trimmed[0] != '[':
			if err != nil || len(all) == 0 {
				t.Fatalf("%d events, %v", len(all), err)
			}
			if !lines && json.Valid(body) && len(all) != 1 {
				t.Fatalf("one value is %d events", len(all))
			}
		case json.Valid(body):
			checkArray(t, trimmed, all, err)
		default:
			syntax, ok := errors.AsType[*syntaxError](err)
			if !ok {
				t.Fatalf("no JSON, but the error is %v", err)
			}
			if syntax.offset < 0 || syntax.offset > int64(len(body)) {
				t.Fatalf("the place is byte %d of %d", syntax.offset, len(body))
			}
		}
	})
}

func checkArray(t *testing.T, body []byte, all []told, err error) {
	t.Helper()
	var elements []json.RawMessage
	if err := json.Unmarshal(body, &elements); err != nil {
		t.Fatal(err)
	}
	if len(elements) == 0 {
		if !errors.Is(err, errNoEvents) {
			t.Fatalf("an empty array is %v", err)
		}
		return
	}
	if err != nil || len(all) != len(elements) {
		t.Fatalf("an array of %d values is %d events, %v", len(elements), len(all), err)
	}
	var text bytes.Buffer
	for _, element := range elements {
		if err := json.Compact(&text, element); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
	}
	byLine, err := decodeAll(t, text.Bytes(), true)
	if err != nil || len(byLine) != len(all) {
		t.Fatalf("as lines: %d events, %v; as an array: %d", len(byLine), err, len(all))
	}
	for i := range all {
		if all[i] != byLine[i] {
			t.Fatalf("event %d is %+v, and as a line %+v", i, all[i], byLine[i])
		}
	}
}
