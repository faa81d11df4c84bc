package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"footfall/internal/commitlog/faultfs"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// room is what a store asks whether there is room.
type room struct {
	full atomic.Bool
	held atomic.Pointer[hold]
}

// hold keeps the next question waiting for its answer.
type hold struct {
	asked, answer chan struct{}
}

func (r *room) ask() error {
	if h := r.held.Swap(nil); h != nil {
		close(h.asked)
		<-h.answer
	}
	if r.full.Load() {
		return fmt.Errorf("%w: in a test", sketch.ErrDiskFull)
	}
	return nil
}

func (r *room) hold() *hold {
	h := &hold{asked: make(chan struct{}), answer: make(chan struct{})}
	r.held.Store(h)
	return h
}

// refused reports whether an error says that nothing was kept and the same may be
// sent again.
func refused(err error) bool {
	return errors.Is(err, sketch.ErrDiskFull) || errors.Is(err, sketch.ErrOverloaded)
}

// Where there is no room, batches are refused, nothing of them is kept, neither
// page views nor the mark nor the receipt nor a path's place, and the log is not
// touched. With room again the same store goes on.
func TestRoom(t *testing.T) {
	var r room
	disk := faultfs.New()
	n := open(t, onDisk(disk), func(opts *store.Options) {
		opts.Limits = store.Limits{PathsPerProject: 5, Receipts: 2}
		opts.Room = r.ask
	})
	kept := pages(storetest.FirstDay, 0, 2)
	n.commit(t, 1, kept...)

	r.full.Store(true)
	if err := n.Ready(); !errors.Is(err, sketch.ErrDiskFull) {
		t.Errorf("ready: %v", err)
	}
	var written atomic.Int64
	disk.SetHook(func(op faultfs.Op, _ string) error {
		if op.Changes() {
			written.Add(1)
		}
		return nil
	})
	marked := storetest.Marked(sketch.Mark{Source: sketch.SourceOf([]byte("head")), To: 10}, sketch.NewBatch(1, pages(storetest.FirstDay, 100, 103)...))
	keyed := func(key byte) sketch.Batch {
		b := sketch.NewBatch(1, pages(storetest.FirstDay, 100, 103)...)
		b.Receipt = &sketch.Receipt{Key: [32]byte{key}, Taken: 1 << 40}
		return b
	}
	for i := range 10 {
		for _, b := range []sketch.Batch{marked, keyed(byte(i)), sketch.NewBatch(1, pages(storetest.FirstDay, 10*i, 10*i+4)...)} {
			if err := n.Commit(t.Context(), b); !errors.Is(err, sketch.ErrDiskFull) {
				t.Fatalf("committing: %v", err)
			}
		}
		if _, found, err := n.FindReceipt(t.Context(), 1, [32]byte{byte(i)}); found || err != nil {
			t.Errorf("receipt %d is there: %v", i, err)
		}
	}
	disk.SetHook(nil)
	if n := written.Load(); n > 0 {
		t.Errorf("the log was changed %d times", n)
	}
	if _, found, err := n.FindSource(t.Context(), 1, []byte("head")); found || err != nil {
		t.Errorf("the mark is there: %v", err)
	}
	if err := storetest.Verify(n.rank(t, 1), kept, sketch.AllDays()); err != nil {
		t.Error(err)
	}

	r.full.Store(false)
	if err := n.Ready(); err != nil {
		t.Errorf("ready: %v", err)
	}
	// As many paths and receipts as may be: those refused take no place.
	for _, b := range []sketch.Batch{marked, keyed(0), keyed(1)} {
		if err := n.Commit(t.Context(), b); err != nil {
			t.Fatalf("committing with room again: %v", err)
		}
		kept = append(kept, pages(storetest.FirstDay, 100, 103)...)
	}
	n.commit(t, 1, pages(storetest.FirstDay, 200, 201)...)
	kept = append(kept, sketch.PageView{Path: sketch.OtherPath, Day: storetest.FirstDay, Visitor: storetest.Visitor(1)})
	if err := storetest.Verify(n.rank(t, 1), kept, sketch.AllDays()); err != nil {
		t.Error(err)
	}
}

// A batch that is being decided while those before it are refused is answered: what
// it waits for, that its project has none between Commit and folding, comes about
// also where nothing is folded.
func TestRefusedWhileAnotherIsDecided(t *testing.T) {
	var r room
	disk := faultfs.New()
	n := open(t, onDisk(disk), func(opts *store.Options) {
		opts.Room = r.ask
		opts.Limits.PathsPerProject = 1 // So the paths of each day are read.
	})
	g := newGate(disk)
	answers := [3]chan error{make(chan error, 1), make(chan error, 1), make(chan error, 1)}
	commit := func(i int) {
		b := sketch.NewBatch(1, pages(storetest.FirstDay+sketch.Day(i/2), 0, 2)...)
		go func() { answers[i] <- n.Commit(t.Context(), b) }()
	}
	commit(0)
	<-g.reached
	commit(1) // Of the same day: it waits for the writer.
	waitUntil(func() bool { return n.Waiting() == 1 })
	commit(2) // Of another day, whose paths are not known: it waits for both.
	waitUntil(func() bool { return n.Deciding(1) })
	h := r.hold()
	g.open()
	if err := answer(t, answers[0], "the first batch"); err != nil {
		t.Fatal(err)
	}
	<-h.asked
	if got := rowsOf(t, n, 1, sketch.AllDays()); got != 1 { // It waits until the first one is folded.
		t.Errorf("%d rows", got)
	}
	r.full.Store(true)
	close(h.answer)
	if err := answer(t, answers[1], "the batch that is refused"); !errors.Is(err, sketch.ErrDiskFull) {
		t.Fatal(err)
	}
	if err := answer(t, answers[2], "the batch that was being decided"); !refused(err) {
		t.Fatal(err)
	}
	r.full.Store(false)
	disk.SetHook(nil)
	n.commit(t, 1, pages(storetest.FirstDay+1, 0, 2)...)
	if got := n.rank(t, 1).Views[sketch.Human]; got != 4 {
		t.Errorf("%d views, want 4", got)
	}
}

