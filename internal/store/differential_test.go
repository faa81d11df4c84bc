package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"footfall/internal/commitlog/faultfs"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// TestStoreAnswersAsMemory drives the store and its twin through the same page
// views, and the store alone through overload, checkpoints without end, failing
// disks, kills, power cuts and checkpoints that were cut short. What was
// acknowledged must be there, views and all; a batch that was never answered is
// there whole or not at all. FOOTFALL_ROUNDS sets the number of seeds.
func TestStoreAnswersAsMemory(t *testing.T) {
	seeds := rounds(t, 7)
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { differ(t, seed) })
	}
}

var errPower = errors.New("the power is gone")

type driver struct {
	t      *testing.T
	random *rand.Rand
	node   *node
	disk   *faultfs.FS
	actors []*actor
}

// actor is a writer with a project of its own, so that of its batches one at most
// is unanswered when the process ends.
type actor struct {
	project    sketch.ProjectNumber
	random     *rand.Rand
	workload   *storetest.Workload
	memory     *store.Memory
	acked      []sketch.Batch
	unanswered *sketch.Batch
}

func differ(t *testing.T, seed uint64) {
	d := &driver{t: t, random: rand.New(rand.NewPCG(seed, 1)), disk: faultfs.New()}
	for i := range uint64(3) {
		a := &actor{
			project:  sketch.ProjectNumber(1 + i),
			random:   rand.New(rand.NewPCG(seed, 2+i)),
			workload: storetest.NewWorkload(10*seed + i),
			memory:   store.NewMemory(nil, store.Limits{}),
		}
		if i == 0 {
			a.workload.Crowd = 700
		}
		d.actors = append(d.actors, a)
	}
	d.node = open(t, func(opts *store.Options) {
		opts.LogDir = "/data/log"
		d.bounds(opts)
	})
	for range 7 {
		d.round()
	}
	if err := d.node.Store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, a := range d.actors {
		checkCells(t, d.node.db, a.project, visitsOf(a.acked))
	}
	d.node.start(t)
}

// bounds chooses how often checkpoints come, and how soon the queue is full.
func (d *driver) bounds(opts *store.Options) {
	opts.LogFS = unreserved{d.disk}
	if d.random.IntN(8) == 0 {
		opts.LogFS = d.disk
	}
	opts.QueueBytes = []int{1, 8 << 10, 1 << 20}[d.random.IntN(3)]
	opts.OverlayBytes = []int{1, 16 << 10, 1 << 20}[d.random.IntN(3)]
	opts.LogBytes = []int64{1, 4 << 10, 1 << 20}[d.random.IntN(3)]
}

// round is the life of one process, and its end.
func (d *driver) round() {
	left := -1
	if d.random.IntN(3) > 0 {
		left = 1 + d.random.IntN(80)
	}
	d.disk.SetHook(func(op faultfs.Op, _ string) error {
		if left > 0 && op.Changes() {
			left--
		}
		if left == 0 {
			return errPower
		}
		return nil
	})
	var running sync.WaitGroup
	for _, a := range d.actors {
		running.Go(func() { a.run(d.t, d.node) })
	}
	running.Wait()
	d.end()
	d.node.start(d.t)
	for _, a := range d.actors {
		a.resolve(d.t, d.node)
	}
}

// end ends the process in one of the ways in which processes end.
func (d *driver) end() {
	if d.random.IntN(4) == 0 {
		// The clean way; a log that failed says so once more.
		if err := d.node.Store.Close(); err != nil && !errors.Is(err, errPower) {
			d.t.Fatalf("closing: %v", err)
		}
	} else {
		if err := d.node.Kill(); err != nil {
			d.t.Fatalf("killing: %v", err)
		}
		if d.random.IntN(2) == 0 {
			if err := d.node.InterruptCheckpoint(float64(d.random.IntN(5)) / 4); err != nil {
				d.t.Fatalf("interrupting a checkpoint: %v", err)
			}
		}
	}
	d.node.Store = nil
	d.disk.SetHook(nil)
	switch d.random.IntN(3) {
	case 0: // What was written stays, synced or not.
	case 1:
		d.disk = d.disk.Crash(nil)
	case 2:
		d.disk = d.disk.Crash(d.random)
	}
	if d.random.IntN(3) == 0 {
		if err := d.node.db.Close(); err != nil {
			d.t.Fatalf("closing the database: %v", err)
		}
		d.node.openDatabase(d.t)
	}
	d.bounds(&d.node.opts)
}

