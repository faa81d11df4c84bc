package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"footfall/internal/api"
	"footfall/sketch"
)

// Bodies in every shape. Paths tell which events were kept, in order.
func TestBodies(t *testing.T) {
	in := newInlet(t)
	e := func(path string) string { return event(map[string]any{"path": path}) }
	pretty := "{\n  \"path\": \"/a\",\n  \"visitorId\": \"v\",\n\n  \"traffic\": \"human\"\n}"
	bad := `{"path":"/bad"}`
	ignored := event(map[string]any{"traffic": nil, "userAgent": crawler})
	tests := []struct {
		name        string
		contentType string
		body        string
		status      int
		paths       string
		errors      string // "index reason" of each, shortened
		ignored     int
	}{
		{"object", asJSON, e("/a"), 202, "/a", "", 0},
		{"object, pretty-printed", asJSON, pretty, 202, "/a", "", 0},
		{"object in white space", asJSON, " \r\n\t" + pretty + "\n\n ", 202, "/a", "", 0},
		{"object as lines", asLines, e("/a"), 202, "/a", "", 0},
		{"array", asJSON, "[" + e("/a") + "," + e("/b") + "]", 202, "/a /b", "", 0},
		{"array, pretty-printed", asJSON, "\n[\n" + pretty + " ,\n" + pretty + "\n]\n", 202, "/a /a", "", 0},
		{"lines", asLines, e("/a") + "\n" + e("/b") + "\n", 202, "/a /b", "", 0},
		{"lines, sent as JSON", asJSON, e("/a") + "\n" + e("/b"), 202, "/a /b", "", 0},
		{"no type", "", e("/a"), 202, "/a", "", 0},
		{"blank lines and carriage returns", asLines, "\n\r\n" + e("/a") + "\r\n \t\r\n\n" + e("/b") + "\r\n\n", 202, "/a /b", "", 0},

		{"bad ones in an array", asJSON, "[" + bad + "," + e("/a") + "," + bad + "," + e("/b") + "]", 202, "/a /b", "0 visitorId 2 visitorId", 0},
		{"bad ones in lines", asLines, bad + "\n" + e("/a") + "\n" + bad + "\n" + e("/b"), 202, "/a /b", "0 visitorId 2 visitorId", 0},
		{"blank lines have no index", asLines, "\n\n" + e("/a") + "\n\n" + bad, 202, "/a", "1 visitorId", 0},
		{"lines are judged line by line", asLines, "{\n" + e("/a") + "\nnonsense\n" + e("/b") + e("/c") + "\n" + e("/d") + " 5\n" + e("/e") + "\x00", 202, "/a",
			"0 not 2 not 3 text 4 text 5 text", 0},
		{"a broken first line", asJSON, "{\"path\":\n" + e("/a"), 202, "/a", "0 not", 0},
		{"an array as a line", asLines, "[" + e("/a") + "]\n" + e("/b"), 202, "/b", "0 an", 0},
		{"other kinds in an array", asJSON, `[null,5,"x",true,[],` + e("/a") + `,{}]`, 202, "/a", "0 an 1 an 2 an 3 an 4 an 6 path", 0},
		{"other kinds in lines", asLines, "null\n5\n\"x\"\nfalse\n[]\n{}\n" + e("/a"), 202, "/a", "0 an 1 an 2 an 3 an 4 an 5 path", 0},
		{"nothing but bad ones", asJSON, "[" + bad + "," + bad + "]", 400, "", "0 visitorId 1 visitorId", 0},
		{"a number", asJSON, "5", 400, "", "0 an", 0},
		{"two objects on a line", asJSON, e("/a") + " " + e("/b"), 400, "", "0 text", 0},

		{"ignored", asJSON, ignored, 202, "", "", 1},
		{"nothing but ignored ones", asJSON, "[" + ignored + "," + ignored + "]", 202, "", "", 2},
		{"ignored and good", asLines, ignored + "\n" + e("/a"), 202, "/a", "", 1},
		{"ignored and bad", asLines, ignored + "\n" + bad, 400, "", "1 visitorId", 1},
		{"ignored, good and bad", asLines, ignored + "\n" + bad + "\n" + e("/a"), 202, "/a", "1 visitorId", 1},

		{"null is left out", asJSON, `{"path":"/a","visitorId":"v","traffic":"human","timestamp":null,"ip":null,"userAgent":null}`, 202, "/a", "", 0},
		{"null where a field is required", asJSON, `{"path":null,"visitorId":"v","traffic":"human"}`, 400, "", "0 path", 0},
		{"unknown fields", asJSON, `{"v":2,"path":"/a","screen":{"w":[1,{"path":"/b"}]},"visitorId":"v","traffic":"human","":null,"Path":5,"PATH":"/c"}`, 202, "/a", "", 0},
		{"escaped names", asJSON, `{"p\u0061th":"/a","visitorId":"v","\u0074raffic":"human"}`, 202, "/a", "", 0},
		{"names twice", asJSON, `[{"path":"/a","path":"/b","visitorId":"v","traffic":"human"},` + e("/c") + `]`, 202, "/c", "0 path", 0},
		{"names twice in lines", asLines, `{"path":"/a","visitorId":"v","traffic":"human","traffic":"human"}` + "\n" + e("/c"), 202, "/c", "0 traffic", 0},
		{"names twice, once as null", asJSON, `[{"path":null,"path":"/b","visitorId":"v","traffic":"human"},` + e("/c") + `]`, 202, "/c", "0 path", 0},
		{"unknown names twice", asJSON, `{"x":1,"x":2,"path":"/a","visitorId":"v","traffic":"human"}`, 202, "/a", "", 0},
		{"wrong types, the first is named", asJSON, `[{"path":"/a","visitorId":1,"traffic":2},` + e("/b") + `]`, 202, "/b", "0 visitorId", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := in.post(test.contentType, test.body)
			var kept []string
			batches := len(in.committed.taken)
			for _, visit := range in.committed.visits() {
				kept = append(kept, visit.Path)
			}
			var faults []string
			for _, e := range a.Errors {
				reason, _, _ := strings.Cut(strings.TrimRight(e.Error, ","), " ")
				faults = append(faults, fmt.Sprint(e.Index), strings.Trim(reason, ","))
			}
			if a.status != test.status || strings.Join(kept, " ") != test.paths ||
				strings.Join(faults, " ") != test.errors || a.Ignored != test.ignored {
				t.Errorf("status %d, kept %q, errors %q, %d ignored: %s", a.status, kept, faults, a.Ignored, a.text)
			}
			if a.Accepted != len(kept) || a.Rejected != len(a.Errors) {
				t.Errorf("accepted %d, kept %d; rejected %d, errors %d", a.Accepted, len(kept), a.Rejected, len(a.Errors))
			}
			if batches > 1 {
				t.Errorf("%d batches: what is answered once is durable in parts", batches)
			}
		})
	}
}

