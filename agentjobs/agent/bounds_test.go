package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"footfall/agentjobs/agent"
)

func TestIdle(t *testing.T) {
	for _, prompt := range []string{"say on\nhang", "say on\nwait-cancel"} {
		o := newPlace(t).start(t)
		o.Prompt = prompt
		o.IdleTimeout, o.CancelGrace = 700*time.Millisecond, 100*time.Millisecond
		result, seen, err := run(t, t.Context(), o)
		if !errors.Is(err, agent.ErrIdle) || result.SessionID == "" || seen.String() != "message: on" {
			t.Errorf("%s: result %+v, error %v, events %s", prompt, result, err, seen)
		}
	}
}

// TestBusy has an agent that takes longer than the idle time, with a sign of life
// in between.
func TestBusy(t *testing.T) {
	o := newPlace(t).start(t)
	o.Prompt = strings.Repeat("run sleep 0.2\n", 8)
	o.IdleTimeout = time.Second
	if _, _, err := run(t, t.Context(), o); err != nil {
		t.Error(err)
	}
}

func TestOutput(t *testing.T) {
	for _, c := range []struct {
		prompt string
		limit  int64
		want   error
	}{
		{"stdout-bytes 2000000\nsay on", 1 << 20, agent.ErrOutput},
		{"stdout-bytes 2000000\nsay on", 4 << 20, nil},
		{"stdout-bytes 2000000\nhang", 1 << 20, agent.ErrOutput},
		{"long-line 2000000\nhang", 1 << 20, agent.ErrOutput},
		{fmt.Sprintf("long-line %d\nsay on", agent.MaxLine+1), 0, agent.ErrOutput},
		{"long-line 100000000000", 0, agent.ErrOutput},
		{"stderr-bytes 10\nsay on", 0, nil},
	} {
		o := newPlace(t).start(t)
		o.Prompt, o.OutputBytes = c.prompt, c.limit
		result, _, err := run(t, t.Context(), o)
		if !errors.Is(err, c.want) || result.SessionID == "" {
			t.Errorf("%s: result %+v, error %v", c.prompt, result, err)
		}
	}
}

// TestFlood has far more updates at once than the library queues before it gives
// up: none is lost, and they are joined.
func TestFlood(t *testing.T) {
	const updates = 100_000
	o := newPlace(t).start(t)
	o.Prompt = fmt.Sprintf("flood %d", updates)
	_, seen, err := run(t, t.Context(), o)
	check(t, err)
	var letters int
	for _, event := range seen.all {
		letters += strings.Count(event.Text, "x")
	}
	if letters != updates || len(seen.all) > updates/1000 {
		t.Errorf("%d letters in %d events", letters, len(seen.all))
	}
}

