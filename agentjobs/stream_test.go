package agentjobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"footfall/agentjobs"
)

// event is a server-sent event.
type event struct{ id, kind, data string }

// parseEvents reads a stream of server-sent events (HTML Living Standard, section
// 9.2.6) until it ends.
func parseEvents(t *testing.T, stream io.Reader) iter.Seq[event] {
	return func(yield func(event) bool) {
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, 1<<20)
		var e event
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case lines.Text() == "":
				if e.data != "" && !yield(e) {
					return
				}
				e = event{}
			case name == "": // a comment
			case name == "id":
				e.id = value
			case name == "event":
				e.kind = value
			case name == "data":
				e.data += value
			default:
				t.Errorf("a stream has the line %q", lines.Text())
			}
		}
	}
}

// serve serves the service over HTTP, where answers arrive piece by piece.
func (b *bench) serve() *httptest.Server {
	b.t.Helper()
	server := httptest.NewServer(b.router)
	b.t.Cleanup(server.Close)
	return server
}

// follow asks for a log as events. The stream ends with the context.
func (b *bench) follow(ctx context.Context, server *httptest.Server, id string, header ...string) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v2/agent/docs/job/"+id+"/log", http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header = bearer(b.key)
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := server.Client().Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return response
}

// What the agent says arrives while it still works; the job itself comes last.
func TestStreamIsLive(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	server := b.serve()
	release := b.hold()
	j := b.post("say heard\nwait-cancel")
	stream := b.follow(t.Context(), server, j.ID)
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK || stream.Header.Get("Content-Type") != "text/event-stream" || stream.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, header %v", stream.StatusCode, stream.Header)
	}
	release()
	number, ended := 0, false
	for e := range parseEvents(t, stream.Body) {
		if e.kind == "job" {
			var last agentjobs.Job
			if err := json.Unmarshal([]byte(e.data), &last); err != nil || last.Status != agentjobs.Failed || reason(last) != "the job was cancelled" || e.id != "" {
				t.Errorf("the last event is %+v: %v", e, err)
			}
			if whole := b.told(j.ID); strings.TrimSpace(whole) != e.data {
				t.Errorf("the last event is %s, the job %s", e.data, whole)
			}
			ended = true
			continue
		}
		if ended || e.kind != "" || e.id != strconv.Itoa(number) {
			t.Errorf("event %d is %+v, after the job: %v", number, e, ended)
		}
		number++
		if line(t, e.data).Text == "heard" {
			if b.job(j.ID).Status != agentjobs.Active {
				t.Error("what the agent said did not arrive before the run's end")
			}
			b.want(b.do(http.MethodPost, "/job/"+j.ID+"/cancel", ""), http.StatusOK)
		}
	}
	if all := b.lines(j.ID); !ended || number != len(all) {
		t.Errorf("%d of %d lines came, the job: %v", number, len(all), ended)
	}
}

// A client that comes back gets what it has not seen, and no more.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("say one\nsay two\nsay three").ID)
	all := b.lines(j.ID)
	for seen := range all {
		got := b.eventsAfter(j.ID, seen)
		if len(got) != len(all)-seen-1 {
			t.Errorf("after %d of %d lines come %d", seen, len(all), len(got))
		}
	}
	// What the client says by itself counts before what its address says.
	a := b.do(http.MethodGet, "/job/"+j.ID+"/log?after=0", "", "Accept", "text/event-stream", "Last-Event-ID", "2")
	if strings.Contains(a.text, "id: 2\n") || !strings.Contains(a.text, "id: 3\n") || !strings.Contains(a.text, "event: job\n") {
		t.Errorf("after line 2 comes %s", a.text)
	}
}

// Streams end when the service is to stop.
func TestStopWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	server := b.serve()
	j := b.post("say heard\nwait-cancel")
	stream := b.follow(t.Context(), server, j.ID)
	defer stream.Body.Close()
	for e := range parseEvents(t, stream.Body) {
		if e.kind == "job" {
			t.Error("a stream of an active job ends with the job")
		}
		if line(t, e.data).Text == "heard" {
			b.StopWaiting()
			b.StopWaiting()
		}
	}
	if got := b.job(j.ID).Status; got != agentjobs.Active {
		t.Errorf("the job is %s", got)
	}
}

// Streams are bounded, and a client that has gone leaves its place and nothing else.
func TestManyWatchers(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	j := b.post("say hello")
	b.until("the run is held", func() bool { return len(b.git.Requests()) == 1 })
	server := b.serve()
	before := goleak.IgnoreCurrent()
	watch := func() (*http.Response, context.CancelFunc) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		return b.follow(ctx, server, j.ID), cancel
	}
	var leave []func()
	for range 64 {
		stream, cancel := watch()
		if stream.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: status %d", len(leave), stream.StatusCode)
		}
		leave = append(leave, func() { cancel(); stream.Body.Close() })
	}
	full, cancel := watch()
	text, err := io.ReadAll(full.Body)
	if err != nil {
		t.Fatal(err)
	}
	b.refused(answer{status: full.StatusCode, header: full.Header, text: string(text)}, http.StatusTooManyRequests)
	if full.Header.Get("Retry-After") != "10" {
		t.Errorf("Retry-After %q", full.Header.Get("Retry-After"))
	}
	full.Body.Close()
	cancel()
	// Without events the log is there for everyone.
	if a := b.do(http.MethodGet, "/job/"+j.ID+"/log", ""); a.status != http.StatusOK {
		t.Errorf("status %d: %s", a.status, a.text)
	}
	leave[0]()
	b.until("a place is free", func() bool {
		stream, cancel := watch()
		leave = append(leave, func() { cancel(); stream.Body.Close() })
		return stream.StatusCode == http.StatusOK
	})
	for _, f := range leave {
		f()
	}
	server.CloseClientConnections()
	server.Client().CloseIdleConnections()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
