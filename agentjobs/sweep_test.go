package agentjobs_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/agentjobs"
	"footfall/internal/database"
)

// Jobs to which nothing happens are archived, and removed with all that they have
// some time later; others stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	const archiveAfter, retention = 5 * 24 * time.Hour, 10 * 24 * time.Hour
	b := newBench(t, func(o *agentjobs.Options) {
		o.ArchiveAfter, o.Retention, o.SweepEvery = archiveAfter, retention, 5*time.Millisecond
	})
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b.setClock(begin)
	nothing := b.keys(database.AllJobsPrefix()) // but the settings
	old := b.want(b.do(http.MethodPost, "/job", prompt("write docs/a.md one"), keyHeader, "k"), http.StatusCreated).ID
	if j := b.await(old); j.Status != agentjobs.Completed || !slices.Contains(b.copies(), old) {
		t.Fatalf("the job ended as %+v with %q", j, b.copies())
	}
	failed := b.await(b.post("fail on purpose").ID).ID
	b.setClock(begin.Add(time.Hour))
	kept := b.await(b.post("say hello").ID).ID
	b.message(old, "say more") // The time begins anew.
	b.await(old)
	b.hold()
	active := b.post("say hello").ID

	// One moment before it is due nothing happens, and at it the job is archived.
	b.setClock(begin.Add(archiveAfter - time.Millisecond))
	b.swept()
	for _, id := range []string{old, failed, kept, active} {
		if j := b.job(id); j.ArchivedAt != nil {
			t.Errorf("archived early: %+v", j)
		}
	}
	b.setClock(begin.Add(archiveAfter))
	b.until("the failed job is archived", func() bool { return b.job(failed).Status == agentjobs.Archived })
	b.swept()
	if j := b.job(failed); !j.ArchivedAt.Equal(begin.Add(archiveAfter)) || reason(j) == "" {
		t.Errorf("the failed job is %+v", j)
	}
	if j := b.job(kept); j.Status != agentjobs.Completed {
		t.Errorf("a job is archived %v after anything happened: %+v", archiveAfter-time.Hour, j)
	}
	b.setClock(begin.Add(archiveAfter + time.Hour))
	b.until("the others are archived", func() bool {
		return b.job(old).Status == agentjobs.Archived && b.job(kept).Status == agentjobs.Archived
	})
	b.until("their copies are gone", func() bool { return slices.Equal(b.copies(), []string{active}) })

	// Archived jobs are kept for their retention.
	b.setClock(begin.Add(archiveAfter + time.Hour + retention - time.Millisecond))
	b.until("the first one is removed", func() bool { return b.do(http.MethodGet, "/job/"+failed, "").status == http.StatusNotFound })
	b.swept()
	if j := b.job(old); j.Status != agentjobs.Archived || len(b.lines(old)) == 0 {
		t.Errorf("the job is %+v", j)
	}
	b.setClock(begin.Add(archiveAfter + time.Hour + retention))
	b.until("they are removed", func() bool { return len(b.page(b.do(http.MethodGet, "/jobs", "")).Jobs) == 1 })
	b.swept()
	if j := b.job(active); j.Status != agentjobs.Active {
		t.Errorf("the active job is %+v", j)
	}
	b.want(b.do(http.MethodPost, "/job/"+active+"/cancel", ""), http.StatusOK)
	b.want(b.do(http.MethodPost, "/job/"+active+"/archive", ""), http.StatusOK)
	b.until("its run has ended", func() bool { return b.said(active, "The run failed") && len(b.copies()) == 0 })
	b.setClock(b.Clock().Add(retention))
	b.until("the last one is removed", func() bool { return b.do(http.MethodGet, "/job/"+active, "").status == http.StatusNotFound })
	b.swept()
	if left := b.keys(database.AllJobsPrefix()); !slices.Equal(left, nothing) || len(b.copies()) > 0 {
		t.Errorf("there is still %q, and on the disk %q", left, b.copies())
	}
}

// swept waits until the sweep has come by with the time as it is now.
func (b *bench) swept() {
	b.t.Helper()
	// The receipt of another project, the last one in order, goes last. The first one
	// may go by a sweep that had begun before.
	last, found := b.registry.Project("zz")
	if !found {
		var err error
		if last, err = b.registry.CreateProject("zz"); err != nil {
			b.t.Fatal(err)
		}
	}
	for range 2 {
		err := b.options.Database.Update(func(txn *badger.Txn) error {
			return database.SetJSON(txn, database.JobReceiptKey(last.Number, [32]byte{1}), database.KindJobReceipt, struct{}{})
		})
		if err != nil {
			b.t.Fatal(err)
		}
		b.until("the sweep comes by", func() bool { return len(b.keys(database.JobReceiptPrefix(last.Number))) == 0 })
	}
}