func (a *actor) run(t *testing.T, n *node) {
	for range 4 + a.random.IntN(16) {
		b := a.batch()
		err := n.Commit(t.Context(), b)
		for errors.Is(err, sketch.ErrOverloaded) {
			runtime.Gosched()
			err = n.Commit(t.Context(), b)
		}
		switch {
		case err == nil:
			a.keep(t, b)
		case errors.Is(err, sketch.ErrUnavailable) && errors.Is(err, errPower):
			a.unanswered = &b
			return
		default:
			t.Errorf("project %d: committing: %v", a.project, err)
			return
		}
		if a.random.IntN(6) == 0 {
			if err := n.Merge(); err != nil {
				t.Errorf("building blocks: %v", err)
			}
		}
		if a.random.IntN(3) == 0 {
			if err := a.compare(t, n, a.memory); err != nil {
				t.Errorf("project %d after %d batches: %v", a.project, len(a.acked), err)
				return
			}
		}
	}
}

func (a *actor) keep(t *testing.T, b sketch.Batch) {
	a.acked = append(a.acked, b)
	if err := a.memory.Commit(t.Context(), b); err != nil {
		t.Errorf("the twin refuses: %v", err)
	}
}

// heads are how the actors' sources begin: two that differ and one that goes on.
var heads = []string{"first", "second", "second source"}

func (a *actor) batch() sketch.Batch {
	b := sketch.NewBatch(a.project, a.workload.Visits()...)
	if a.random.IntN(2) == 0 {
		b.Mark.Source = sketch.SourceOf([]byte(heads[a.random.IntN(len(heads))]))
		for _, earlier := range a.acked {
			if earlier.Mark.Source == b.Mark.Source {
				b.Mark.From = earlier.Mark.To
			}
		}
		b.Mark.To = b.Mark.From + 1 + a.random.Int64N(1000)
		b.Mark.Lines = b.Mark.To / 3
		b.Mark.Tail[0] = byte(a.random.Uint32())
	}
	return b
}

// resolve finds out what became of the batch that was not answered.
func (a *actor) resolve(t *testing.T, n *node) {
	t.Helper()
	err := a.compare(t, n, a.memory)
	if b := a.unanswered; err != nil && b != nil {
		with := memoryOf(t, append(a.acked[:len(a.acked):len(a.acked)], *b)...)
		if errWith := a.compare(t, n, with); errWith != nil {
			t.Fatalf("project %d after %d batches: without the unanswered batch: %v; with it: %v", a.project, len(a.acked), err, errWith)
		}
		a.acked, a.memory = append(a.acked, *b), with
		err = nil
	}
	a.unanswered = nil
	if err != nil {
		t.Fatalf("project %d after %d batches: %v", a.project, len(a.acked), err)
	}
}

// compare asks the store and a twin the same questions.
func (a *actor) compare(t *testing.T, n *node, memory *store.Memory) error {
	for _, within := range []sketch.Range{sketch.AllDays(), a.workload.Range(), a.workload.Range()} {
		got, err := store.Rank(t.Context(), n, a.project, within)
		if err != nil {
			return fmt.Errorf("ranking %v: %w", within, err)
		}
		want, err := store.Rank(t.Context(), memory, a.project, within)
		if err != nil {
			return err
		}
		if err := storetest.Compare(got, want); err != nil {
			return fmt.Errorf("%v: %w", within, err)
		}
	}
	for _, head := range append(heads, "second source and on", "third") {
		got, found, err := n.FindSource(t.Context(), a.project, []byte(head))
		if err != nil {
			return fmt.Errorf("finding source %q: %w", head, err)
		}
		want, wantFound, err := memory.FindSource(t.Context(), a.project, []byte(head))
		if err != nil {
			return err
		}
		if found != wantFound || got != want {
			return fmt.Errorf("source %q is %+v, %v; expected %+v, %v", head, got, found, want, wantFound)
		}
	}
	return nil
}