// TestSlowListener has the same where whoever takes the events is slow to begin
// with: the agent waits.
func TestSlowListener(t *testing.T) {
	o := newPlace(t).start(t)
	o.Prompt = strings.Repeat("say x\n", 5000)
	var n int
	o.Event = func(agent.Event) {
		if n++; n < 20 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	_, _, err := run(t, t.Context(), o)
	check(t, err)
	if n != 5000 {
		t.Errorf("%d events", n)
	}
}

// TestAsksWithoutReading has an agent that sends requests and never reads the
// answers: they neither pile up, nor hold Run.
func TestAsksWithoutReading(t *testing.T) {
	var most atomic.Int64
	o := newPuppet(t, func(p puppet, _ string) {
		for i := range 100_000 {
			if p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"fs/read_text_file","params":{}}`, i)) != nil {
				return
			}
			most.Store(max(most.Load(), int64(runtime.NumGoroutine())))
		}
	})
	o.IdleTimeout, o.CancelGrace = 200*time.Millisecond, 50*time.Millisecond
	_, _, err := run(t, t.Context(), o)
	if !errors.Is(err, agent.ErrIdle) {
		t.Errorf("error %v", err)
	}
	if n := most.Load(); n == 0 || n > 100 {
		t.Errorf("%d goroutines", n)
	}
}

// TestAnswersAndEnds has an agent that ends right behind its answer, which must not
// be lost: the call for it has not begun to wait when both are there.
func TestAnswersAndEnds(t *testing.T) {
	for range 100 {
		a := &hasty{lines: make(chan string), ended: make(chan struct{})}
		result, _, err := run(t, t.Context(), agent.Options{Stdin: a, Stdout: a, Tree: "/tree", Prompt: "go"})
		if err != nil || result.StopReason != "end_turn" {
			t.Fatalf("result %+v, error %v", result, err)
		}
	}
}

// hasty is an agent that answers while it is still being asked. It ends with the
// answer to the prompt.
type hasty struct {
	lines chan string   // closed behind the last
	ended chan struct{} // closed when the end was read
	rest  string
}

func (a *hasty) Write(b []byte) (int, error) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return 0, err
	}
	result := map[string]string{
		"initialize":     `{"protocolVersion":1}`,
		"session/new":    `{"sessionId":"s"}`,
		"session/prompt": `{"stopReason":"end_turn"}`,
	}[m.Method]
	a.lines <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + "}\n"
	if m.Method == "session/prompt" {
		close(a.lines)
		<-a.ended
	}
	return len(b), nil
}

func (a *hasty) Read(b []byte) (int, error) {
	if a.rest == "" {
		line, ok := <-a.lines
		if !ok {
			close(a.ended)
			return 0, io.EOF
		}
		a.rest = line
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

func (a *hasty) Close() error { return nil }

// TestWhatIsNotOurs has messages that must not be told: of other sessions, of
// unknown kinds, and answers to nothing.
func TestWhatIsNotOurs(t *testing.T) {
	o := newPuppet(t, func(p puppet, id string) {
		for _, line := range []string{
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"no"}}}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"of_tomorrow","x":1}}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":7}`,
			`{"jsonrpc":"2.0","method":"session/update"}`,
			`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`,
			`{"jsonrpc":"2.0","id":77,"result":{}}`,
			`{"jsonrpc":"2.0"}`,
			`[]`,
			`null`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"yes"}}}}`,
		} {
			_ = p.send(line)
		}
		_ = p.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"stopReason":"end_turn"}}`)
	})
	_, seen, err := run(t, t.Context(), o)
	check(t, err)
	if seen.String() != "message: yes" {
		t.Errorf("events %s", seen)
	}
}

// FuzzOutput has any bytes from the agent, before a session and in the turn: Run
// neither panics nor hangs, and what it tells is fit for a log.
func FuzzOutput(f *testing.F) {
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}` + "\n"
	}
	f.Add([]byte("no JSON\n{}\n[]\nnull\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"login\u0000"}}` + "\n"))
	f.Add([]byte(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\u001b\ud800b\n"}}`)))
	f.Add([]byte(update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"t","status":"completed","content":[{"type":"diff","path":"/tree/a","newText":"x"}]}`)))
	f.Add([]byte(update(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed"}`) + update(`{"sessionUpdate":"plan","entries":[{}]}`)))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"method":"session/request_permission","params":{"options":[],"sessionId":"s","toolCall":{}}}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"options":[],"sessionId":"s","toolCall":{"toolCallId":"1","rawInput":{"a":[{"path":["/x"]}]}}}}` + "\n"))
	f.Fuzz(func(t *testing.T, output []byte) {
		turn := newPuppet(t, func(p puppet, _ string) { _, _ = p.out.Write(output) })
		turn.IdleTimeout, turn.CancelGrace = 100*time.Millisecond, 10*time.Millisecond
		_, _, _ = run(t, t.Context(), turn)

		begin := agent.Options{Stdin: discard{}, Stdout: strings.NewReader(string(output)), Tree: "/tree"}
		begin.StartTimeout, begin.CancelGrace = 100*time.Millisecond, 10*time.Millisecond
		_, _, _ = run(t, t.Context(), begin)
	})
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

var _ io.WriteCloser = discard{}
