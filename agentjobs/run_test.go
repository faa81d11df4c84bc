package agentjobs_test

import (
	"strings"
	"testing"

	"footfall/agentjobs"
)

func TestPromptBecomesPullRequest(t *testing.T) {
	b := newBench(t, nil)
	made := b.post("write docs/new.md hello\nsay I did it.")
	if made.Status != agentjobs.Active || made.PRLink != nil || made.ArchivedAt != nil || made.FailureReason != nil || made.Messages != 1 {
		t.Errorf("a new job is %+v", made)
	}
	if made.Source.Repository != b.git.URL(repository) || made.Source.Ref != "footfall/"+made.ID || made.BaseRef != "main" || made.Model != modelName {
		t.Errorf("a new job is %+v", made)
	}
	j := b.await(made.ID)
	if j.Status != agentjobs.Completed || j.PRLink == nil || j.FailureReason != nil {
		t.Fatalf("the job ended as %+v: %+v", j, b.lines(made.ID))
	}
	if got := b.git.Read(repository, j.Source.Ref, "docs/new.md"); strings.TrimSpace(got) != "hello" {
		t.Errorf("the file is %q", got)
	}
	if j.DiffStat.Files != 1 || j.DiffStat.Insertions != 1 || j.DiffStat.Deletions != 0 {
		t.Errorf("the difference is %+v", j.DiffStat)
	}
	pulls := b.forge.Pulls()
	if len(pulls) != 1 || pulls[0].Head != j.Source.Ref || pulls[0].Base != "main" || !strings.HasSuffix(*j.PRLink, "/1") {
		t.Errorf("pull requests %+v, prLink %s", pulls, *j.PRLink)
	}
	for _, text := range []string{"I did it.", *j.PRLink, "docs/new.md"} {
		if !b.said(j.ID, text) {
			t.Errorf("the log does not say %q", text)
		}
	}
}

func TestFollowUps(t *testing.T) {
	b := newBench(t, nil)
	j := b.await(b.post("write docs/a.md one").ID)
	first := *j.PRLink

	// A second commit on the same pull request.
	if active := b.message(j.ID, "write docs/b.md two"); active.Status != agentjobs.Active || active.PRLink != nil || active.Messages != 2 {
		t.Errorf("with a follow-up the job is %+v", active)
	}
	j = b.await(j.ID)
	if j.Status != agentjobs.Completed || *j.PRLink != first || j.DiffStat.Files != 2 {
		t.Fatalf("after the follow-up the job is %+v", j)
	}
	if log := b.git.Log(repository, j.Source.Ref); len(log) != 3 {
		t.Errorf("the branch has the commits %+v", log)
	}

	// Nothing changed: the pull request stays the job's.
	b.message(j.ID, "say nothing to do")
	if j = b.await(j.ID); j.Status != agentjobs.Completed || j.PRLink == nil || *j.PRLink != first {
		t.Errorf("after a follow-up without a change the job is %+v", j)
	}
	// A failure: as well.
	b.message(j.ID, "write .github/workflows/evil.yml x")
	if j = b.await(j.ID); j.Status != agentjobs.Failed || j.PRLink == nil || *j.PRLink != first {
		t.Errorf("after a follow-up that failed the job is %+v", j)
	}
	if got := b.git.Tip(repository, j.Source.Ref); !strings.Contains(strings.Join(b.git.Files(repository, j.Source.Ref), " "), "docs/b.md") || got == "" {
		t.Error("the branch is gone")
	}

	// Merged: the next one gets a new branch and a new pull request.
	b.git.Merge(repository, j.Source.Ref, "main")
	b.forge.Merge(1)
	b.message(j.ID, "write docs/c.md three")
	next := b.await(j.ID)
	if next.Status != agentjobs.Completed || *next.PRLink == first || next.Source.Ref == j.Source.Ref || next.DiffStat.Files != 1 {
		t.Errorf("after the merge the job is %+v", next)
	}
}
