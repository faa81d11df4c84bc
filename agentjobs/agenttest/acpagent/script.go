package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// do does one line. An error ends the turn with it.
func (t *turn) do(ctx context.Context, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.ReplaceAll(strings.TrimSpace(rest), `\n`, "\n")
	switch verb {
	case "say":
		return t.say(ctx, rest)
	case "think":
		return t.update(ctx, acp.UpdateAgentThoughtText(rest))
	case "plan":
		return t.update(ctx, acp.UpdatePlan(acp.PlanEntry{
			Content: rest, Priority: acp.PlanEntryPriorityMedium, Status: acp.PlanEntryStatusPending,
		}))
	case "write", "append", "delete", "link", "mkdir":
		return t.change(ctx, verb, rest)
	case "run":
		return t.run(ctx, line, strings.Fields(rest))
	case "shell":
		return t.run(ctx, line, []string{"sh", "-c", rest})
	case "env":
		return t.say(ctx, rest+"="+os.Getenv(rest))
	case "model":
		return t.say(ctx, askModel(ctx, rest))
	case "http":
		return t.say(ctx, get(ctx, rest))
	case "current-model":
		return t.say(ctx, t.session.Model)
	case "remember":
		t.session.Remembered = append(t.session.Remembered, rest)
		return nil
	case "recall":
		return t.say(ctx, "remembered: "+strings.Join(t.session.Remembered, ", "))
	case "ask-permission":
		return t.askPermission(ctx, rest)
	case "read-file":
		return t.callFiles(ctx, rest)
	case "terminal":
		return t.callTerminal(ctx)
	case "usage":
		return t.setUsage(rest)
	case "stop":
		t.end(acp.StopReason(rest))
		return nil
	case "refuse":
		t.end(acp.StopReasonRefusal)
		return nil
	case "fail":
		return acp.NewInternalError(map[string]any{"details": rest})
	default:
		return t.misbehave(ctx, verb, rest, line)
	}
}

func (t *turn) setUsage(rest string) error {
	input, output, _ := strings.Cut(rest, " ")
	in, err1 := strconv.Atoi(input)
	out, err2 := strconv.Atoi(output)
	t.usage = &acp.Usage{InputTokens: in, OutputTokens: out, TotalTokens: in + out}
	return errors.Join(err1, err2)
}

// misbehave does what no good agent would; or says the line back.
func (t *turn) misbehave(ctx context.Context, verb, rest, line string) error {
	switch verb {
	case "wait-cancel":
		<-ctx.Done()
		t.end(acp.StopReasonCancelled)
		return nil
	case "hang":
		for {
			time.Sleep(time.Hour)
		}
	case "spam-line":
		_, err := t.agent.out.Write([]byte("this is no JSON {\n"))
		return err
	case "exit", "flood", "stdout-bytes", "long-line", "stderr-bytes":
	default:
		return t.say(ctx, line)
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return err
	}
	switch verb {
	case "exit":
		os.Exit(n)
	case "flood":
		for range n {
			if err := t.update(ctx, acp.UpdateAgentMessageText("x")); err != nil {
				return err
			}
		}
	case "stdout-bytes":
		return repeat(n, append(bytes.Repeat([]byte("x"), 1023), '\n'), t.agent.out.Write)
	case "long-line":
		return repeat(n, bytes.Repeat([]byte("x"), 1024), t.agent.out.Write)
	case "stderr-bytes":
		return repeat(n, append(bytes.Repeat([]byte("x"), 1023), '\n'), os.Stderr.Write)
	}
	return nil
}

// repeat writes n bytes, a piece again and again.
func repeat(n int, piece []byte, write func([]byte) (int, error)) error {
	for n > 0 {
		piece = piece[:min(len(piece), n)]
		if _, err := write(piece); err != nil {
			return err
		}
		n -= len(piece)
	}
	return nil
}