// A body that holds nothing, and an array that is no JSON from some place on, are
// refused as a whole.
func TestBodiesThatAreRefusedAsAWhole(t *testing.T) {
	in := newInlet(t)
	good := event(nil)
	from := func(n int) string { return fmt.Sprintf("not JSON from byte %d on", len("["+good)+n) }
	tests := []struct {
		name, body, want string
	}{
		{"empty", "", "the body holds no events"},
		{"white space", " \n\r\n\t ", "the body holds no events"},
		{"empty array", "[]", "the body holds no events"},
		{"empty array in white space", "\n[ \n ] ", "the body holds no events"},
		{"end of the body", "[" + good, from(0)},
		{"end within an event", "[" + good + `,{"path":"/x`, from(12)},
		{"end behind a comma", "[" + good + ",", from(1)},
		{"a comma too much", "[" + good + ",]", from(0)},
		{"a comma too few", "[" + good + good + "]", from(0)},
		{"a colon too few", "[" + good + `,{"path" "/x"}]`, from(9)},
		{"no JSON", "[" + good + ",nonsense]", from(2)},
		{"a name without quotes", "[" + good + `,{path:"/x"}]`, from(2)},
		{"single quotes", "[" + good + `,{'path':'/x'}]`, from(2)},
		{"a raw control character in a string", "[" + good + ",{\"path\":\"/\n\"}]", from(11)},
		{"a bad escape", "[" + good + `,{"path":"/\x"}]`, from(11)},
		{"broken in a field that is ignored", "[" + good + `,{"other":[1,}}]`, from(13)},
		{"text behind it", "[" + good + "] x", from(1)},
		{"another array behind it", "[" + good + "]\n[" + good + "]", from(1)},
		{"an object behind it", "[" + good + "]" + good, from(1)},
		// The place is one of the body as it was sent.
		{"white space before it", "\n\n  [" + good + ",nonsense]", from(6)},
		{"not closed, nothing in it", "[", "not JSON from byte 1 on: unexpected EOF"},
		{"too deep", "[" + good + `,{"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}]", "not JSON from byte "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := in.post(asJSON, test.body)
			if a.status != http.StatusBadRequest || !strings.Contains(a.Error, test.want) {
				t.Errorf("status %d: %s, want %q", a.status, a.text, test.want)
			}
			if len(a.Details) == 0 || len(a.Errors) > 0 || a.Rejected > 0 || a.Accepted > 0 {
				t.Errorf("the answer counts events: %s", a.text)
			}
			if visits := in.committed.visits(); len(visits) > 0 {
				t.Errorf("kept %v", visits)
			}
		})
	}
}

func TestAnswersToTheByte(t *testing.T) {
	in := newInlet(t)
	for _, test := range []struct {
		body   string
		status int
		want   string
	}{
		{event(nil), 202, `{"accepted":1,"rejected":0,"ignored":0,"errors":[]}`},
		{"[" + event(nil) + `,{"path":"/"}]`, 202, `{"accepted":1,"rejected":1,"ignored":0,"errors":[` +
			`{"index":1,"error":"visitorId, or ip and userAgent together, is required"}]}`},
		{`{"path":"/"}`, 400, `{"error":"no event could be accepted",` +
			`"details":[{"message":"event 0: visitorId, or ip and userAgent together, is required"}],` +
			`"accepted":0,"rejected":1,"ignored":0,` +
			`"errors":[{"index":0,"error":"visitorId, or ip and userAgent together, is required"}]}`},
		{"", 400, `{"error":"the body holds no events","details":[{"message":"the body holds no events"}]}`},
	} {
		if a := in.post(asJSON, test.body); a.status != test.status || a.text != test.want {
			t.Errorf("%s: status %d\n%s, want\n%s", test.body, a.status, a.text, test.want)
		}
	}
}

// The list of errors is capped; the counts are not.
func TestErrorsAreCappedAndCountsAreNot(t *testing.T) {
	in := newInlet(t)
	for _, test := range []struct{ bad, good, status int }{
		{99, 1, 202}, {100, 1, 202}, {101, 1, 202}, {5000, 3000, 202}, {5000, 0, 400},
	} {
		body := strings.Repeat("{}\n", test.bad) + strings.Repeat(event(nil)+"\n", test.good)
		a := in.post(asLines, body)
		if a.status != test.status || a.Rejected != test.bad || a.Accepted != test.good {
			t.Errorf("%+v: status %d, %d accepted, %d rejected", test, a.status, a.Accepted, a.Rejected)
		}
		if len(a.Errors) != min(test.bad, 100) {
			t.Errorf("%+v: %d errors", test, len(a.Errors))
		}
		for i, e := range a.Errors {
			if e.Index != i || e.Error == "" {
				t.Errorf("error %d is %+v", i, e)
			}
		}
		if test.status == http.StatusBadRequest && len(a.Details) != len(a.Errors) {
			t.Errorf("%d details of %d errors", len(a.Details), len(a.Errors))
		}
		if got := len(in.committed.visits()); got != test.good {
			t.Errorf("%+v: kept %d", test, got)
		}
	}
}

func TestContentTypes(t *testing.T) {
	in := newInlet(t)
	array := "[" + event(nil) + "]"
	for contentType, status := range map[string]int{
		"":                                202,
		"application/json":                202,
		"Application/JSON":                202,
		"application/json; charset=utf-8": 202,
		"application/json;charset=UTF-8;": 202,
		// As lines the array is one bad event.
		"application/x-ndjson":                400,
		"application/ndjson":                  400,
		"application/jsonl":                   400,
		"application/x-ndjson; charset=utf-8": 400,
		"text/plain":                          415,
		"text/json":                           415,
		"application/x-www-form-urlencoded":   415,
		"multipart/form-data; boundary=x":     415,
		"application/vnd.api+json":            415,
		"json":                                415,
		"application/json, text/plain":        415,
		";":                                   415,
	} {
		a := in.post(contentType, array)
		if a.status != status {
			t.Errorf("Content-Type %q: status %d, want %d: %s", contentType, a.status, status, a.text)
		}
		if kept := len(in.committed.visits()); (kept == 1) != (status == 202) {
			t.Errorf("Content-Type %q: kept %d", contentType, kept)
		}
	}
	for encoding, status := range map[string]int{"identity": 202, "br": 415, "gzip, identity": 415} {
		request := in.request(asJSON, strings.NewReader(array))
		request.Header.Set("Content-Encoding", encoding)
		if a := in.do(request); a.status != status {
			t.Errorf("Content-Encoding %q: status %d, want %d", encoding, a.status, status)
		}
	}
}

func TestBodySizes(t *testing.T) {
	in := newInlet(t)
	padded := func(size int) string { return event(nil) + strings.Repeat("\n", size-len(event(nil))) }
	for size, status := range map[int]int{maxBody - 1: 202, maxBody: 202, maxBody + 1: 413, 3 * maxBody: 413} {
		for _, length := range []int64{int64(size), -1, 0} {
			request := in.request(asJSON, struct{ io.Reader }{strings.NewReader(padded(size))})
			request.ContentLength = length
			a := in.do(request)
			if a.status != status {
				t.Errorf("%d bytes, told as %d: status %d, want %d: %s", size, length, a.status, status, a.text)
			}
			if a.status == http.StatusRequestEntityTooLarge && !strings.Contains(a.Error, fmt.Sprint(maxBody)) {
				t.Errorf("the answer does not name the limit: %s", a.text)
			}
			if kept := len(in.committed.visits()); (kept == 1) != (status == 202) {
				t.Errorf("%d bytes: kept %d", size, kept)
			}
		}
	}
}

type brokenBody struct{ text io.Reader }

func (b brokenBody) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// What came of a body that broke off is not the body.
func TestBodyBreaksOff(t *testing.T) {
	in := newInlet(t)
	a := in.do(in.request(asLines, brokenBody{strings.NewReader(event(nil) + "\n")}))
	if a.status != http.StatusBadRequest || len(in.committed.visits()) > 0 {
		t.Errorf("status %d: %s", a.status, a.text)
	}
}

// Only what is durable is acknowledged.
func TestCommitFails(t *testing.T) {
	in := newInlet(t)
	for err, status := range map[error]int{
		fmt.Errorf("queue: %w", sketch.ErrOverloaded):    503,
		fmt.Errorf("log: %w", sketch.ErrUnavailable):     503,
		fmt.Errorf("late: %w", sketch.ErrProjectDeleted): 404,
		errors.New("disk on fire"):                       500,
	} {
		in.committed.err = err
		a := in.post(asLines, event(nil)+"\n{}")
		if a.status != status || a.Error == "" || strings.Contains(a.text, "accepted") || strings.Contains(a.text, "fire") {
			t.Errorf("%v: status %d, want %d: %s", err, a.status, status, a.text)
		}
	}
}

// One batch in any of its forms is judged alike: same counts, same errors, same
// visits committed, and as many of them as the answer says.
func TestFormsAgree(t *testing.T) {
	in := newInlet(t)
	rapid.Check(t, func(rt *rapid.T) {
		fields := rapid.Custom(func(rt *rapid.T) string {
			pick := func(label string, values ...string) string {
				if value := rapid.SampledFrom(values).Draw(rt, label); value != "" {
					return `,"` + label + `":` + value
				}
				return ""
			}
			return `{"n":1` +
				pick("path", `"/"`, `"/a"`, `"/a"`, `"/a/b?c"`, quote("/ö"), `"/a\n"`, `""`, `5`, `null`, ``, `"/`+strings.Repeat("x", 1030)+`"`, `"/","path":"/"`) +
				pick("visitorId", `"v"`, `"w"`, `"x"`, ``, `""`, `null`, `[1,{"a":"b"}]`, `"\ud800"`) +
				pick("ip", `"192.0.2.1"`, ``, ``, `"nonsense"`) +
				pick("userAgent", quote(browser), quote(agent), quote(crawler), ``) +
				pick("traffic", `"human"`, `"ai"`, ``, ``, `"bot"`) +
				pick("timestamp", ``, `"2026-02-28T12:00:00Z"`, `"2030-01-01T00:00:00Z"`, `"yesterday"`) +
				`}`
		})
		element := rapid.OneOf(fields, fields, fields, rapid.SampledFrom([]string{`5`, `null`, `[]`, `"x"`, `{}`}))
		elements := rapid.SliceOfN(element, 1, 150).Draw(rt, "events")
		separator := rapid.SampledFrom([]string{",", " , ", ",\n", "\r\n\t,"}).Draw(rt, "separator")
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\n\n \n"}).Draw(rt, "line end")

		array := in.post(asJSON, "["+strings.Join(elements, separator)+"]")
		fromArray := in.committed.visits()
		lines := in.post(asLines, strings.Join(elements, end))
		fromLines := in.committed.visits()

		array.text, lines.text = "", ""
		if !reflect.DeepEqual(array, lines) {
			rt.Fatalf("as an array: %+v\nas lines:    %+v", array, lines)
		}
		if !reflect.DeepEqual(fromArray, fromLines) {
			rt.Fatalf("kept of the array: %v\nof the lines:      %v", fromArray, fromLines)
		}
		if array.Accepted != len(fromArray) || array.Accepted+array.Rejected+array.Ignored != len(elements) {
			rt.Fatalf("%d events: %+v, kept %d", len(elements), array, len(fromArray))
		}
		// Each alone is what it was among the others.
		alone := 0
		for i, element := range elements {
			a := in.post(asJSON, element)
			visits := in.committed.visits()
			if a.Accepted == 1 {
				if alone >= len(fromArray) || visits[0] != fromArray[alone] {
					rt.Fatalf("event %d alone is kept as %v", i, visits)
				}
				alone++
			}
		}
		if alone != len(fromArray) {
			rt.Fatalf("alone %d are kept, together %d", alone, len(fromArray))
		}
	})
}

// A request is read into memory that the next one uses again: nothing of one may
// show in another, also where they are read at the same time.
func TestRequestsAtTheSameTime(t *testing.T) {
	in := newInlet(t)
	committed := &sharedBatches{byVisitor: make(map[sketch.Hash][]string)}
	router := api.NewRouter(in.registry, nil, slog.New(slog.DiscardHandler))
	newPipeline(t, committed).Routes(router)
	const clients, requests, events = 8, 20, 30
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for n := range requests {
				var body strings.Builder
				for i := range events {
					path := fmt.Sprintf("/%d/%d/%d", client, n, i)
					body.WriteString(event(map[string]any{"path": path, "visitorId": fmt.Sprint(client)}) + "\n")
				}
				recorder := httptest.NewRecorder()
				router.ServeHTTP(recorder, in.request(asLines, strings.NewReader(body.String())))
				if recorder.Code != http.StatusAccepted {
					t.Errorf("status %d: %s", recorder.Code, recorder.Body)
				}
			}
		})
	}
	running.Wait()
	if len(committed.byVisitor) != clients {
		t.Errorf("%d visitors, want %d", len(committed.byVisitor), clients)
	}
	for _, paths := range committed.byVisitor {
		seen := make(map[string]bool)
		for _, path := range paths {
			seen[path] = true
			if first, _, _ := strings.Cut(paths[0][1:], "/"); !strings.HasPrefix(path, "/"+first+"/") {
				t.Fatalf("a visitor of %s has seen %s", paths[0], path)
			}
		}
		if len(paths) != requests*events || len(seen) != requests*events {
			t.Errorf("%d views of %d paths, want %d", len(paths), len(seen), requests*events)
		}
	}
}

// sharedBatches is a Store for requests at the same time.
type sharedBatches struct {
	mu        sync.Mutex
	byVisitor map[sketch.Hash][]string // paths
}

func (b *sharedBatches) FindReceipt(context.Context, sketch.ProjectNumber, [32]byte) (sketch.Receipt, bool, error) {
	return sketch.Receipt{}, false, nil
}

func (b *sharedBatches) Commit(_ context.Context, batch sketch.Batch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for visit := range batch.Views() {
		b.byVisitor[visit.Visitor] = append(b.byVisitor[visit.Visitor], visit.Path)
	}
	return nil
}
