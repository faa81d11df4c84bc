package agentjobs_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"footfall/agentjobs"
)

// running reports whether a process has a word among its arguments.
func running(t *testing.T, word string) bool {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && bytes.Contains(text, []byte(word)) // Else it has ended.
	})
}

// Cancelling ends the run with all its processes, also of an agent that does not heed it.
func TestCancelEndsProcesses(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	// The word stands in the arguments of a process that the agent leaves behind.
	word := "7319." + b.post("say for its ID alone").ID[:8]
	word = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'f' {
			return '0' + r - 'a'
		}
		return r
	}, word)
	j := b.post("shell setsid sleep " + word + " >/dev/null 2>&1 &\nsay left behind\nhang")
	b.until("the agent hangs", func() bool { return b.said(j.ID, "left behind") && running(t, word) })
	b.message(j.ID, "say discarded")
	if told := b.want(b.do(http.MethodPost, "/job/"+j.ID+"/cancel", ""), http.StatusOK); told.Status != agentjobs.Failed || reason(told) != "the job was cancelled" {
		t.Errorf("the job is %+v: %s", told, reason(told))
	}
	b.until("the processes have ended", func() bool { return !running(t, word) })
	b.until("the log says so", func() bool { return b.said(j.ID, "The run failed: the job was cancelled") })
	if b.said(j.ID, "discarded") {
		t.Error("a message that waited ran")
	}
	for _, name := range b.copies() {
		if strings.HasSuffix(name, ".sock") {
			t.Errorf("the way to the model is still there: %s", name)
		}
	}
}

// A message right after cancel waits until the former run has ended: it finds nothing
// of it, and never runs beside it.
func TestMessageAfterCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.post("write docs/old.md old\nshell touch $HOME/busy\nsay at work\nhang")
	b.until("the agent works", func() bool { return b.said(j.ID, "at work") })
	b.want(b.do(http.MethodPost, "/job/"+j.ID+"/cancel", ""), http.StatusOK)
	if told := b.message(j.ID, "write docs/new.md new"); told.Status != agentjobs.Active || reason(told) != "" || told.Messages != 2 {
		t.Errorf("the job is %+v: %s", told, reason(told))
	}
	if j = b.await(j.ID); j.Status != agentjobs.Completed {
		t.Fatalf("the job ended as %+v: %s", j, reason(j))
	}
	if files := b.git.Files(repository, j.Source.Ref); !slices.Contains(files, "docs/new.md") || slices.Contains(files, "docs/old.md") {
		t.Errorf("the branch has %q", files)
	}
	var order []string
	for _, l := range b.lines(j.ID) {
		for _, text := range []string{"The run begins", "The run failed", "The run ended well"} {
			if strings.HasPrefix(l.Text, text) {
				order = append(order, text)
			}
		}
	}
	if !slices.Equal(order, []string{"The run begins", "The run failed", "The run begins", "The run ended well"}) {
		t.Errorf("the runs went %q", order)
	}
}

// What is cancelled before it ran never runs.
func TestCancelQueued(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *agentjobs.Options) { o.Concurrent = 1 })
	release := b.hold()
	first, second, last := b.post("say first"), b.post("say second"), b.post("say last")
	b.message(second.ID, "say third")
	if told := b.want(b.do(http.MethodPost, "/job/"+second.ID+"/cancel", ""), http.StatusOK); told.Status != agentjobs.Failed {
		t.Errorf("the job is %+v", told)
	}
	release()
	b.await(first.ID)
	b.await(last.ID)
	if lines := b.lines(second.ID); len(lines) != 1 || lines[0].Text != "The job was cancelled." {
		t.Errorf("the log is %+v", lines)
	}
	// And it can go on.
	b.message(second.ID, "say fourth")
	if j := b.await(second.ID); j.Status != agentjobs.Completed {
		t.Errorf("the job ended as %+v: %s", j, reason(j))
	}
	if b.said(second.ID, "second") || b.said(second.ID, "third") {
		t.Errorf("the agent was told of what was discarded: %+v", b.lines(second.ID))
	}
}

// Archiving right after cancelling does not wait for the run, and leaves nothing of it.
func TestCancelThenArchive(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.post("write docs/old.md old\nsay at work\nwait-cancel")
	b.until("the agent works", func() bool { return b.said(j.ID, "at work") })
	b.want(b.do(http.MethodPost, "/job/"+j.ID+"/cancel", ""), http.StatusOK)
	if told := b.want(b.do(http.MethodPost, "/job/"+j.ID+"/archive", ""), http.StatusOK); told.Status != agentjobs.Archived || told.ArchivedAt == nil {
		t.Errorf("the job is %+v", told)
	}
	b.until("nothing is left", func() bool { return len(b.copies()) == 0 })
	if branches := b.git.Branches(repository); len(branches) != 1 {
		t.Errorf("the repository has the branches %q", branches)
	}
	if got := b.job(j.ID); got.Status != agentjobs.Archived {
		t.Errorf("the job became %+v", got)
	}
}
