package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs/agent"
)

// TestTurns has what turns end with, and what is told of them.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name, prompt string
		want         error
		stop         string
		message      string
		events       string
	}{
		{name: "words", prompt: "Fix the typo.", stop: "end_turn", message: "Fix the typo.", events: "message: Fix the typo."},
		{name: "lines", prompt: `say one\ntwo`, stop: "end_turn", message: "one\ntwo", events: "message: one|two"},
		{name: "control characters", prompt: "say a\x1b[31mb\x00c\td", stop: "end_turn", message: "a[31mbc\td", events: "message: a[31mbc\td"},
		{name: "a thought", prompt: "think hm\nsay so", stop: "end_turn", message: "so", events: "message: so"},
		{name: "a plan", prompt: "plan look around", stop: "end_turn", events: "status: plan:|- pending: look around"},
		{
			name: "an edit", prompt: "say first\nwrite a.md new\nsay last", stop: "end_turn", message: "last",
			events: "message: first\ntool: write a.md (edit)\ntool: write a.md: completed\ndiff: a.md: +1 -1|-old|+new\nmessage: last",
		},
		{name: "a failed call", prompt: "run false", stop: "end_turn", message: "failed: exit status 1\noutput:",
			events: "tool: run false (execute)\ntool: run false: failed\nmessage: failed: exit status 1\nmessage: output:"},
		{name: "files", prompt: "read-file /etc/passwd", stop: "end_turn",
			message: `file refused: {"code":-32601,"message":"Method not found","data":{"method":"fs/read_text_file"}}`,
			events: "error: refused: the agent called fs/read_text_file, which it was not offered\n" +
				`message: file refused: {"code":-32601,"message":"Method not found","data":{"method":"fs/read_text_file"}}`},
		{name: "a terminal", prompt: "terminal", stop: "end_turn",
			message: `terminal refused: {"code":-32601,"message":"Method not found","data":{"method":"terminal/create"}}`,
			events: "error: refused: the agent called terminal/create, which it was not offered\n" +
				`message: terminal refused: {"code":-32601,"message":"Method not found","data":{"method":"terminal/create"}}`},
		{name: "permission", prompt: "say a\nask-permission b.md\nsay c", stop: "end_turn", message: "permission: once\nc",
			events: "message: a\ntool: allowed: edit b.md\nmessage: permission: once\nmessage: c"},
		{name: "no permission", prompt: "ask-permission ../b.md", stop: "end_turn", message: "permission: no",
			events: "tool: not allowed: edit ../b.md: ../b.md is not in the work tree\nmessage: permission: no"},
		{name: "noise", prompt: "spam-line\nsay on", stop: "end_turn", message: "on", events: "message: on"},
		{name: "refusal", prompt: "say no\nrefuse", want: agent.ErrRefused, stop: "refusal", message: "no", events: "message: no"},
		{name: "tokens", prompt: "stop max_tokens", want: agent.ErrMaxTokens, stop: "max_tokens"},
		{name: "requests", prompt: "stop max_turn_requests", want: agent.ErrMaxTurnRequests, stop: "max_turn_requests"},
		{name: "cancelled by itself", prompt: "stop cancelled", want: agent.ErrStopped, stop: "cancelled"},
		{name: "a reason of its own", prompt: "stop tired", want: agent.ErrStopped, stop: "tired"},
		{name: "its end", prompt: "say bye\nexit 0", want: agent.ErrEnded, message: "bye", events: "message: bye"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			check(t, os.WriteFile(filepath.Join(p.tree, "a.md"), []byte("old\n"), 0o600))
			o := p.start(t)
			o.Prompt = c.prompt
			result, seen, err := run(t, t.Context(), o)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if result.SessionID == "" || result.Resumed || result.StopReason != c.stop || result.Message != c.message || result.Usage != nil {
				t.Errorf("result %+v", result)
			}
			if got := seen.String(); got != c.events {
				t.Errorf("events\n%s\nwant\n%s", got, c.events)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	o := newPlace(t).start(t)
	o.Prompt = "usage 120 34"
	result, _, err := run(t, t.Context(), o)
	check(t, err)
	if result.Usage == nil || *result.Usage != (agent.Usage{Input: 120, Output: 34}) {
		t.Errorf("usage %+v", result.Usage)
	}
}

// TestAgentError has an agent's own words in the error, made harmless.
func TestAgentError(t *testing.T) {
	o := newPlace(t).start(t)
	o.Prompt = "fail no\x1b money " + strings.Repeat("é", 2000)
	result, _, err := run(t, t.Context(), o)
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Code != -32603 || !strings.Contains(failed.Text, `money`) || len(failed.Text) > 1024 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error %v", err)
	}
	if result.SessionID == "" {
		t.Error("no session id beside the error")
	}
}

// TestBeginnings has the agents that no session can be begun with.
func TestBeginnings(t *testing.T) {
	for flag, text := range map[string]string{
		"-auth":       "login",
		"-protocol=2": "version 2",
		"-mute":       "did not answer within 300ms",
	} {
		t.Run(flag, func(t *testing.T) {
			o := newPlace(t).start(t, flag)
			o.StartTimeout = 300 * time.Millisecond
			if flag != "-mute" {
				o.StartTimeout = 0
			}
			result, seen, err := run(t, t.Context(), o)
			if !errors.Is(err, agent.ErrProtocol) || !strings.Contains(err.Error(), text) {
				t.Errorf("error %v", err)
			}
			if result != (agent.Result{}) || seen.String() != "" {
				t.Errorf("result %+v, events %s", result, seen)
			}
		})
	}
}

// TestResume has a second run go on with the first one's session.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		name    string
		flags   []string
		session string // in the place of the first run's
		resumed bool
		events  string
	}{
		{name: "loaded", resumed: true, events: "message: remembered: the answer"},
		{name: "cannot load", flags: []string{"-no-load"}, events: "message: Earlier: something.\nmessage: remembered:"},
		{name: "forgotten", session: "session-nobody-knows", events: "message: Earlier: something.\nmessage: remembered:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			o := p.start(t, c.flags...)
			o.Prompt = "remember the answer\nsay kept"
			first, seen, err := run(t, t.Context(), o)
			check(t, err)
			if seen.String() != "message: kept" {
				t.Errorf("first events %s", seen)
			}
			o = p.start(t, c.flags...)
			o.SessionID, o.Summary, o.Prompt = first.SessionID, "Earlier: something.", "recall"
			if c.session != "" {
				o.SessionID = c.session
			}
			second, seen, err := run(t, t.Context(), o)
			check(t, err)
			if second.Resumed != c.resumed || (second.SessionID == first.SessionID) != c.resumed {
				t.Errorf("first %+v, second %+v", first, second)
			}
			// The history that loading repeats is not told again.
			if got := seen.String(); got != c.events {
				t.Errorf("events\n%s\nwant\n%s", got, c.events)
			}
		})
	}
}

