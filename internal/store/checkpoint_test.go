package store_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"footfall/internal/commitlog/faultfs"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// shares are how much of a checkpoint may have been written when it was cut short.
// Entries are written in their order, in transactions that end anywhere.
var shares = []struct {
	name  string
	share float64
}{
	{"nothing", 0},
	{"an eighth", .125},
	{"a third", .33},
	{"one half", .5},
	{"two thirds", .66},
	{"almost all", .95},
	{"all but the position", 1},
}

// Whatever part of a checkpoint a crash leaves, twice in a row and followed by a
// replay that itself writes checkpoints or not: no view is lost or counted twice.
func TestInterruptedCheckpoint(t *testing.T) {
	for _, overlayBytes := range []int{1, 8 << 10, 1 << 20} {
		for _, part := range shares {
			t.Run(part.name, func(t *testing.T) {
				n, visits := open(t, onDisk(faultfs.New())), []sketch.PageView(nil)
				w := storetest.NewWorkload(3)
				commit := func() {
					for range 12 {
						batch := w.Visits()
						n.commit(t, 1, batch...)
						visits = append(visits, batch...)
					}
				}
				commit()
				if err := n.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				last := sketch.Position(0)
				for range 2 {
					commit()
					last = n.Acknowledged()
					interrupt(t, n, part.share)
					n.opts.OverlayBytes = overlayBytes
					n.start(t)
					if err := storetest.Verify(n.rank(t, 1), visits, sketch.AllDays()); err != nil {
						t.Fatal(err)
					}
				}
				// Once more before anything of it was checkpointed.
				interrupt(t, n, part.share)
				n.start(t)
				if got := n.Acknowledged(); got != last {
					t.Errorf("position %d is acknowledged, expected %d", got, last)
				}
				commit()
				n.restart(t)
				if err := storetest.Verify(n.rank(t, 1), visits, sketch.AllDays()); err != nil {
					t.Fatal(err)
				}
				checkCells(t, n.db, 1, visits)
			})
		}
	}
}

// A day that a checkpoint was about to begin, and did not name in the directory, is
// not there yet: replay folds all of it again, and answers have it at once.
func TestInterruptedCheckpointOfNewDays(t *testing.T) {
	for _, part := range shares {
		t.Run(part.name, func(t *testing.T) {
			n := open(t, onDisk(faultfs.New()))
			visits := []sketch.PageView{{Path: "/", Visitor: 1, Day: storetest.FirstDay}}
			n.commit(t, 1, visits...)
			if err := n.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			for day := range sketch.Day(3) {
				view := sketch.PageView{Path: "/", Visitor: sketch.Hash(day) + 2, Day: storetest.FirstDay + day}
				n.commit(t, 1, view)
				visits = append(visits, view)
			}
			for range 2 {
				interrupt(t, n, part.share)
				n.start(t)
				if err := storetest.Verify(n.rank(t, 1), visits, sketch.AllDays()); err != nil {
					t.Fatal(err)
				}
			}
			if err := n.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			checkCells(t, n.db, 1, visits)
		})
	}
}

// interrupt ends the process of a store within a checkpoint.
func interrupt(t *testing.T, n *node, share float64) {
	t.Helper()
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := n.InterruptCheckpoint(share); err != nil {
		t.Fatal(err)
	}
}

// While a checkpoint is being written, with any part of its cells in Badger and
// the others not, rankings and sources are as before and go on with what is
// committed meanwhile.
func TestRankingDuringCheckpoint(t *testing.T) {
	for _, part := range shares {
		t.Run(part.name, func(t *testing.T) {
			n, memory := open(t, onDisk(faultfs.New())), store.NewMemory(nil, store.Limits{})
			w := storetest.NewWorkload(5)
			w.Crowd = 1500
			head := []byte("a log")
			offset := int64(0)
			commit := func(times int) {
				for range times {
					b := sketch.NewBatch(1, w.Visits()...)
					b.Mark = sketch.Mark{Source: sketch.SourceOf(head), From: offset, To: offset + 10}
					offset += 10
					for _, s := range []storetest.Subject{n, memory} {
						if err := s.Commit(t.Context(), b); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			compare := func() {
				t.Helper()
				for range 3 {
					within := w.Range()
					if err := storetest.Compare(rank(t, n, 1, within), rank(t, memory, 1, within)); err != nil {
						t.Fatalf("%v: %v", within, err)
					}
				}
				if m, found, err := n.FindSource(t.Context(), 1, head); err != nil || !found || m.To != offset {
					t.Fatalf("the source is at %d (%v, %v), expected %d", m.To, found, err, offset)
				}
			}
			commit(12)
			if err := n.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				commit(8)
				compare()
				err := n.HoldCheckpoint(part.share, func() {
					compare()
					commit(3)
					compare()
				})
				if err != nil {
					t.Fatal(err)
				}
				compare()
			}
			n.restart(t)
			compare()
		})
	}
}

// The same with real checkpoints, one after the other and of many cells, and
// with readers that never stop.
func TestRankingAmongCheckpoints(t *testing.T) {
	n := open(t)
	done := make(chan struct{})
	var running sync.WaitGroup
	checkpoints := 0
	running.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := n.Checkpoint(); err != nil {
				t.Errorf("writing a checkpoint: %v", err)
				return
			}
			checkpoints++
		}
	})
	storetest.OneInstant(t, n, 1, 300, 100)
	close(done)
	running.Wait()
	if checkpoints < 2 {
		t.Errorf("only %d checkpoints were written", checkpoints)
	}
}

