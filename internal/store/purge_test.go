package store_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/commitlog/faultfs"
	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// countKeys returns how many keys of a project the database holds.
func countKeys(t *testing.T, db *database.DB, project sketch.ProjectNumber) int {
	t.Helper()
	keys := 0
	err := db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.Prefix = database.VisitsPrefix(project)
		opts.AllVersions = true
		cursor := txn.NewIterator(opts)
		defer cursor.Close()
		for cursor.Rewind(); cursor.Valid(); cursor.Next() {
			keys++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// holding returns the files under dir that hold text.
func holding(t *testing.T, dir, text string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if bytes.Contains(data, []byte(text)) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A deletion removes a project from the log and from the database, as far down
// as the files, whether it was checkpointed or not. Others stay.
func TestDeleteProjectLeavesNoBytes(t *testing.T) {
	const secret = "/a-path-that-must-not-be-found-again"
	n := open(t)
	w := storetest.NewWorkload(1)
	commit := func(project sketch.ProjectNumber, path string) sketch.PageView {
		v := sketch.PageView{Path: path, Day: storetest.FirstDay, Visitor: 1}
		b := sketch.NewBatch(project, append(w.Visits(), v)...)
		b.Mark = sketch.Mark{Source: sketch.SourceOf([]byte(path)), To: 10}
		if err := n.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		return v
	}
	commit(1, secret+"/checkpointed")
	commit(2, "/other")
	if err := n.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	commit(1, secret+"/in the log")
	commit(2, "/other/2")
	before := n.rank(t, 2)
	if len(holding(t, n.dir, secret)) == 0 {
		t.Fatal("the path is nowhere to be found before")
	}

	if err := n.DeleteProject(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if keys := countKeys(t, n.db, 1); keys != 0 {
		t.Errorf("%d keys are left", keys)
	}
	if names := holding(t, n.dir, secret); len(names) > 0 {
		t.Errorf("the path is left in %v", names)
	}
	if left := logPositions(t, n); len(left) != 0 {
		t.Errorf("the log still holds %v", left)
	}
	if err := storetest.Compare(n.rank(t, 2), before); err != nil {
		t.Errorf("the other project: %v", err)
	}
}

// A deletion that the end of the process interrupted is finished by the next
// start: rows of a project that is gone are dropped, what the log holds of it is
// passed over, and a later project is not touched.
func TestInterruptedDeletion(t *testing.T) {
	n := open(t, onDisk(faultfs.New()))
	w := storetest.NewWorkload(1)
	visits := make(map[sketch.ProjectNumber][]sketch.PageView)
	head := []byte("a log")
	offset := int64(0)
	fill := func() {
		for project := sketch.ProjectNumber(1); project <= 4; project++ {
			b := sketch.NewBatch(project, w.Visits()...)
			b.Mark = sketch.Mark{Source: sketch.SourceOf(head), From: offset, To: offset + 1}
			if err := n.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			visits[project] = slices.AppendSeq(visits[project], b.Views())
		}
		offset++
	}
	fill()
	if err := n.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	fill()
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	// Some of the rows of a checkpoint, too.
	if err := n.InterruptCheckpoint(.5); err != nil {
		t.Fatal(err)
	}

	gone := map[sketch.ProjectNumber]bool{2: true, 4: true}
	n.opts.Live = func(project sketch.ProjectNumber) bool { return !gone[project] }
	n.start(t)
	for range 2 {
		for project := sketch.ProjectNumber(1); project <= 4; project++ {
			_, found, err := n.FindSource(t.Context(), project, head)
			if err != nil {
				t.Fatal(err)
			}
			want := visits[project]
			if gone[project] {
				want = nil
				if keys := countKeys(t, n.db, project); keys > 0 {
					t.Errorf("project %d: %d keys are left", project, keys)
				}
			}
			if found == gone[project] {
				t.Errorf("project %d: its source is found: %v", project, found)
			}
			if err := storetest.Verify(n.rank(t, project), want, sketch.AllDays()); err != nil {
				t.Errorf("project %d: %v", project, err)
			}
		}
		n.restart(t)
	}
	checkCells(t, n.db, 1, visits[1])
	if left := logPositions(t, n); len(left) != 0 {
		t.Errorf("the log still holds %v", left)
	}
}

// A deletion whose caller goes away refuses batches all the same, and may be asked
// for again.
func TestDeletionWithoutPatience(t *testing.T) {
	disk := faultfs.New()
	n := open(t, onDisk(disk))
	n.commit(t, 1, storetest.NewWorkload(1).Visits()...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.DeleteProject(ctx, 1); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("deleting: %v", err)
	}
	batch := sketch.NewBatch(1, storetest.NewWorkload(1).Visits()...)
	if err := n.Commit(t.Context(), batch); !errors.Is(err, sketch.ErrProjectDeleted) {
		t.Errorf("committing: %v, expected ErrProjectDeleted", err)
	}
	if err := n.DeleteProject(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if keys := countKeys(t, n.db, 1); keys != 0 {
		t.Errorf("%d keys are left", keys)
	}
}

// Batches that wait while their project is deleted are refused, not lost on the
// way; those of others that wait beside them are taken.
func TestDeletionOfWhatWaits(t *testing.T) {
	disk := faultfs.New()
	n := open(t, onDisk(disk))
	b := block(disk)
	defer b.release()
	answers := [3]chan error{}
	v := []sketch.PageView{{Path: "/", Day: storetest.FirstDay}}
	for i, project := range []sketch.ProjectNumber{1, 1, 2} {
		answers[i] = make(chan error, 1)
		go func() {
			answers[i] <- n.Commit(context.Background(), sketch.NewBatch(project, v...))
		}()
		if i == 0 {
			<-b.reached // The first is being synced, the others wait behind it.
		} else {
			waitUntil(func() bool { return n.Waiting() == i })
		}
	}
	deleted := make(chan error, 1)
	go func() { deleted <- n.DeleteProject(context.Background(), 1) }()
	waitUntil(func() bool {
		err := n.Commit(t.Context(), sketch.Batch{Project: 1, Mark: sketch.Mark{
			Source: sketch.SourceOf([]byte("head")), From: 1, // Refused in either case.
		}})
		return errors.Is(err, sketch.ErrProjectDeleted)
	})
	b.release()
	if err := <-answers[0]; err != nil {
		t.Errorf("the batch that was being synced: %v", err)
	}
	if err := <-answers[1]; !errors.Is(err, sketch.ErrProjectDeleted) {
		t.Errorf("the batch that waited: %v, expected ErrProjectDeleted", err)
	}
	if err := <-answers[2]; err != nil {
		t.Errorf("the other project's batch: %v", err)
	}
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	if err := storetest.Verify(n.rank(t, 1), nil, sketch.AllDays()); err != nil {
		t.Error(err)
	}
	if err := storetest.Verify(n.rank(t, 2), v, sketch.AllDays()); err != nil {
		t.Error(err)
	}
}

// Of deleted days no key is left: neither of blocks that a late view took out of use
// nor of what a crash left without a root.
func TestDeletedDaysLeaveNoKey(t *testing.T) {
	n := open(t, onDisk(faultfs.New()))
	for day := range sketch.Day(20) {
		n.commit(t, 1, sketch.PageView{Path: "/a", Visitor: sketch.Hash(day + 1), Day: storetest.FirstDay + day})
	}
	if err := n.BuildBlocks(); err != nil {
		t.Fatal(err)
	}
	n.commit(t, 1, sketch.PageView{Path: "/a", Visitor: 100, Day: storetest.FirstDay + 5})
	if err := n.Checkpoint(); err != nil { // Blocks are out of use.
		t.Fatal(err)
	}
	n.commit(t, 1, sketch.PageView{Path: "/b", Visitor: 100, Day: storetest.FirstDay + 6})
	interrupt(t, n, .5)
	n.start(t)
	for range 2 {
		if err := n.DeleteDays(t.Context(), 1, storetest.FirstDay+500); err != nil {
			t.Fatal(err)
		}
		err := n.db.View(func(txn *badger.Txn) error {
			return part.Each(txn, 1, func(id part.ID) { t.Errorf("%v is left", id) })
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if ranking := n.rank(t, 1); ranking.Paths != 0 {
		t.Errorf("%d paths are left", ranking.Paths)
	}
}

// A ranking that began before days were deleted says so if it misses them, and is
// never wrong.
func TestRankingWhileDaysAreDeleted(t *testing.T) {
	n := open(t, onDisk(faultfs.New()))
	var visits []sketch.PageView
	for day := range sketch.Day(30) {
		visits = append(visits, sketch.PageView{Path: "/a", Visitor: sketch.Hash(day + 1), Day: storetest.FirstDay + day})
	}
	n.commit(t, 1, visits...)
	if err := n.BuildBlocks(); err != nil {
		t.Fatal(err)
	}
	snapshot, err := n.Snapshot(t.Context(), 1, sketch.AllDays())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	if err := n.DeleteDays(t.Context(), 1, storetest.FirstDay+20); err != nil {
		t.Fatal(err)
	}
	ranking, err := snapshot.Top(t.Context(), 10)
	if err == nil {
		err = storetest.Verify(ranking, visits, sketch.AllDays())
	} else if errors.Is(err, sketch.ErrDaysDeleted) {
		err = nil
	}
	if err != nil {
		t.Error(err)
	}
	left := visits[20:]
	if err := storetest.Verify(n.rank(t, 1), left, sketch.AllDays()); err != nil {
		t.Error(err)
	}
}
