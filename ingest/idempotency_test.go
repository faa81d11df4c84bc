package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/ingest"
	"footfall/internal/access"
	"footfall/internal/access/accesstest"
	"footfall/internal/api"
	"footfall/internal/store"
	"footfall/sketch"
)

// counted is the events endpoint of two projects on a store that counts.
type counted struct {
	t        *testing.T
	now      atomic.Int64 // seconds after noon
	memory   *store.Memory
	pipeline *ingest.Pipeline
	router   *api.Router
	keys     map[string]string // by project
	projects map[string]access.Project
}

func newCounted(t *testing.T, limits store.Limits, change ...func(*ingest.Options)) *counted {
	t.Helper()
	registry := accesstest.Open(t, func() time.Time { return noon })
	c := &counted{t: t, keys: make(map[string]string), projects: make(map[string]access.Project)}
	clock := func() time.Time { return noon.Add(time.Duration(c.now.Load()) * time.Second) }
	c.memory = store.NewMemory(clock, limits)
	opts := ingest.Options{Store: c.memory, Now: clock, MaxBodyBytes: maxBody}
	for _, f := range change {
		f(&opts)
	}
	var err error
	if c.pipeline, err = ingest.New(opts); err != nil {
		t.Fatal(err)
	}
	c.router = api.NewRouter(registry, nil, slog.New(slog.DiscardHandler))
	c.pipeline.Routes(c.router)
	for _, id := range []string{"docs", "other"} {
		c.projects[id] = accesstest.Project(t, registry, id)
		c.keys[id] = accesstest.Key(t, registry, access.KeySpec{Project: id, Scope: access.Ingest})
	}
	return c
}

func (c *counted) post(project, body string, header http.Header) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(c.t.Context(), http.MethodPost, "/v1/analytics/"+project+"/events", strings.NewReader(body))
	request.Header.Set("Content-Type", asLines)
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("Authorization", "Bearer "+c.keys[project])
	recorder := httptest.NewRecorder()
	c.router.ServeHTTP(recorder, request)
	return recorder
}

// keyed is a header with an idempotency key, as it stands there.
func keyed(key string) http.Header { return http.Header{"Idempotency-Key": {key}} }

func (c *counted) views(project string) uint64 {
	c.t.Helper()
	ranking, err := store.Rank(c.t.Context(), c.memory, c.projects[project].Number, sketch.AllDays())
	if err != nil {
		c.t.Fatal(err)
	}
	return ranking.Views[sketch.Human] + ranking.Views[sketch.AI]
}

// expect fails where an answer or the number of views since is another one.
func (c *counted) expect(what string, got *httptest.ResponseRecorder, status int, body string, views uint64) {
	c.t.Helper()
	if got.Code != status || body != "" && got.Body.String() != body {
		c.t.Errorf("%s: status %d: %s, want %d: %s", what, got.Code, got.Body, status, body)
	}
	if n := c.views("docs"); n != views {
		c.t.Errorf("%s: %d views are counted, want %d", what, n, views)
	}
}