// watched is a context that knows how often it was waited for.
type watched struct {
	context.Context
	asked atomic.Int64
}

func (w *watched) Done() <-chan struct{} {
	w.asked.Add(1)
	return w.Context.Done()
}

// Where a batch of a receipt is refused, so are those of the same receipt that wait
// for it: none is told that another one was taken.
func TestRefusedReceipt(t *testing.T) {
	const senders = 8
	var r room
	disk := faultfs.New()
	n := open(t, onDisk(disk), func(opts *store.Options) { opts.Room = r.ask })
	b := sketch.NewBatch(1, pages(storetest.FirstDay, 0, 2)...)
	b.Receipt = &sketch.Receipt{Key: [32]byte{1}, Taken: 1 << 40}
	g := newGate(disk)
	first, answers := make(chan error, 1), make(chan error, senders)
	go func() { first <- n.Commit(t.Context(), sketch.NewBatch(2, pages(storetest.FirstDay, 0, 2)...)) }()
	<-g.reached
	go func() { answers <- n.Commit(t.Context(), b) }()
	waitUntil(func() bool { return n.Waiting() == 1 })
	waiting := &watched{Context: t.Context()}
	for range senders - 1 {
		go func() { answers <- n.Commit(waiting, b) }()
	}
	waitUntil(func() bool { return waiting.asked.Load() >= senders-1 })
	r.full.Store(true)
	g.open()
	if err := answer(t, first, "the batch before"); err != nil {
		t.Fatal(err)
	}
	for range senders {
		if err := answer(t, answers, "a batch of the receipt"); !refused(err) {
			t.Fatalf("a batch of a receipt that was refused: %v", err)
		}
	}
	disk.SetHook(nil)
	if _, found, err := n.FindReceipt(t.Context(), 1, b.Receipt.Key); found || err != nil {
		t.Fatalf("the receipt is there: %v", err)
	}
	r.full.Store(false)
	if err := n.Commit(t.Context(), b); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// Batches of a source that are refused for want of room, while they wait for a
// checkpoint or when they are written, leave nothing: the same lines are taken
// again, once, and the next ones behind them. Which of the two are refused is left
// to chance.
func TestRefusedMark(t *testing.T) {
	var r room
	n := open(t, onDisk(faultfs.New()), func(opts *store.Options) {
		opts.OverlayBytes = 1
		opts.Room = r.ask
	})
	views := pages(storetest.FirstDay, 0, 1)
	send := func(from, to int64) chan error {
		mark := sketch.Mark{Source: sketch.SourceOf([]byte("head")), From: from, To: to}
		answers := make(chan error, 1)
		go func() { answers <- n.Commit(t.Context(), storetest.Marked(mark, sketch.NewBatch(1, views...))) }()
		return answers
	}
	// settled waits until each batch waits for the writer, or is answered.
	settled := func(sent ...chan error) {
		waitUntil(func() bool {
			count := n.Waiting()
			for _, answers := range sent {
				count += len(answers)
			}
			return count >= len(sent)
		})
	}
	var before, behind error
	var again, next chan error
	meanwhile := func() {
		n.commit(t, 1, views...) // From here on the writer waits, or after one group more.
		waitUntil(func() bool { return n.OverlaySize() > 0 })
		first := send(0, 10)
		settled(first)
		second := send(10, 20)
		settled(first, second)
		r.full.Store(true)
		before, behind = answer(t, first, "a batch"), answer(t, second, "the batch behind it")
		r.full.Store(false)
		again = send(0, 10)
		settled(again)
		next = send(10, 20)
		settled(again, next)
	}
	var once sync.Once
	if err := n.HoldCheckpoint(1, func() { once.Do(meanwhile) }); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what   string
		first  error
		second chan error
	}{{"a batch", before, again}, {"the batch behind it", behind, next}} {
		want := error(nil)
		if test.first == nil {
			want = sketch.ErrSourceMoved
		} else if !errors.Is(test.first, sketch.ErrDiskFull) {
			t.Errorf("%s: %v", test.what, test.first)
		}
		if err := answer(t, test.second, test.what); !errors.Is(err, want) {
			t.Errorf("%s, which was answered %v, again: %v, want %v", test.what, test.first, err, want)
		}
	}
	if got := n.rank(t, 1).Views[sketch.Human]; got != 3 {
		t.Errorf("%d views, want 3", got)
	}
}
