package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"

	"footfall/agentjobs/agent"
)

// acpagent is the path of the agent for tests.
var acpagent string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "acpagent")
	if err != nil {
		panic(err)
	}
	acpagent = filepath.Join(dir, "acpagent")
	build := exec.Command("go", "build", "-o", acpagent, "footfall/agentjobs/agenttest/acpagent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("building the agent for tests: %v\n%s", err, out))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// place is where agents of one test work, one after the other.
type place struct{ tree, home string }

func newPlace(t *testing.T) place {
	t.Helper()
	return place{tree: t.TempDir(), home: t.TempDir()}
}

// start starts the agent for tests. It is killed when the test ends.
func (p place) start(t *testing.T, arguments ...string) agent.Options {
	t.Helper()
	cmd := exec.Command(acpagent, arguments...)
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	cmd.Dir = p.tree
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return agent.Options{Stdin: stdin, Stdout: stdout, Tree: p.tree}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// events collects events, and checks what holds for each.
type events struct {
	t      testing.TB
	mu     sync.Mutex
	all    []agent.Event
	closed bool
	seen   chan struct{} // gets a token with the first event
}

func newEvents(t testing.TB) *events { return &events{t: t, seen: make(chan struct{}, 1)} }

func (e *events) add(event agent.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		e.t.Errorf("an event after the run: %q", event)
	case len(event.Text) > agent.MaxEventText:
		e.t.Errorf("an event of %d bytes", len(event.Text))
	case !utf8.ValidString(event.Text):
		e.t.Errorf("an event that is no UTF-8: %q", event.Text)
	case strings.ContainsFunc(event.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		e.t.Errorf("an event with control characters: %q", event.Text)
	}
	e.all = append(e.all, event)
	select {
	case e.seen <- struct{}{}:
	default:
	}
}

// String lists the events, one a line.
func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, event := range e.all {
		lines = append(lines, string(event.Kind)+": "+strings.ReplaceAll(event.Text, "\n", "|"))
	}
	return strings.Join(lines, "\n")
}

// run runs the prompt, and sees that it does not take for ever.
func run(t testing.TB, ctx context.Context, o agent.Options) (agent.Result, *events, error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("the test's time is over"))
	defer cancel()
	seen := newEvents(t)
	if o.Event == nil {
		o.Event = seen.add
	}
	result, err := agent.Run(ctx, o)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	seen.closed = true
	if len(result.Message) > agent.MaxMessage || !utf8.ValidString(result.Message) {
		t.Errorf("the message is not fit: %d bytes", len(result.Message))
	}
	return result, seen, err
}

// puppet is an agent in this process: it answers as far as the prompt, and then
// does what the test says.
type puppet struct {
	in  *bufio.Scanner // what it was sent
	out io.Writer
}

// send writes a line.
func (p puppet) send(line string) error {
	_, err := io.WriteString(p.out, line+"\n")
	return err
}

// receive reads messages up to the next one with the method, and returns its id.
func (p puppet) receive(method string) (string, error) {
	for p.in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(p.in.Bytes(), &m); err != nil {
			return "", err
		}
		if m.Method == method {
			return string(m.ID), nil
		}
	}
	return "", io.EOF
}

// newPuppet starts a puppet. after is called when the prompt came, with its id;
// the connection ends when it returns.
func newPuppet(t testing.TB, after func(p puppet, id string)) agent.Options {
	fromUs, toAgent := io.Pipe()
	fromAgent, toUs := io.Pipe()
	var done sync.WaitGroup
	done.Go(func() {
		defer toUs.Close()
		p := puppet{in: bufio.NewScanner(fromUs), out: toUs}
		for _, answer := range []struct{ method, result string }{
			{"initialize", `{"protocolVersion":1,"agentCapabilities":{}}`},
			{"session/new", `{"sessionId":"s"}`},
		} {
			id, err := p.receive(answer.method)
			if err != nil || p.send(`{"jsonrpc":"2.0","id":`+id+`,"result":`+answer.result+`}`) != nil {
				return
			}
		}
		id, err := p.receive("session/prompt")
		if err != nil {
			return
		}
		after(p, id)
	})
	t.Cleanup(func() {
		_ = fromAgent.Close()
		_ = fromUs.Close()
		done.Wait()
	})
	return agent.Options{Stdin: toAgent, Stdout: fromAgent, Tree: "/tree", Prompt: "go"}
}