// The same key with the same body is answered as before, however the body is
// encoded and the key is written, and counts nothing; with another body it is a
// 422; another project's key is another key; after 48 hours it is a new one.
func TestIdempotencyKey(t *testing.T) {
	c := newCounted(t, store.Limits{})
	body := event(nil) + "\n" + event(map[string]any{"visitorId": "w"}) + "\n" + event(map[string]any{"path": nil}) + "\n" +
		event(map[string]any{"traffic": nil, "userAgent": crawler}) + "\n"
	first := c.post("docs", body, keyed("key-1"))
	answer := first.Body.String()
	c.expect("first", first, http.StatusAccepted, `{"accepted":2,"rejected":1,"ignored":1,"errors":[{"index":2,"error":"path is required"}]}`+"\n", 2)
	for what, header := range map[string]http.Header{"again": keyed("key-1"), "with quotes": keyed(`"key-1"`), "with spaces": keyed("key-1")} {
		got := c.post("docs", body, header)
		c.expect(what, got, http.StatusAccepted, answer, 2)
		if got.Header().Get("Content-Type") != first.Header().Get("Content-Type") {
			t.Errorf("%s: header %v, want %v", what, got.Header(), first.Header())
		}
	}
	for _, encoding := range []string{"gzip", "zstd"} {
		header := keyed("key-1")
		header.Set("Content-Encoding", encoding)
		c.expect(encoding, c.post("docs", string(encode(t, encoding, body)), header), http.StatusAccepted, answer, 2)
	}
	for what, other := range map[string]string{"shorter": event(nil), "longer": body + event(nil), "no JSON": "x", "one byte": body + " "} {
		c.expect(what, c.post("docs", other, keyed("key-1")), http.StatusUnprocessableEntity, "", 2)
	}
	c.expect("another key", c.post("docs", body, keyed("key-2")), http.StatusAccepted, answer, 4)
	c.expect("no key", c.post("docs", body, nil), http.StatusAccepted, answer, 6)
	c.expect("case matters", c.post("docs", body, keyed("KEY-1")), http.StatusAccepted, answer, 8)
	c.expect("another project", c.post("other", event(nil), keyed("key-1")), http.StatusAccepted, "", 8)
	if n := c.views("other"); n != 1 {
		t.Errorf("the other project has %d views, want 1", n)
	}

	c.now.Store(48*3600 - 1)
	c.expect("after 48 hours but one second", c.post("docs", body, keyed("key-1")), http.StatusAccepted, answer, 8)
	c.expect("another body then", c.post("docs", event(nil), keyed("key-1")), http.StatusUnprocessableEntity, "", 8)
	c.now.Store(48 * 3600)
	c.expect("after 48 hours", c.post("docs", event(nil), keyed("key-1")), http.StatusAccepted, "", 9)
	c.expect("again after 48 hours", c.post("docs", event(nil), keyed("key-1")), http.StatusAccepted, "", 9)
	c.expect("the first body after 48 hours", c.post("docs", body, keyed("key-1")), http.StatusUnprocessableEntity, "", 9)
}

// A body of which nothing is counted is answered with 202 and remembered; one that
// is refused is not: its key is free for what was meant.
func TestRefusalIsNotRemembered(t *testing.T) {
	c := newCounted(t, store.Limits{})
	ignored := event(map[string]any{"traffic": nil, "userAgent": crawler})
	c.expect("ignored", c.post("docs", ignored, keyed("ignored")), http.StatusAccepted, `{"accepted":0,"rejected":0,"ignored":1,"errors":[]}`+"\n", 0)
	c.expect("another body", c.post("docs", event(nil), keyed("ignored")), http.StatusUnprocessableEntity, "", 0)
	for _, bad := range []string{event(map[string]any{"path": nil}), "", "[", "nonsense"} {
		for range 2 {
			c.expect(bad, c.post("docs", bad, keyed("key")), http.StatusBadRequest, "", 0)
		}
	}
	c.expect("too large", c.post("docs", strings.Repeat(" ", maxBody+1), keyed("key")), http.StatusRequestEntityTooLarge, "", 0)
	c.expect("what was meant", c.post("docs", event(nil), keyed("key")), http.StatusAccepted, "", 1)
	c.expect("again", c.post("docs", event(nil), keyed("key")), http.StatusAccepted, "", 1)
}