// A checkpoint that can not be written, here because a cell that it adds to is
// damaged, loses nothing: the damaged cell is not written over, and a start with
// the cell repaired goes on from there.
func TestFailedCheckpoint(t *testing.T) {
	n := open(t, onDisk(faultfs.New()))
	w := storetest.NewWorkload(1)
	var visits []sketch.PageView
	commit := func() {
		for range 20 {
			batch := w.Visits()
			n.commit(t, 1, batch...)
			visits = append(visits, batch...)
		}
	}
	commit()
	if err := n.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	key := rootKey(storetest.FirstDay + 2)
	whole := get(t, n.db, key)
	put(t, n.db, key, whole[:len(whole)-1])
	commit()
	for range 2 {
		if err := n.Checkpoint(); err == nil {
			t.Fatal("a checkpoint over a damaged cell succeeded")
		}
	}
	before := sketch.Range{From: sketch.FirstDay, To: storetest.FirstDay + 2}
	if err := storetest.Verify(rank(t, n, 1, before), visits, before); err != nil {
		t.Error(err)
	}
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	put(t, n.db, key, whole)
	n.start(t)
	if err := storetest.Verify(n.rank(t, 1), visits, sketch.AllDays()); err != nil {
		t.Error(err)
	}
	n.restart(t)
	checkCells(t, n.db, 1, visits)
}

// A checkpoint that fails in the background makes the store refuse what comes
// next, rather than let the overlay grow.
func TestStoreRefusesAfterFailedCheckpoint(t *testing.T) {
	n := open(t, small)
	batch := sketch.NewBatch(1, sketch.PageView{Path: "/", Day: storetest.FirstDay})
	if err := n.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := n.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	put(t, n.db, rootKey(storetest.FirstDay), []byte("damaged"))
	var err error
	for err == nil { // Until the checkpoint was tried.
		err = n.Commit(t.Context(), batch)
	}
	if !errors.Is(err, sketch.ErrUnavailable) || !errors.Is(err, sketch.ErrCorrupted) {
		t.Errorf("committing: %v, expected ErrUnavailable with its cause", err)
	}
	if err := n.Ready(); !errors.Is(err, sketch.ErrUnavailable) {
		t.Errorf("ready: %v", err)
	}
	if err := n.Store.Close(); err == nil {
		t.Error("closing says nothing of the checkpoint that failed")
	}
	n.Store = nil
}

// While a checkpoint takes its time, about as much again is taken and no more; then
// the queue fills, and what it can not hold is refused. Rankings and look-ups do
// not wait for it, and hold everything that was acknowledged.
func TestSlowCheckpoint(t *testing.T) {
	n := open(t, onDisk(faultfs.New()), func(opts *store.Options) {
		opts.OverlayBytes = 32 << 10
		opts.QueueBytes = 8 << 10
	})
	var unbounded atomic.Bool
	var mu sync.Mutex
	var visits []sketch.PageView // acknowledged
	commit := func(seed uint64) {
		w := storetest.NewWorkload(seed)
		for range 200 {
			b := sketch.NewBatch(1, w.Visits()...)
			err := n.Commit(t.Context(), b)
			for errors.Is(err, sketch.ErrOverloaded) {
				if n.WritingStopped() {
					return
				}
				runtime.Gosched()
				err = n.Commit(t.Context(), b)
			}
			if err != nil {
				t.Errorf("committing: %v", err)
			}
			mu.Lock()
			visits = slices.AppendSeq(visits, b.Views())
			mu.Unlock()
		}
		unbounded.Store(true)
	}

	var running sync.WaitGroup
	begin := sync.OnceFunc(func() {
		for seed := range uint64(16) {
			running.Go(func() { commit(seed) })
		}
		waitUntil(func() bool { return n.WritingStopped() || unbounded.Load() })
		if unbounded.Load() {
			t.Error("nothing bounds what is taken")
		}
		mu.Lock()
		acknowledged := slices.Clone(visits)
		mu.Unlock()
		if got := n.rank(t, 1); got.Views[sketch.Human]+got.Views[sketch.AI] < uint64(len(acknowledged)) {
			t.Errorf("a ranking has %v views of %d", got.Views, len(acknowledged))
		}
		if _, _, err := n.FindSource(t.Context(), 1, []byte("head")); err != nil {
			t.Errorf("finding a source: %v", err)
		}
	})
	if err := n.HoldCheckpoint(1, begin); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	if err := storetest.Verify(n.rank(t, 1), visits, sketch.AllDays()); err != nil {
		t.Error(err)
	}
}

// Between checkpoints the log holds everything, and after one nothing that it
// need not hold.
func TestCheckpointCutsTheLog(t *testing.T) {
	n := open(t)
	for range 3 {
		n.commit(t, 1, storetest.NewWorkload(1).Visits()...)
		if err := n.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		position, err := n.CheckpointPosition()
		if err != nil || position != n.Acknowledged() {
			t.Errorf("the checkpoint is at %d (%v), expected %d", position, err, n.Acknowledged())
		}
		if left := logPositions(t, n); len(left) != 0 {
			t.Errorf("the log still holds %v", left)
		}
	}
}
