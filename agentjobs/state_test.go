package agentjobs_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"footfall/agentjobs"
)

// in brings a new job into a state, by a client's means.
func (b *bench) in(s agentjobs.Status) agentjobs.Job {
	b.t.Helper()
	switch s {
	case agentjobs.Active:
		j := b.post("say at work\nwait-cancel")
		b.until("the agent works", func() bool { return b.said(j.ID, "at work") })
		return b.job(j.ID)
	case agentjobs.Failed:
		return b.await(b.post("write docs/new.md x\nfail on purpose").ID)
	case agentjobs.Archived:
		return b.want(b.do(http.MethodPost, "/job/"+b.in(agentjobs.Completed).ID+"/archive", ""), http.StatusOK)
	default:
		return b.await(b.post("write docs/new.md hello").ID)
	}
}

// What each state makes of what a client may do.
func TestClientsHappenings(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *agentjobs.Options) { o.Concurrent = 4 })
	const changes, refused = true, false
	for _, c := range []struct {
		from    agentjobs.Status
		do      string
		status  int
		to      agentjobs.Status
		changed bool
	}{
		{agentjobs.Active, "archive", 409, agentjobs.Active, refused},
		{agentjobs.Active, "message", 200, agentjobs.Active, changes},
		{agentjobs.Active, "cancel", 200, agentjobs.Failed, changes},
		{agentjobs.Completed, "cancel", 200, agentjobs.Completed, refused},
		{agentjobs.Completed, "message", 200, agentjobs.Active, changes},
		{agentjobs.Completed, "archive", 200, agentjobs.Archived, changes},
		{agentjobs.Failed, "cancel", 200, agentjobs.Failed, refused},
		{agentjobs.Failed, "message", 200, agentjobs.Active, changes},
		{agentjobs.Failed, "archive", 200, agentjobs.Archived, changes},
		{agentjobs.Archived, "cancel", 200, agentjobs.Archived, refused},
		{agentjobs.Archived, "message", 409, agentjobs.Archived, refused},
		{agentjobs.Archived, "archive", 200, agentjobs.Archived, refused},
	} {
		before := b.in(c.from)
		if before.Status != c.from {
			t.Fatalf("the job is %s, not %s: %s", before.Status, c.from, reason(before))
		}
		path := "/job/" + before.ID
		was := b.told(before.ID)
		a := b.do(http.MethodPost, path+"/"+c.do, prompt("say once more"))
		name := string(c.from) + ": " + c.do
		if a.status != c.status {
			t.Errorf("%s: status %d: %s", name, a.status, a.text)
		}
		if c.status >= 300 {
			b.refused(a, c.status)
		} else if told := b.want(a, c.status); told.Status != c.to {
			t.Errorf("%s is answered with %+v", name, told)
		}
		after := b.job(before.ID)
		if is := b.told(before.ID); (is == was) == c.changed {
			t.Errorf("%s made %s\nof %s", name, is, was)
		}
		if after.Status != c.to && c.to != agentjobs.Active {
			t.Errorf("%s leads to %s", name, after.Status)
		}
		b.holds(after)
		// A second time is as the first.
		if again := b.do(http.MethodPost, path+"/"+c.do, prompt("say once more")); c.do != "message" && again.text != a.text {
			t.Errorf("%s twice: %s\nthen %s", name, a.text, again.text)
		}
		b.do(http.MethodPost, path+"/cancel", "")
	}
}

// told is all that a job tells.
func (b *bench) told(id string) string {
	b.t.Helper()
	return b.do(http.MethodGet, "/job/"+id, "").text
}

// holds looks whether a job is what any job is.
func (b *bench) holds(j agentjobs.Job) {
	b.t.Helper()
	if j.Status == agentjobs.Active && j.PRLink != nil {
		b.t.Errorf("an active job has the pull request %s", *j.PRLink)
	}
	if (j.Status == agentjobs.Archived) != (j.ArchivedAt != nil) {
		b.t.Errorf("a job that is %s was archived at %v", j.Status, j.ArchivedAt)
	}
	if j.Status == agentjobs.Failed && reason(j) == "" || (j.Status == agentjobs.Active || j.Status == agentjobs.Completed) && reason(j) != "" {
		b.t.Errorf("a job that is %s has the reason %q", j.Status, reason(j))
	}
	if j.UpdatedAt.Before(j.CreatedAt) || j.ArchivedAt != nil && j.ArchivedAt.Before(j.CreatedAt) || j.Messages == 0 {
		b.t.Errorf("a job is %+v", j)
	}
}

