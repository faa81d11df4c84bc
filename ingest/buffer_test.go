package ingest_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"footfall/ingest"
	"footfall/internal/store"
)

// patience bounds every wait.
const patience = 20 * time.Second

// eventually waits for what other goroutines bring about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// send posts a body that may be of unknown length.
func (c *counted) send(project string, body io.Reader, header http.Header) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(c.t.Context(), http.MethodPost, "/v1/analytics/"+project+"/events", body)
	request.Header.Set("Content-Type", asLines)
	request.Header.Set("Authorization", "Bearer "+c.keys[project])
	for name, values := range header {
		request.Header[name] = values
	}
	recorder := httptest.NewRecorder()
	c.router.ServeHTTP(recorder, request)
	return recorder
}

// unknown hides the length of a body.
type unknown struct{ io.Reader }

// TestBodyLimit: a body of exactly the limit is taken, and one of a byte more is a
// 413, however it comes and whatever the limit; nothing stays taken of the memory.
func TestBodyLimit(t *testing.T) {
	for _, limit := range []int{1 << 10, 16 << 10, 100_000, 1 << 20, 16 << 20} {
		c := newCounted(t, store.Limits{}, func(opts *ingest.Options) {
			if opts.MaxBodyBytes = int64(limit); limit == 16<<20 {
				opts.MaxBodyBytes = 0 // The default.
			}
		})
		good := event(nil)
		text := good + strings.Repeat("\n", limit-len(good))
		for what, send := range map[string]func(text string) *httptest.ResponseRecorder{
			"with its length": func(text string) *httptest.ResponseRecorder { return c.send("docs", strings.NewReader(text), nil) },
			"of unknown length": func(text string) *httptest.ResponseRecorder {
				return c.send("docs", unknown{strings.NewReader(text)}, nil)
			},
			"in small parts": func(text string) *httptest.ResponseRecorder {
				return c.send("docs", unknown{bufio.NewReaderSize(strings.NewReader(text), 100)}, nil)
			},
			"encoded as gzip": func(text string) *httptest.ResponseRecorder {
				return c.send("docs", bytes.NewReader(encode(t, "gzip", text)), http.Header{"Content-Encoding": {"gzip"}})
			},
			"encoded as zstd": func(text string) *httptest.ResponseRecorder {
				return c.send("docs", bytes.NewReader(encode(t, "zstd", text)), http.Header{"Content-Encoding": {"zstd"}})
			},
			"encoded as nothing": func(text string) *httptest.ResponseRecorder {
				return c.send("docs", unknown{strings.NewReader(text)}, http.Header{"Content-Encoding": {"identity"}})
			},
		} {
			before := c.views("docs")
			for range 2 {
				if got := send(text); got.Code != http.StatusAccepted {
					t.Errorf("a body of the limit of %d bytes, %s: status %d: %s", limit, what, got.Code, got.Body)
				}
				if got := send(text + "\n"); got.Code != http.StatusRequestEntityTooLarge || !strings.Contains(got.Body.String(), fmt.Sprint(limit)) {
					t.Errorf("a byte more than the limit of %d bytes, %s: status %d: %s", limit, what, got.Code, got.Body)
				}
			}
			if n := c.views("docs") - before; n != 2 {
				t.Errorf("limit %d, %s: %d views, want 2", limit, what, n)
			}
			if n := c.pipeline.BodyBytes(); n != 0 {
				t.Fatalf("limit %d, %s: %d bytes stay taken", limit, what, n)
			}
		}
	}
}

// TestBomb: what decodes to a gigabyte is left at the limit, before memory is taken
// for the rest.
func TestBomb(t *testing.T) {
	const limit, part = 1 << 20, 16 << 20
	for _, encoding := range []string{"gzip", "zstd"} {
		c := newCounted(t, store.Limits{}, func(opts *ingest.Options) { opts.MaxBodyBytes = limit })
		// Encodings of parts, one after the other, are the encoding of the whole.
		bomb := bytes.Repeat(encode(t, encoding, strings.Repeat("\x00", part)), 1<<30/part)
		if len(bomb) > limit {
			bomb = bomb[:limit]
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := c.send("docs", bytes.NewReader(bomb), http.Header{"Content-Encoding": {encoding}})
		runtime.ReadMemStats(&after)
		if got.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d: %s", encoding, got.Code, got.Body)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 20<<20 {
			t.Errorf("%s: %d bytes were allocated for a limit of %d", encoding, allocated, limit)
		}
		if n := c.pipeline.BodyBytes(); n != 0 {
			t.Errorf("%s: %d bytes stay taken", encoding, n)
		}
	}
}

// stuck is a body that stops after some bytes until it is released, and then ends
// with an error or well.
type stuck struct {
	text    []byte
	reached chan struct{}
	release chan error
}

