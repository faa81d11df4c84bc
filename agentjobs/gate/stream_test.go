package gate_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs/gate"
)

// steps answers with a stream whose chunks wait for their turn.
func steps(contentType string, turn <-chan struct{}, chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		control := http.NewResponseController(w)
		_ = control.Flush()
		for _, chunk := range chunks {
			select {
			case <-turn:
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, chunk)
			_ = control.Flush()
		}
		select {
		case <-turn:
		case <-r.Context().Done():
		}
	}
}

// start sends a request and returns once its header is there.
func (a *agent) start(path, body string) *http.Response {
	a.t.Helper()
	response, err := a.Do(a.request("POST", path, body))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestAStreamPassesWhileItRuns(t *testing.T) {
	u := newUpstream(t)
	turn := make(chan struct{})
	first := "data: {\"choices\":[{\"delta\":{\"content\":\"one\"}}]}\n\n"
	second := "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":6}}\n\ndata: [DONE]\n\n"
	u.use(steps("text/event-stream", turn, first, second))
	a := open(t, u)
	response := a.start("/v1/chat/completions", chat(`"stream":true`))
	reader := bufio.NewReader(response.Body)
	turn <- struct{}{}
	// The upstream is in the middle of its answer and waits.
	if line, err := reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, `data: {"choices"`) {
		t.Fatalf("%q, %v", line, err)
	}
	turn <- struct{}{}
	close(turn)
	rest, err := io.ReadAll(reader)
	if err != nil || !strings.HasSuffix(string(rest), "[DONE]\n\n") {
		t.Fatalf("%q, %v", rest, err)
	}
	await(t, func() bool { return a.Usage().InputTokens == 5 && a.Usage().OutputTokens == 6 && !a.Usage().Estimated })
	if usage := a.Usage(); usage.Bytes != int64(len(chat(`"stream":true`))+len(first)+len(second)) {
		t.Errorf("counted %d bytes", usage.Bytes)
	}
}

// await waits until a condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not come to hold")
		}
	}
}

func TestCloseCutsAStreamThatRuns(t *testing.T) {
	u := newUpstream(t)
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	u.use(steps("text/event-stream", turn, "data: {}\n\n", "never"))
	a := open(t, u)
	response := a.start("/v1/chat/completions", chat(""))
	if _, err := io.ReadFull(response.Body, make([]byte, len("data: {}\n\n"))); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("the answer looks complete: %q", rest)
	}
	if usage := a.Usage(); usage.Requests != 1 || !usage.Estimated || usage.InputTokens == 0 {
		t.Errorf("counted %+v", usage)
	}
}

func TestCloseCutsARequestThatWaits(t *testing.T) {
	u := newUpstream(t)
	arrived := make(chan struct{})
	u.use(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	a := open(t, u)
	done := make(chan error)
	go func() {
		response, err := a.Do(a.request("POST", "/v1/chat/completions", chat("")))
		if err == nil {
			_ = response.Body.Close()
		}
		done <- err
	}()
	<-arrived
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the request was answered")
	}
}

func TestTheKeyIsNeverEchoed(t *testing.T) {
	text := `{"error":{"message":"bad key ` + realKey + `, not sk-real-`
	for split := range len(text) {
		t.Run(fmt.Sprint(split), func(t *testing.T) {
			u := newUpstream(t)
			turn := make(chan struct{}, 3)
			u.use(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Www-Authenticate", "Bearer "+realKey)
				w.Header().Set("X-Request-Id", realKey)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				for range cap(turn) {
					turn <- struct{}{}
				}
				steps("application/json", turn, text[:split], text[split:])(w, r)
			})
			a := open(t, u)
			got := a.post("/v1/chat/completions", chat(""))
			want := strings.Replace(text, realKey, strings.Repeat("*", len(realKey)), 1)
			if got.status != http.StatusUnauthorized || got.body != want || got.err != nil {
				t.Errorf("status %d: %s, %v", got.status, got.body, got.err)
			}
			if strings.Contains(fmt.Sprint(got.header), realKey) {
				t.Errorf("header %v", got.header)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := newUpstream(t)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusNotModified, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			u := newUpstream(t)
			u.use(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(status)
			})
			a := open(t, u)
			got := a.post("/v1/chat/completions", chat(""))
			got.message(t, http.StatusBadGateway)
			if location := got.header.Get("Location"); location != "" || strings.Contains(got.body, elsewhere.URL) {
				t.Errorf("the agent is told of %s: %s", location, got.body)
			}
		})
	}
	if len(elsewhere.received()) != 0 {
		t.Error("a redirect was followed")
	}
}

func TestAnEncodedAnswerIsRefused(t *testing.T) {
	u := newUpstream(t)
	u.use(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, realKey)
	})
	a := open(t, u)
	a.post("/v1/chat/completions", chat("")).message(t, http.StatusBadGateway)
}

func TestASilentUpstreamIsGivenUp(t *testing.T) {
	u := newUpstream(t)
	u.use(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := open(t, u, limits(gate.Limits{Silence: 20 * time.Millisecond}))
	a.post("/v1/chat/completions", chat("")).message(t, http.StatusGatewayTimeout)

	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	u.use(steps("text/event-stream", turn, "data: {}\n\n", "never"))
	if got := a.post("/v1/chat/completions", chat("")); got.err == nil {
		t.Errorf("an answer that stopped looks complete: %q", got.body)
	}
}

func TestAnUpstreamThatIsAwayIsNotDescribed(t *testing.T) {
	u := newUpstream(t)
	a := open(t, u)
	u.Close()
	message := a.post("/v1/chat/completions", chat("")).message(t, http.StatusBadGateway)
	if strings.Contains(message, strings.TrimPrefix(u.URL, "http://")) {
		t.Errorf("the agent is told %q", message)
	}
}
