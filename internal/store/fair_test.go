package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"footfall/internal/commitlog/faultfs"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// gate lets syncs pass one by one.
type gate struct {
	reached chan struct{} // one for each sync that has come
	tokens  chan struct{} // one for each that may go
}

func newGate(disk *faultfs.FS) *gate {
	g := &gate{reached: make(chan struct{}, 1000), tokens: make(chan struct{}, 1000)}
	disk.SetHook(func(op faultfs.Op, _ string) error {
		if op == faultfs.OpSync {
			g.reached <- struct{}{}
			<-g.tokens
		}
		return nil
	})
	return g
}

func (g *gate) open() { close(g.tokens) }

// heavy is a batch whose record has about 60 KiB.
func heavy(project sketch.ProjectNumber, number int) sketch.Batch {
	var views []sketch.PageView
	for i := range 60 {
		path := fmt.Sprintf("/%d/%d/%s", number, i, strings.Repeat("x", 1000))
		views = append(views, sketch.PageView{Path: path, Day: storetest.FirstDay, Visitor: storetest.Visitor(uint64(number))})
	}
	return sketch.NewBatch(project, views...)
}

// A project that sends more than is worked off fills its share of the queue, and is
// refused beyond it. Another one's batch is still taken, and is durable with the
// group that follows the one being written, which has a part of what waits before it.
func TestFairShare(t *testing.T) {
	const queueBytes = 32 << 20
	const greedy, modest = 1, 2
	disk := faultfs.New()
	n := open(t, onDisk(disk), func(opts *store.Options) { opts.QueueBytes = queueBytes })
	g := newGate(disk)

	answers := make(chan error, 1000)
	sent := 0
	var refusal error
	push := func() {
		b := heavy(greedy, sent)
		sent++
		waited := n.Waiting()
		go func() { answers <- n.Commit(t.Context(), b) }()
		if sent == 1 {
			<-g.reached
			return
		}
		waitUntil(func() bool {
			select {
			case refusal = <-answers:
				return true
			default:
				return n.Waiting() > waited
			}
		})
	}
	for refusal == nil && sent < 900 {
		push()
	}
	if !errors.Is(refusal, sketch.ErrOverloaded) {
		t.Fatalf("batch %d of the greedy project: %v", sent, refusal)
	}
	// Half of the queue: what it holds may be as much as what is free.
	if waiting := n.Waiting() * 60 << 10; waiting < queueBytes/3 || waiting > queueBytes/2 {
		t.Errorf("%d bytes wait, want about %d", waiting, queueBytes/2)
	}

	answered := make(chan error, 1)
	waited := n.Waiting()
	go func() {
		answered <- n.Commit(t.Context(), sketch.NewBatch(modest, sketch.PageView{Path: "/", Day: storetest.FirstDay}))
	}()
	waitUntil(func() bool { return n.Waiting() > waited || len(answered) > 0 })
	if err := n.Commit(t.Context(), heavy(greedy, 1000)); !errors.Is(err, sketch.ErrOverloaded) {
		t.Errorf("one more of the greedy project: %v", err)
	}

	// Syncs pass one by one, those of the first batch and of the group after it. What
	// waits grows less with each group that is taken.
	g.tokens <- struct{}{}
	for groups, waiting := 1, n.Waiting(); groups < 3; {
		<-g.reached
		if left := n.Waiting(); left < waiting {
			groups, waiting = groups+1, left
		}
		if groups < 3 {
			g.tokens <- struct{}{}
		}
	}
	if err := answer(t, answered, "the modest project"); err != nil {
		t.Fatal(err)
	}
	if len(answers) > sent*2/3 {
		t.Errorf("%d of %d greedy batches were answered before it", len(answers), sent)
	}
	g.open()
	for range sent - 1 {
		if err := answer(t, answers, "a greedy batch"); err != nil {
			t.Fatal(err)
		}
	}
	if own := rowsOf(t, n, greedy, sketch.AllDays()); own != 60*(sent-1) {
		t.Errorf("the greedy project has %d rows, want %d", own, 60*(sent-1))
	}
	if own := rowsOf(t, n, modest, sketch.AllDays()); own != 1 {
		t.Errorf("the modest project has %d rows", own)
	}
	disk.SetHook(nil)
}
