package agent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"
)

// tellAll has a narrator tell of updates, and returns the events.
func tellAll(updates ...acp.SessionUpdate) ([]Event, string) {
	var events []Event
	n := newNarrator("/tree", func(e Event) { events = append(events, e) })
	for _, u := range updates {
		n.update(u)
	}
	n.close()
	return events, n.message()
}

// TestJoins has messages in pieces: events have whole lines, or are long.
func TestJoins(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for _, c := range []struct {
		pieces  []string
		want    []string
		message string
	}{
		{[]string{"I ", "will", " do it."}, []string{"I will do it."}, "I will do it."},
		{[]string{"one\ntw", "o\n\nthree"}, []string{"one", "two", "three"}, "one\ntwo\n\nthree"},
		{[]string{"\n", " ", "\n\n"}, nil, ""},
		{[]string{"a\x00\u0085b"}, []string{"ab"}, "ab"},
		{[]string{"a\xff"}, []string{"a\ufffd"}, "a\ufffd"},
		{[]string{"x" + long}, []string{"x" + long[:4094], long[4094:8190], long[8190:]}, "x" + long[:4088] + cut},
		{[]string{"x", long}, []string{"x" + long[:4094], long[4094:8190], long[8190:]}, "x" + long[:4088] + cut},
	} {
		var updates []acp.SessionUpdate
		for _, piece := range c.pieces {
			updates = append(updates, acp.UpdateAgentMessageText(piece))
		}
		events, message := tellAll(updates...)
		var got []string
		for _, e := range events {
			got = append(got, e.Text)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || message != c.message {
			t.Errorf("%.60q: %.200q, message %.60q (%d bytes)", c.pieces, got, message, len(message))
		}
	}
}

// TestLastMessage has messages after another: what comes between them ends one.
func TestLastMessage(t *testing.T) {
	for name, between := range map[string]acp.SessionUpdate{
		"a thought": acp.UpdateAgentThoughtText("hm"),
		"a call":    acp.StartToolCall("1", "t"),
		"a plan":    acp.UpdatePlan(),
		"an id": {AgentMessageChunk: &acp.SessionUpdateAgentMessageChunk{
			Content: acp.TextBlock(""), MessageId: acp.Ptr("2"),
		}},
	} {
		if _, message := tellAll(acp.UpdateAgentMessageText("first"), between, acp.UpdateAgentMessageText("last")); message != "last" {
			t.Errorf("%s: %q", name, message)
		}
		if _, message := tellAll(acp.UpdateAgentMessageText("first"), between); message != "first" {
			t.Errorf("nothing after %s: %q", name, message)
		}
	}
}

// TestToolCalls has calls as opencode and codex tell of them.
func TestToolCalls(t *testing.T) {
	diff := []acp.ToolCallContent{acp.ToolDiffContent("/tree/a.md", "1\n2\nthree\n4\n", "1\n2\n3\n4\n")}
	done := acp.WithUpdateStatus(acp.ToolCallStatusCompleted)
	for _, c := range []struct {
		name    string
		updates []acp.SessionUpdate
		want    string
	}{
		{"a title that changes", []acp.SessionUpdate{
			acp.StartToolCall("1", "edit", acp.WithStartKind(acp.ToolKindEdit)),
			acp.UpdateToolCall("1", acp.WithUpdateStatus(acp.ToolCallStatusInProgress)),
			acp.UpdateToolCall("1", done, acp.WithUpdateTitle("a.md"), acp.WithUpdateContent(diff)),
			acp.UpdateToolCall("1", done), // again
		}, "tool edit (edit)\ntool edit a.md: completed\ndiff a.md: +1 -1\n-3\n+three"},
		{"a diff at the start", []acp.SessionUpdate{
			acp.StartToolCall("1", "patch", acp.WithStartContent(diff), acp.WithStartLocations([]acp.ToolCallLocation{{Path: "/tree/a.md"}})),
			acp.UpdateToolCall("1", done),
		}, "tool patch a.md\ntool patch: completed\ndiff a.md: +1 -1\n-3\n+three"},
		{"a change that failed", []acp.SessionUpdate{
			acp.StartToolCall("1", "patch", acp.WithStartContent(diff)),
			acp.UpdateToolCall("1", acp.WithUpdateStatus(acp.ToolCallStatusFailed)),
		}, "tool patch\ntool patch: failed"},
		{"all at once", []acp.SessionUpdate{
			acp.StartToolCall("1", "read\x1b", acp.WithStartStatus(acp.ToolCallStatusCompleted)),
		}, "tool read\ntool read: completed"},
		{"an end without a start", []acp.SessionUpdate{acp.UpdateToolCall("1", done)}, ""},
	} {
		events, _ := tellAll(c.updates...)
		var got []string
		for _, e := range events {
			got = append(got, string(e.Kind)+" "+e.Text)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s:\n%s", c.name, strings.Join(got, "\n"))
		}
	}
}

// TestManyCalls has more calls begin than are kept.
func TestManyCalls(t *testing.T) {
	n := newNarrator("/tree", func(Event) {})
	for i := range 2 * maxOpenTools {
		n.update(acp.StartToolCall(acp.ToolCallId(fmt.Sprint(i)), "t"))
	}
	if len(n.tools) != maxOpenTools {
		t.Errorf("%d calls are kept", len(n.tools))
	}
}

func TestDescribe(t *testing.T) {
	huge := strings.Repeat(strings.Repeat("é\x1b", 500)+"\n", 2000)
	for _, c := range []struct {
		old  *string
		now  string
		want string
	}{
		{nil, "a\nb\n", "f: +2 -0\n+a\n+b"},
		{acp.Ptr("a\nb\n"), "", "f: +0 -2\n-a\n-b"},
		{acp.Ptr("a\n"), "a\n", "f: +0 -0"},
		{acp.Ptr("a\nb\nc\n"), "a\nc\n", "f: +0 -1\n-b"},
		{acp.Ptr("a\na\n"), "a\n", "f: +0 -1\n-a"},
	} {
		if got := describe("f", c.old, c.now); got != c.want {
			t.Errorf("%q", got)
		}
	}
	if got := describe("f", &huge, "x"+huge); len(got) > MaxEventText || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x00b\xffc\r\n\t", 6)
	f.Add(strings.Repeat("\xff", 100), 20)
	f.Add(strings.Repeat("\x80", 100), 8)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(len(cut), limit%5000)
		got := clean(text, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("clean(%q, %d) is %q", text, limit, got)
		}
		if again := clean(got, limit); again != got {
			t.Errorf("%q, again %q", got, again)
		}
		if utf8.ValidString(text) && len(text) <= limit && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }) && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