func newStuck(text string) *stuck {
	return &stuck{text: []byte(text), reached: make(chan struct{}), release: make(chan error, 1)}
}

func (s *stuck) Read(p []byte) (int, error) {
	if len(s.text) > 0 {
		n := copy(p, s.text)
		s.text = s.text[n:]
		return n, nil
	}
	close(s.reached)
	return 0, <-s.release
}

// TestBodiesShareMemory: where bodies are being read, a project that holds its
// share of their memory is refused, at once and with when to come again, while
// another one's page views are taken. All of it comes back.
func TestBodiesShareMemory(t *testing.T) {
	const memory = 1 << 20
	c := newCounted(t, store.Limits{}, func(opts *ingest.Options) { opts.BodyBytes = memory })
	text := event(nil) + strings.Repeat("\n", 20<<10)
	answers := make(chan *httptest.ResponseRecorder)
	var held []*stuck
	var refused *httptest.ResponseRecorder
	for refused == nil && len(held) < 1000 {
		body := newStuck(text)
		go func() { answers <- c.send("docs", body, nil) }()
		select {
		case <-body.reached:
			held = append(held, body)
		case refused = <-answers:
		}
	}
	if refused == nil || refused.Code != http.StatusServiceUnavailable || refused.Header().Get("Retry-After") == "" {
		t.Fatalf("after %d bodies the answer is %+v", len(held), refused)
	}
	if used := c.pipeline.BodyBytes(); used < memory/3 || used > memory*2/3 {
		t.Errorf("%d bytes are taken, want about half of %d", used, memory)
	}
	if got := c.send("docs", strings.NewReader(text), nil); got.Code != http.StatusServiceUnavailable {
		t.Errorf("one more of the project: status %d: %s", got.Code, got.Body)
	}
	for range 3 {
		if got := c.send("other", strings.NewReader(text), nil); got.Code != http.StatusAccepted {
			t.Errorf("another project: status %d: %s", got.Code, got.Body)
		}
	}
	for i, body := range held {
		want, end := http.StatusAccepted, io.EOF
		if i%2 == 1 { // The other half of the clients goes away.
			want, end = http.StatusBadRequest, errors.New("the connection was reset")
		}
		body.release <- end
		if got := <-answers; got.Code != want {
			t.Errorf("a body that went on: status %d, want %d: %s", got.Code, want, got.Body)
		}
	}
	if n := c.pipeline.BodyBytes(); n != 0 {
		t.Errorf("%d bytes stay taken", n)
	}
	if got := c.send("docs", strings.NewReader(text), nil); got.Code != http.StatusAccepted {
		t.Errorf("afterwards: status %d: %s", got.Code, got.Body)
	}
}

// dial sends the beginning of a request over a connection of its own.
func (c *counted) dial(server *httptest.Server, length int, sent string) net.Conn {
	c.t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() }) // It may be closed.
	_, err = fmt.Fprintf(conn, "POST /v1/analytics/docs/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n%s", c.keys["docs"], length, sent)
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// TestSlowClientsHoldLittle: clients that announce much and send little hold memory
// for what they have sent, and nothing once they are gone.
func TestSlowClientsHoldLittle(t *testing.T) {
	const clients = 200
	c := newCounted(t, store.Limits{}, func(opts *ingest.Options) { opts.MaxBodyBytes = 16 << 20 })
	server := httptest.NewServer(c.router)
	defer server.Close()
	var conns []net.Conn
	for range clients {
		conns = append(conns, c.dial(server, 16<<20, strings.Repeat("\n", 1<<10)))
	}
	eventually(t, "all bodies are being read", func() bool { return c.pipeline.BodyBytes() >= clients<<10 })
	if used := c.pipeline.BodyBytes(); used > 4<<20 {
		t.Errorf("%d bytes are taken", used)
	}
	if got := c.post("docs", event(nil), nil); got.Code != http.StatusAccepted {
		t.Errorf("another client: status %d: %s", got.Code, got.Body)
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all memory is given back", func() bool { return c.pipeline.BodyBytes() == 0 })
}

// TestStuckClient: a client that stops in the middle of its body is told so when its
// time is over, and holds nothing then.
func TestStuckClient(t *testing.T) {
	c := newCounted(t, store.Limits{})
	server := httptest.NewUnstartedServer(c.router)
	server.Config.ReadTimeout = 200 * time.Millisecond
	server.Start()
	defer server.Close()
	conn := c.dial(server, 1000, event(nil))
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d", response.StatusCode)
	}
	eventually(t, "all memory is given back", func() bool { return c.pipeline.BodyBytes() == 0 })
	if n := c.views("docs"); n != 0 {
		t.Errorf("%d views of half a body", n)
	}
}
