package agentjobs_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/forgehost"
)

// A job that is cancelled just as its run begins keeps what it was.
func TestCancelAsTheRunBegins(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *agentjobs.Options) { o.RunsPerHour = 1000 })
	for range 30 {
		j := b.post("say hello")
		cancelled := b.want(b.do(http.MethodPost, "/job/"+j.ID+"/cancel", ""), http.StatusOK)
		if cancelled.Status == agentjobs.Completed {
			continue // The run was faster.
		}
		b.until("the run has ended", func() bool { return b.said(j.ID, "cancelled") })
		if j = b.job(j.ID); j.Status != agentjobs.Failed || j.Source.Ref != "footfall/"+j.ID {
			t.Fatalf("the cancelled job is %+v", j)
		}
	}
	// The last one goes on from there.
	j := b.post("say hello")
	b.do(http.MethodPost, "/job/"+j.ID+"/cancel", "")
	b.message(j.ID, "write docs/a.md x")
	if j = b.await(j.ID); j.Status != agentjobs.Completed || j.PRLink == nil {
		t.Errorf("after a cancellation the job ended as %+v: %s", j, reason(j))
	}
}

// A branch that was pushed and got no pull request is the one that the next message
// works on, also where an earlier one of the job was merged.
func TestBranchWithoutPullRequestIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("write docs/a.md one").ID)
	b.forge.Merge(1)
	b.forge.Inject(forgehost.Answer{Method: http.MethodPost, Times: 1, Status: http.StatusForbidden, Body: `{"message":"not now"}`})
	b.message(j.ID, "write docs/b.md two")
	failed := b.await(j.ID)
	if failed.Status != agentjobs.Failed || !strings.HasSuffix(failed.Source.Ref, "-2") {
		t.Fatalf("without a pull request the job ended as %+v", failed)
	}
	b.message(j.ID, "say try again")
	j = b.await(j.ID)
	if j.Status != agentjobs.Completed || j.Source.Ref != failed.Source.Ref || *j.PRLink == *failed.PRLink || len(b.forge.Pulls()) != 2 {
		t.Errorf("then it ended as %+v: %s", j, reason(j))
	}
}

// What others pushed meanwhile is no difference of the job's.
func TestDiffStatIsTheJobsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("fail for now").ID)
	others := make(map[string]string)
	for i := range 30 {
		others[fmt.Sprintf("docs/other%d.md", i)] = "by others\n"
	}
	b.git.PushOutside(repository, "main", others)
	b.message(j.ID, "write docs/a.md one")
	if j = b.await(j.ID); j.DiffStat.Files != 1 {
		t.Errorf("the difference is %+v", j.DiffStat)
	}
}

// A working copy that is lost, as by a restored backup, is made anew.
func TestLostWorkingCopy(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("write docs/a.md one").ID)
	if err := os.RemoveAll(filepath.Join(b.options.Dir, j.ID)); err != nil {
		t.Fatal(err)
	}
	b.git.PushOutside(repository, "main", map[string]string{"docs/z.md": "z\n"})
	b.message(j.ID, "write docs/b.md two")
	if j = b.await(j.ID); j.Status != agentjobs.Completed || len(b.git.Log(repository, j.Source.Ref)) != 3 {
		t.Errorf("the job ended as %+v: %s", j, reason(j))
	}
}

// An agent that goes on with its session is told which edits are still there.
func TestSessionIsToldWhereTheFilesAre(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("write docs/a.md one\nwrite .github/workflows/ci.yml bad").ID)
	if j.Status != agentjobs.Failed {
		t.Fatalf("a changed workflow ended as %+v", j)
	}
	b.message(j.ID, "say again")
	j = b.await(j.ID)
	// The test agent says what it does not take for a command.
	if want := "The files are now those of commit " + b.git.Tip(repository, "main"); !b.said(j.ID, want) {
		t.Errorf("the agent was not told %q: %+v", want, b.lines(j.ID))
	}
}

// A remote that is away for a moment costs no run of the agent.
func TestPushIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var pushes atomic.Int32
	b.git.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.RawQuery+r.URL.Path, "receive-pack") || pushes.Add(1) > 2 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	if j := b.await(b.post("write docs/a.md one").ID); j.Status != agentjobs.Completed || j.PRLink == nil {
		t.Errorf("the job ended as %+v: %s", j, reason(j))
	}
}

// A run is not begun where the disk has no room for what it may take.
func TestNoRoomForARun(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *agentjobs.Options) { o.RunBytes = 1 << 60 })
	j := b.await(b.post("write docs/a.md one").ID)
	if j.Status != agentjobs.Failed || !strings.Contains(reason(j), "too little room") {
		t.Errorf("the job ended as %+v: %s", j, reason(j))
	}
	if names := b.git.Branches(repository); len(names) != 1 {
		t.Errorf("pushed was %q", names)
	}
}

// The tree is as large as the repository, and is made anew for each run.
func TestTreeIsNotKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("write docs/a.md one").ID)
	if _, err := os.Lstat(filepath.Join(b.options.Dir, j.ID, "tree")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the tree: %v", err)
	}
}
