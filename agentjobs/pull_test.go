package agentjobs_test

import (
	"net/http"
	"slices"
	"testing"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/forgehost"
)

// Where the pull request was closed meanwhile, what follows is on a new branch from
// the base, and the link stays the latest one until there is another.
func TestClosedPullRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("write docs/a.md one").ID)
	first := *j.PRLink
	b.forge.Close(1)
	b.message(j.ID, "say nothing to do")
	if j = b.await(j.ID); j.Status != agentjobs.Completed || j.PRLink == nil || *j.PRLink != first || len(b.forge.Pulls()) != 1 {
		t.Errorf("after a follow-up without a change the job is %+v, the pull requests %+v", j, b.forge.Pulls())
	}
	b.message(j.ID, "write docs/b.md two")
	j = b.await(j.ID)
	pulls := b.forge.Pulls()
	if j.Status != agentjobs.Completed || len(pulls) != 2 || *j.PRLink == first || j.Source.Ref != pulls[1].Head || pulls[1].Head == pulls[0].Head {
		t.Fatalf("after a follow-up with a change the job is %+v, the pull requests %+v", j, pulls)
	}
	files := b.git.Files(repository, j.Source.Ref)
	if slices.Contains(files, "docs/a.md") || !slices.Contains(files, "docs/b.md") || j.DiffStat.Files != 1 {
		t.Errorf("the new branch has %q, the difference is %+v", files, j.DiffStat)
	}
}

// What was pushed without a pull request, as the forge failed, gets one by the next
// message, also where that changes nothing more.
func TestPullRequestIsMadeUpFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.forge.Inject(forgehost.Answer{Method: http.MethodPost, Times: 1, Status: http.StatusUnprocessableEntity, Body: `{"message":"not now"}`})
	j := b.await(b.post("write docs/a.md one").ID)
	if j.Status != agentjobs.Failed || j.PRLink != nil || b.git.Tip(repository, j.Source.Ref) == "" {
		t.Fatalf("the job ended as %+v: %s", j, reason(j))
	}
	b.message(j.ID, "say try again")
	if j = b.await(j.ID); j.Status != agentjobs.Completed || j.PRLink == nil || j.DiffStat.Files != 1 || len(b.forge.Pulls()) != 1 {
		t.Errorf("the job ended as %+v: %s", j, reason(j))
	}
}

// A project that wants drafts gets them; its text is what was asked, as a text.
func TestPullRequestText(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.set(func(s *agentjobs.Settings) { s.Draft = true })
	j := b.await(b.post("\n Describe `it` @someone\nwrite docs/a.md one\n\n# Closes #1").ID)
	pulls := b.forge.Pulls()
	if j.Status != agentjobs.Completed || len(pulls) != 1 || !pulls[0].Draft || pulls[0].Title != "Describe `it` @someone" {
		t.Fatalf("the job ended as %+v: %s, the pull requests %+v", j, reason(j), pulls)
	}
	const quoted = "\n\n    Describe `it` @someone\n    write docs/a.md one\n    \n    # Closes #1\n"
	if want := "Made by an agent job of Footfall, " + j.ID + ", as asked:" + quoted; pulls[0].Body != want {
		t.Errorf("the text is %q, want %q", pulls[0].Body, want)
	}
	commit := b.git.Log(repository, j.Source.Ref)[0]
	if commit.Message != "Describe `it` @someone\n\nFootfall-Job: "+j.ID+"\n" {
		t.Errorf("the commit is %+v", commit)
	}
}
