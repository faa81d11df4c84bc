package agentjobs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs"
	"footfall/agentjobs/agent"
)

// Each line of a log is one JSON object of three fields.
func TestLogLines(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("say first\nwrite docs/new.md hello\nread-file /etc/passwd\nplan to write\nfail on purpose").ID)
	a := b.do(http.MethodGet, "/job/"+j.ID+"/log", "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/x-ndjson; charset=utf-8" ||
		a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("status %d, header %v", a.status, a.header)
	}
	if !strings.HasSuffix(a.text, "\n") {
		t.Error("the last line has no end")
	}
	var last time.Time
	seen := make(map[string]bool)
	for line := range strings.Lines(a.text) {
		var fields map[string]string
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		when, err := time.Parse(time.RFC3339Nano, fields["time"])
		if err != nil || !strings.HasSuffix(fields["time"], "Z") || when.Before(last) {
			t.Errorf("time %q after %v: %v", fields["time"], last, err)
		}
		if len(fields) != 3 || fields["text"] == "" {
			t.Errorf("a line is %s", line)
		}
		last = when
		seen[fields["kind"]] = true
	}
	for _, kind := range []string{"message", "tool", "diff", "status", "error"} {
		if !seen[kind] {
			t.Errorf("no line is of kind %s:\n%s", kind, a.text)
		}
		delete(seen, kind)
	}
	if len(seen) > 0 {
		t.Errorf("there are lines of the kinds %v", seen)
	}
}

// What follows a line is what a reader gets who has seen it, wherever it stands in a
// long log.
func TestLogAfter(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	// Some 600 KB: more than is read at once.
	j := b.await(b.post(strings.Repeat("shell head -c 4000 /dev/zero | tr '\\0' x\n", 150)).ID)
	all := b.lines(j.ID)
	if len(all) < 200 {
		t.Fatalf("the log has %d lines", len(all))
	}
	for _, after := range []int{0, 1, len(all) / 2, len(all) - 2, len(all) - 1, len(all), 1 << 30} {
		want := all[min(after+1, len(all)):]
		for name, got := range map[string][]agentjobs.Line{
			"lines":  b.linesAfter(j.ID, after),
			"events": b.eventsAfter(j.ID, after),
		} {
			if !slices.Equal(got, want) {
				t.Errorf("%s after %d: %d of them, want %d", name, after, len(got), len(want))
			}
		}
	}
	for _, wrong := range []string{"", "-1", "x", "1.5", "4294967296", "1&after=2"} {
		if a := b.do(http.MethodGet, "/job/"+j.ID+"/log?after="+wrong, ""); a.status != http.StatusBadRequest || !strings.Contains(a.text, "after") {
			t.Errorf("after=%s: status %d, %s", wrong, a.status, a.text)
		}
		if wrong == "" || strings.Contains(wrong, "&") {
			continue
		}
		a := b.do(http.MethodGet, "/job/"+j.ID+"/log", "", "Accept", "text/event-stream", "Last-Event-ID", wrong)
		if a.status != http.StatusBadRequest || !strings.Contains(a.text, "Last-Event-ID") {
			t.Errorf("Last-Event-ID %s: status %d, %s", wrong, a.status, a.text)
		}
	}
}

func (b *bench) linesAfter(id string, after int) (lines []agentjobs.Line) {
	b.t.Helper()
	a := b.do(http.MethodGet, fmt.Sprintf("/job/%s/log?after=%d", id, after), "")
	if a.status != http.StatusOK {
		b.t.Fatalf("status %d: %s", a.status, a.text)
	}
	for text := range strings.Lines(a.text) {
		lines = append(lines, line(b.t, text))
	}
	return lines
}

// eventsAfter returns the lines that a stream of a job that has ended begins with.
func (b *bench) eventsAfter(id string, after int) (lines []agentjobs.Line) {
	b.t.Helper()
	a := b.do(http.MethodGet, "/job/"+id+"/log", "", "Accept", "text/event-stream", "Last-Event-ID", fmt.Sprint(after))
	if a.status != http.StatusOK {
		b.t.Fatalf("status %d: %s", a.status, a.text)
	}
	events := parseEvents(b.t, strings.NewReader(a.text))
	for e := range events {
		if e.kind == "" {
			lines = append(lines, line(b.t, e.data))
		}
	}
	return lines
}

func line(t *testing.T, text string) (l agentjobs.Line) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return l
}

// A log is bounded, and still says how the run ended: also where what the agent says
// is longer as JSON than as text.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 88 << 10
	for name, prompt := range map[string]string{
		"message": strings.Repeat("shell head -c 4000 /dev/zero | tr '\\0' x\n", 30) + "fail on purpose",
		"escaped": strings.Repeat("shell head -c 4000 /dev/zero | tr '\\0' '<'\n", 30) + "fail on purpose",
		"diff":    "shell yes '<<<<<<<<' | head -c 20000 > docs/new.md",
		"stderr":  "shell yes '<<<<<<<<' | head -c 20000 > /proc/$PPID/fd/2\nfail on purpose",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(o *agentjobs.Options) { o.LogBytes = limit })
			j := b.await(b.post(prompt).ID)
			if size := len(b.do(http.MethodGet, "/job/"+j.ID+"/log", "").text); size > limit {
				t.Errorf("the log has %d bytes, %d are allowed", size, limit)
			}
			kind, end := agent.KindStatus, "The run ended well."
			if strings.HasSuffix(prompt, "fail on purpose") {
				kind, end = agent.KindError, "The run failed: the agent failed: Internal error"
			}
			lines := b.lines(j.ID)
			if last := lines[len(lines)-1]; last.Kind != kind || !strings.HasPrefix(last.Text, end) {
				t.Errorf("the log ends with %s %.100q", last.Kind, last.Text)
			}
			full := func(l agentjobs.Line) bool { return strings.HasPrefix(l.Text, "The log is full.") }
			if !slices.ContainsFunc(lines, full) && name != "diff" && name != "stderr" {
				t.Error("the log does not say that it is full")
			}
		})
	}
}