func TestIdempotencyKeyHeader(t *testing.T) {
	c := newCounted(t, store.Limits{})
	longest := strings.Repeat("k", 255)
	good := map[string]string{ // and what is the same key
		"a":                        `"a"`,
		"8e03978e-40d5-43dd-bc93":  `"8e03978e-40d5-43dd-bc93"`,
		longest:                    `"` + longest + `"`,
		"!#$%&'()*+,-./:;<=>?@[]~": `"!#$%&'()*+,-./:;<=>?@[]~"`,
		`back\slash`:               `"back\\slash"`,
		`a"quote`:                  `"a\"quote"`,
	}
	var views uint64
	for bare, quoted := range good {
		views++
		c.expect(bare, c.post("docs", event(nil), keyed(bare)), http.StatusAccepted, "", views)
		c.expect(quoted, c.post("docs", event(nil), keyed(quoted)), http.StatusAccepted, "", views)
	}
	for _, values := range [][]string{
		{""}, {`""`}, {`"`}, {longest + "k"}, {`"` + longest + `k"`}, {"a b"}, {`"a b"`}, {"a\tb"}, {"a\x00"}, {"a\x7f"}, {"ö"}, {`"ö"`},
		{"a", "a"}, {"a", "b"}, {`"a`}, {`"a" `}, {`"a"b`}, {`"a";p=1`}, {`"a\"`}, {`"a"b"`}, {`"a\b"`}, {`"a\`},
	} {
		got := c.post("docs", event(nil), http.Header{"Idempotency-Key": values})
		c.expect(fmt.Sprintf("%q", values), got, http.StatusBadRequest, "", views)
		if !strings.Contains(got.Body.String(), "Idempotency-Key") {
			t.Errorf("%q: %s does not name the header", values, got.Body)
		}
	}
}

// Above the limit a new key is a 429, and none is forgotten: those that were used
// are answered as before, and without a key page views are taken.
func TestTooManyKeys(t *testing.T) {
	c := newCounted(t, store.Limits{Receipts: 2})
	c.expect("1", c.post("docs", event(nil), keyed("1")), http.StatusAccepted, "", 1)
	c.now.Store(3600)
	c.expect("2", c.post("docs", event(nil), keyed("2")), http.StatusAccepted, "", 2)
	for range 2 {
		got := c.post("docs", event(nil), keyed("3"))
		c.expect("one too many", got, http.StatusTooManyRequests, "", 2)
		if got.Header().Get("Retry-After") != "60" || !strings.Contains(got.Body.String(), "Idempotency-Key") {
			t.Errorf("Retry-After is %q: %s", got.Header().Get("Retry-After"), got.Body)
		}
		c.expect("1 again", c.post("docs", event(nil), keyed("1")), http.StatusAccepted, "", 2)
		c.expect("1 with another body", c.post("docs", event(nil)+"\n", keyed("1")), http.StatusUnprocessableEntity, "", 2)
	}
	c.expect("without a key", c.post("docs", event(nil), nil), http.StatusAccepted, "", 3)
	if got := c.post("other", event(nil), keyed("3")); got.Code != http.StatusAccepted {
		t.Errorf("another project: status %d: %s", got.Code, got.Body)
	}
	c.now.Store(48 * 3600) // The first one expires, the second one does not.
	c.expect("3", c.post("docs", event(nil), keyed("3")), http.StatusAccepted, "", 4)
	c.expect("4", c.post("docs", event(nil), keyed("4")), http.StatusTooManyRequests, "", 4)
	c.expect("2 again", c.post("docs", event(nil), keyed("2")), http.StatusAccepted, "", 4)
}

// Of requests with one key that come at the same time, one is counted, and all are
// answered alike.
func TestConcurrentRepeats(t *testing.T) {
	c := newCounted(t, store.Limits{})
	for round := range 20 {
		var running sync.WaitGroup
		var answers [20]*httptest.ResponseRecorder
		for i := range answers {
			running.Go(func() { answers[i] = c.post("docs", event(nil)+"\n5", keyed(fmt.Sprint(round))) })
		}
		running.Wait()
		for _, got := range answers {
			c.expect("one of many", got, http.StatusAccepted, answers[0].Body.String(), uint64(round+1))
		}
	}
}

// gone is a store that refuses with an error, and knows no receipt.
type gone struct{ err error }

func (g gone) Commit(context.Context, sketch.Batch) error { return g.err }

func (g gone) FindReceipt(context.Context, sketch.ProjectNumber, [32]byte) (sketch.Receipt, bool, error) {
	return sketch.Receipt{}, false, nil
}

// A batch that the store refuses is no answer to remember, and every answer that
// asks to come again says when.
func TestRefusedByTheStore(t *testing.T) {
	for _, test := range []struct {
		err        error
		status     int
		retryAfter string
	}{
		{sketch.ErrOverloaded, http.StatusServiceUnavailable, "1"},
		{fmt.Errorf("%w: 3 MiB are left", sketch.ErrDiskFull), http.StatusServiceUnavailable, "30"},
		{sketch.ErrUnavailable, http.StatusServiceUnavailable, "10"},
		{sketch.ErrRepeated, http.StatusServiceUnavailable, "1"}, // The other one expired in between.
		{sketch.ErrTooManyReceipts, http.StatusTooManyRequests, "60"},
		{sketch.ErrBatchTooLarge, http.StatusRequestEntityTooLarge, ""},
		{sketch.ErrProjectDeleted, http.StatusNotFound, ""},
		{errors.New("a mistake"), http.StatusInternalServerError, ""},
	} {
		c := newCounted(t, store.Limits{}, func(opts *ingest.Options) { opts.Store = gone{test.err} })
		got := c.post("docs", event(nil), keyed("key"))
		if got.Code != test.status || got.Header().Get("Retry-After") != test.retryAfter {
			t.Errorf("%v: status %d, Retry-After %q: %s", test.err, got.Code, got.Header().Get("Retry-After"), got.Body)
		}
		if bytes.Contains(got.Body.Bytes(), []byte("accepted")) || bytes.Contains(got.Body.Bytes(), []byte("MiB")) {
			t.Errorf("%v: %s", test.err, got.Body)
		}
	}
}
