package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// logPositions returns the positions that the log of a node holds, beyond its
// last checkpoint.
func logPositions(t *testing.T, n *node) []sketch.Position {
	t.Helper()
	after, err := n.CheckpointPosition()
	if err != nil {
		t.Fatal(err)
	}
	var positions []sketch.Position
	log, err := commitlog.Open(commitlog.Options{Dir: n.opts.LogDir, FS: n.opts.LogFS, After: after},
		func(at sketch.Position, _ []byte) error {
			positions = append(positions, at)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return positions
}

var errDisk = errors.New("the disk fails")

// failing lets one kind of operation fail.
func failing(op faultfs.Op) faultfs.Hook {
	return func(asked faultfs.Op, _ string) error {
		if asked == op {
			return errDisk
		}
		return nil
	}
}

// After a write or sync of the log that failed, the batch and all that come later
// are refused, also once the disk works again; rankings do not hold them. After a
// start the store holds what the log does: the batch whole, or nothing of it.
func TestFailedLog(t *testing.T) {
	crashes := []struct {
		name  string
		after func(*faultfs.FS) *faultfs.FS
	}{
		{"killed", func(disk *faultfs.FS) *faultfs.FS { return disk }},
		{"power cut", func(disk *faultfs.FS) *faultfs.FS { return disk.Crash(nil) }},
	}
	for _, op := range []faultfs.Op{faultfs.OpSync, faultfs.OpWrite, faultfs.OpPreallocate} {
		for _, crash := range crashes {
			t.Run(fmt.Sprintf("%s, %s", op, crash.name), func(t *testing.T) {
				disk := faultfs.New()
				n := open(t, onDisk(disk), func(opts *store.Options) {
					if op == faultfs.OpPreallocate {
						opts.LogFS = disk
					}
				})
				w := storetest.NewWorkload(1)
				kept, lost := w.Visits(), w.Visits()
				if op != faultfs.OpPreallocate { // Space is reserved by the first batch.
					n.commit(t, 1, kept...)
				} else {
					kept = nil
				}

				disk.SetHook(failing(op))
				source := sketch.Mark{Source: sketch.SourceOf([]byte("head")), To: 10}
				err := n.Commit(t.Context(), storetest.Marked(source, sketch.NewBatch(1, lost...)))
				if !errors.Is(err, sketch.ErrUnavailable) || !errors.Is(err, errDisk) {
					t.Fatalf("committing: %v, expected ErrUnavailable with its cause", err)
				}
				disk.SetHook(nil)
				for range 2 {
					err := n.Commit(t.Context(), sketch.NewBatch(2, lost...))
					if !errors.Is(err, sketch.ErrUnavailable) {
						t.Errorf("committing later: %v, expected ErrUnavailable", err)
					}
				}
				if err := n.Ready(); !errors.Is(err, sketch.ErrUnavailable) {
					t.Errorf("ready: %v, expected ErrUnavailable", err)
				}
				if err := storetest.Verify(n.rank(t, 1), kept, sketch.AllDays()); err != nil {
					t.Error(err)
				}
				if _, found, err := n.FindSource(t.Context(), 1, []byte("head")); found || err != nil {
					t.Errorf("the mark of the batch is there: %v", err)
				}

				if err := n.Kill(); err != nil {
					t.Fatal(err)
				}
				n.opts.LogFS = unreserved{crash.after(disk)}
				inLog := len(logPositions(t, n))
				n.start(t)
				want := kept
				if inLog > 0 && (kept == nil || inLog > 1) {
					want = append(want[:len(want):len(want)], lost...)
				}
				if err := storetest.Verify(n.rank(t, 1), want, sketch.AllDays()); err != nil {
					t.Errorf("with %d records in the log: %v", inLog, err)
				}
				if err := storetest.Verify(n.rank(t, 2), nil, sketch.AllDays()); err != nil {
					t.Errorf("what was refused later: %v", err)
				}
				n.commit(t, 1, w.Visits()...)
			})
		}
	}
}

// A batch that no record can hold is refused by itself: the store goes on.
func TestBatchTooLarge(t *testing.T) {
	n := open(t, onDisk(faultfs.New()))
	mark := sketch.Mark{Source: sketch.SourceOf([]byte("head")), To: 1}
	var views []sketch.PageView
	for i := range 1 + commitlog.MaxPayload/1024 {
		views = append(views, sketch.PageView{Path: fmt.Sprintf("/%01024d", i), Day: storetest.FirstDay})
	}
	if err := n.Commit(t.Context(), storetest.Marked(mark, sketch.NewBatch(1, views...))); !errors.Is(err, sketch.ErrBatchTooLarge) {
		t.Fatalf("committing: %v, expected ErrTooLarge", err)
	}
	views = views[:10]
	if err := n.Commit(t.Context(), storetest.Marked(mark, sketch.NewBatch(1, views...))); err != nil {
		t.Fatalf("committing a part of it: %v", err)
	}
	if err := storetest.Verify(n.rank(t, 1), views, sketch.AllDays()); err != nil {
		t.Error(err)
	}
}

// A batch is acknowledged only when it is synced: nothing that was answered is
// lost by a power cut that discards all that was not.
func TestAcknowledgedIsSynced(t *testing.T) {
	disk := faultfs.New()
	n := open(t, onDisk(disk))
	w := storetest.NewWorkload(2)
	var visits []sketch.PageView
	for range 10 {
		batch := w.Visits()
		n.commit(t, 1, batch...)
		visits = append(visits, batch...)

		after := open(t, onDisk(disk.Crash(nil)))
		if err := storetest.Verify(after.rank(t, 1), visits, sketch.AllDays()); err != nil {
			t.Fatal(err)
		}
	}
}

// blocked is a disk whose syncs wait.
type blocked struct {
	reached chan struct{} // closed when the first sync has come
	release func()
}

func block(disk *faultfs.FS) *blocked {
	reached, released := make(chan struct{}), make(chan struct{})
	b := &blocked{reached: reached, release: sync.OnceFunc(func() { close(released) })}
	first := sync.OnceFunc(func() { close(reached) })
	disk.SetHook(func(op faultfs.Op, _ string) error {
		if op == faultfs.OpSync {
			first()
			<-released
		}
		return nil
	})
	return b
}

// Where more waits than may, the next batch is refused at once and leaves
// nothing; what waits is taken, and so is the refused batch when it comes again.
func TestOverload(t *testing.T) {
	disk := faultfs.New()
	n := open(t, onDisk(disk), func(opts *store.Options) { opts.QueueBytes = 4 << 10 })
	b := block(disk)
	defer b.release()

	answers := make(chan error, 1)
	large := storetest.NewWorkload(1).Visits()
	for len(large) < 100 { // Larger than the whole queue: it passes when it is alone.
		large = append(large, large...)
	}
	go func() { answers <- n.Commit(t.Context(), sketch.NewBatch(1, large...)) }()
	<-b.reached

	head := []byte("head")
	refused := storetest.Marked(sketch.Mark{Source: sketch.SourceOf(head), To: 10},
		sketch.NewBatch(1, sketch.PageView{Path: "/refused", Day: storetest.FirstDay}))
	for range 3 {
		if err := n.Commit(t.Context(), refused); !errors.Is(err, sketch.ErrOverloaded) {
			t.Fatalf("committing while the queue is full: %v", err)
		}
	}
	b.release()
	if err := <-answers; err != nil {
		t.Fatalf("the batch that waited: %v", err)
	}
	if err := storetest.Verify(n.rank(t, 1), large, sketch.AllDays()); err != nil {
		t.Error(err)
	}
	if _, found, err := n.FindSource(t.Context(), 1, head); found || err != nil {
		t.Errorf("the mark of the refused batch is there: %v", err)
	}
	err := sketch.ErrOverloaded
	for errors.Is(err, sketch.ErrOverloaded) { // Until the memory of the first was given back.
		err = n.Commit(t.Context(), refused)
	}
	if err != nil {
		t.Fatalf("committing again: %v", err)
	}
	if err := storetest.Verify(n.rank(t, 1), slices.AppendSeq(large, refused.Views()), sketch.AllDays()); err != nil {
		t.Error(err)
	}
}

// Batches that wait at the same time share one sync.
func TestBatchesShareASync(t *testing.T) {
	disk := faultfs.New()
	n := open(t, onDisk(disk))
	// The first batch of all makes a segment, with syncs of its own.
	n.commit(t, 1, sketch.PageView{Path: "/", Day: storetest.FirstDay, Visitor: storetest.Visitor(0)})
	b := block(disk)
	defer b.release()
	const batches = 50
	answers := make(chan error, batches)
	commit := func(i int) {
		visits := []sketch.PageView{{Path: "/", Day: storetest.FirstDay, Visitor: storetest.Visitor(uint64(i))}}
		answers <- n.Commit(t.Context(), sketch.NewBatch(1, visits...))
	}
	go commit(0)
	<-b.reached
	for i := range batches - 1 {
		go commit(i + 1)
	}
	waitUntil(func() bool { return n.Waiting() == batches-1 }) // For the second sync.
	syncs := 0
	b.release()
	disk.SetHook(func(op faultfs.Op, _ string) error {
		if op == faultfs.OpSync {
			syncs++
		}
		return nil
	})
	for range batches {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	disk.SetHook(nil)
	if syncs > 1 {
		t.Errorf("%d syncs for %d batches that waited together", syncs, batches-1)
	}
	if got := n.rank(t, 1).Totals.Total; got != batches {
		t.Errorf("%d visitors, expected %d", got, batches)
	}
}

// Close takes what waits, refuses what comes later, and may come twice.
func TestClose(t *testing.T) {
	disk := faultfs.New()
	n := open(t, onDisk(disk))
	b := block(disk)
	defer b.release()
	answers := make(chan error, 2)
	v := []sketch.PageView{{Path: "/", Day: storetest.FirstDay}}
	go func() { answers <- n.Commit(t.Context(), sketch.NewBatch(1, v...)) }()
	<-b.reached
	go func() { answers <- n.Commit(t.Context(), sketch.NewBatch(2, v...)) }()
	waitUntil(func() bool { return n.Waiting() == 1 }) // For the next sync.
	closed := make(chan error)
	go func() { closed <- n.Store.Close() }()
	waitUntil(func() bool { return n.Ready() != nil })
	if err := n.Commit(t.Context(), sketch.NewBatch(1, v...)); !errors.Is(err, sketch.ErrUnavailable) {
		t.Errorf("committing while closing: %v", err)
	}
	b.release()
	for range 2 {
		if err := <-answers; err != nil {
			t.Errorf("a batch that waited: %v", err)
		}
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if err := n.Store.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if n := disk.OpenFiles(); n != 0 {
		t.Errorf("%d files are open", n)
	}
	for _, project := range []sketch.ProjectNumber{1, 2} {
		checkCells(t, n.db, project, v)
	}
	n.start(t)
}