// Messages to an active job wait, and run one after the other.
func TestMessagesWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	release := b.hold()
	j := b.post("append docs/new.md one")
	for i, text := range []string{"append docs/new.md two", "append docs/new.md three"} {
		if told := b.message(j.ID, text); told.Status != agentjobs.Active || told.Messages != uint32(i+2) {
			t.Errorf("with a message the job is %+v", told)
		}
	}
	release()
	if j = b.await(j.ID); j.Status != agentjobs.Completed || j.Messages != 3 {
		t.Fatalf("the job ended as %+v: %s", j, reason(j))
	}
	if got := b.git.Read(repository, j.Source.Ref, "docs/new.md"); got != "one\ntwo\nthree\n" {
		t.Errorf("the file is %q", got)
	}
	if commits := b.git.Log(repository, j.Source.Ref); len(commits) != 4 {
		t.Errorf("the branch has the commits %+v", commits)
	}
	if len(b.forge.Pulls()) != 1 {
		t.Errorf("the pull requests are %+v", b.forge.Pulls())
	}
	b.holds(j)
}

// The 21st message that waits is refused.
func TestManyMessagesWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.hold()
	j := b.post("say hello")
	for range 20 {
		b.message(j.ID, "say more")
	}
	a := b.do(http.MethodPost, "/job/"+j.ID+"/message", prompt("say too much"))
	b.refused(a, http.StatusTooManyRequests)
	if a.header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	if j = b.job(j.ID); j.Messages != 21 {
		t.Errorf("the job has %d messages", j.Messages)
	}
	// Others are not held up.
	b.message(b.post("say hello").ID, "say more")
}

// A run that fails discards what waits, and keeps the branch.
func TestFailureDiscardsMessages(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("write docs/new.md hello").ID)
	tip := b.git.Tip(repository, j.Source.Ref)
	release := b.hold()
	b.message(j.ID, "write docs/new.md bad\nfail on purpose")
	b.message(j.ID, "write docs/new.md discarded")
	release()
	failed := b.await(j.ID)
	if failed.Status != agentjobs.Failed || !strings.Contains(reason(failed), "on purpose") || failed.Messages != 3 {
		t.Errorf("the job ended as %+v: %s", failed, reason(failed))
	}
	if failed.PRLink == nil || *failed.PRLink != *j.PRLink || failed.DiffStat != j.DiffStat {
		t.Errorf("the job is %+v, before %+v", failed, j)
	}
	if got := b.git.Tip(repository, j.Source.Ref); got != tip {
		t.Errorf("the branch went from %s to %s", tip, got)
	}
	// It goes on, on the same branch and without what was discarded.
	b.message(j.ID, "append docs/new.md again")
	if j = b.await(j.ID); j.Status != agentjobs.Completed || reason(j) != "" {
		t.Errorf("the job ended as %+v: %s", j, reason(j))
	}
	if got := b.git.Read(repository, j.Source.Ref, "docs/new.md"); got != "hello\nagain\n" {
		t.Errorf("the file is %q", got)
	}
}

// Archiving removes the working copy.
func TestArchiveRemovesCopy(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	// What the agent made unreadable goes as well.
	j := b.await(b.post("write docs/new.md hello\nshell mkdir -p $HOME/shut/in && touch $HOME/shut/in/f && chmod 0 $HOME/shut").ID)
	if j.Status != agentjobs.Completed || !slices.Contains(b.copies(), j.ID) {
		t.Fatalf("the job ended as %+v: %s, with %q", j, reason(j), b.copies())
	}
	b.want(b.do(http.MethodPost, "/job/"+j.ID+"/archive", ""), http.StatusOK)
	b.until("the copy is gone", func() bool { return len(b.copies()) == 0 })
}