func TestModel(t *testing.T) {
	for _, c := range []struct{ name, models, model, want string }{
		{"chosen", "p/one,p/two", "two", "p/two"},
		{"set already", "p/one,p/two", "one", "p/one"},
		{"not offered", "p/one,p/two", "three", "p/one"},
		{"nothing offered", "", "two", ""},
		{"no wish", "p/one,p/two", "", "p/one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newPlace(t).start(t, "-models="+c.models)
			o.Model, o.Prompt = c.model, "current-model"
			result, _, err := run(t, t.Context(), o)
			check(t, err)
			if result.Message != c.want {
				t.Errorf("the model is %q, want %q", result.Message, c.want)
			}
		})
	}
}

// TestCancel has runs given up in the middle of a turn.
func TestCancel(t *testing.T) {
	for _, c := range []struct {
		prompt string
		stop   string
	}{
		{"say on\nwait-cancel", "cancelled"}, // heeds it
		{"say on\nhang", ""},                 // does not
	} {
		t.Run(c.prompt, func(t *testing.T) {
			o := newPlace(t).start(t, "-ignore-eof")
			o.Prompt = c.prompt
			o.CancelGrace = 100 * time.Millisecond
			if c.stop != "" {
				o.CancelGrace = time.Minute // not waited out
			}
			seen := newEvents(t)
			o.Event = seen.add
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			why := errors.New("someone cancelled the job")
			go func() {
				<-seen.seen
				cancel(why)
			}()
			result, _, err := run(t, ctx, o)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
				t.Errorf("error %v", err)
			}
			if result.SessionID == "" || result.StopReason != c.stop || result.Message != "on" {
				t.Errorf("result %+v", result)
			}
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := newPlace(t).start(t)
	if _, _, err := run(t, ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := o.Stdin.Write([]byte("x")); err == nil {
		t.Error("the input is open")
	}
}

func TestCancelledInTheBeginning(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	o := newPlace(t).start(t, "-mute")
	result, _, err := run(t, ctx, o)
	if !errors.Is(err, context.DeadlineExceeded) || result.SessionID != "" {
		t.Errorf("result %+v, error %v", result, err)
	}
}
