package gate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"footfall/agentjobs/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	model   = "acme/writer-2"
	realKey = "sk-real-0123456789abcdef"
)

// upstream is the model's host. It keeps what reached it.
type upstream struct {
	*httptest.Server

	mu     sync.Mutex
	seen   []received
	answer http.HandlerFunc
}

type received struct {
	method, uri, host string
	header            http.Header
	body              []byte
}

// newUpstream answers with a completion until told otherwise.
func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{answer: respond("application/json", `{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}`)}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("upstream: %v", err)
		}
		u.mu.Lock()
		u.seen = append(u.seen, received{r.Method, r.RequestURI, r.Host, r.Header.Clone(), body})
		answer := u.answer
		u.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

func respond(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func (u *upstream) use(answer http.HandlerFunc) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer = answer
}

func (u *upstream) received() []received {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen
}

func (u *upstream) last(t *testing.T) received {
	t.Helper()
	all := u.received()
	if len(all) == 0 {
		t.Fatal("nothing reached the model's host")
	}
	return all[len(all)-1]
}

// agent asks through the gate's socket as a sandboxed agent does.
type agent struct {
	*gate.Gate
	http.Client

	t      *testing.T
	socket string
}

// open opens a gate to the upstream; change may alter its options.
func open(t *testing.T, u *upstream, change ...func(*gate.Options)) *agent {
	t.Helper()
	base, err := url.Parse(u.URL + "/api/v1")
	if err != nil {
		t.Fatal(err)
	}
	options := gate.Options{
		Socket:   filepath.Join(t.TempDir(), "gate"),
		Upstream: base,
		Model:    model,
		Key:      func() (string, error) { return realKey, nil },
	}
	for _, apply := range change {
		apply(&options)
	}
	g, err := gate.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", options.Socket)
		},
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := g.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &agent{
		Gate: g, t: t, socket: options.Socket,
		Client: http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func limits(l gate.Limits) func(*gate.Options) {
	return func(o *gate.Options) { o.Limits = l }
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (a *agent) request(method, path, body string) *http.Request {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, "http://127.0.0.1:4141"+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if body == "" {
		r.Body, r.ContentLength = nil, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (a *agent) send(r *http.Request) answer {
	a.t.Helper()
	response, err := a.Do(r)
	if err != nil {
		a.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text), err}
}

func (a *agent) post(path, body string) answer {
	a.t.Helper()
	return a.send(a.request(http.MethodPost, path, body))
}

// raw sends bytes as they are and returns the response.
func (a *agent) raw(text string) string {
	a.t.Helper()
	conn, err := new(net.Dialer).DialContext(a.t.Context(), "unix", a.socket)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		a.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		a.t.Fatal(err)
	}
	response, err := io.ReadAll(conn)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(response)
}

// chat is a chat request with more fields.
func chat(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"model":"` + model + `","messages":[{"role":"user","content":"hello"}]` + fields + `}`
}

// message returns the gate's own words, and fails where the answer is not its.
func (a answer) message(t *testing.T, status int) string {
	t.Helper()
	var body struct {
		Type  string
		Error struct{ Message, Type string }
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		t.Fatalf("status %d, body %q: %v", a.status, a.body, err)
	}
	if a.status != status || body.Type != "error" || body.Error.Type != "footfall_gate" || body.Error.Message == "" {
		t.Fatalf("status %d, want %d of the gate's: %s", a.status, status, a.body)
	}
	return body.Error.Message
}
