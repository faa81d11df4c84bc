package agentjobs_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"footfall/agentjobs"
)

// An agent nests directories until a service that removes them one below the other has
// no descriptor left, or no path is long enough. They are removed all the same, and the
// service answers meanwhile.
func TestAttackOnRemoval(t *testing.T) {
	b := newBench(t, nil)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := limit
	few.Cur = 512
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	})
	nest := script(`
perl -e 'for my $top ($ENV{HOME}, "/workspace/docs") { chdir $top; for (1..2100) { mkdir "d"; chdir "d" } }'
chmod 0 docs/d $HOME/d`)
	j := b.await(b.post(nest).ID)
	b.message(j.ID, nest)
	j = b.await(j.ID)
	b.message(j.ID, "write docs/honest.md work")
	if j = b.await(j.ID); j.Status != agentjobs.Completed {
		t.Errorf("after the attack honest work is %s: %s", j.Status, reason(j))
	}
	j = b.await(b.post(nest).ID)
	began := time.Now()
	b.want(b.do(http.MethodPost, "/job/"+j.ID+"/archive", ""), http.StatusOK)
	b.until("the working copy is removed", func() bool {
		if open, err := os.ReadDir("/proc/self/fd"); err != nil || len(open) > 256 {
			t.Fatalf("%d descriptors are open: %v", len(open), err)
		}
		return !slices.ContainsFunc(b.copies(), func(name string) bool { return strings.HasPrefix(name, j.ID) })
	})
	t.Logf("removed in %v", time.Since(began))
}
