package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"footfall/internal/commitlog/faultfs"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// Whatever is merged when, and however a process ended, there is one answer: that
// of the twin, which knows no days, blocks or caches.
func TestBlocksDoNotChangeAnswers(t *testing.T) {
	for seed := range uint64(rounds(t, 2)) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { mergeAtRandom(t, seed) })
	}
}

func mergeAtRandom(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 3))
	now := storetest.FirstDay + 700
	n := open(t, onDisk(faultfs.New()), func(opts *store.Options) {
		opts.Now = func() time.Time { return now.Start() }
		opts.CacheBytes = []int{1, 64 << 10, 8 << 20}[random.IntN(3)]
		opts.NumberedPaths = []int{1, 1000}[random.IntN(2)]
		opts.OverlayBytes = []int{64 << 10, 1 << 20}[random.IntN(2)]
	})
	memory := store.NewMemory(nil, store.Limits{})
	const days = 700
	var visits []sketch.PageView
	commit := func() {
		center, width := random.IntN(days), 1+random.IntN(80)
		crowd := []uint64{20, 400, 6000}[random.IntN(3)]
		batch := make([]sketch.PageView, 0, 1000)
		for range 1 + random.IntN(1000) {
			batch = append(batch, sketch.PageView{
				Path:    fmt.Sprintf("/%d", min(random.IntN(600), random.IntN(600), random.IntN(600))),
				Visitor: storetest.Visitor(random.Uint64N(crowd)),
				Day:     storetest.FirstDay + sketch.Day(min(center+random.IntN(width), days+2)), // a few not over
				Traffic: sketch.Traffic(random.IntN(4) / 3),
			})
		}
		n.commit(t, 1, batch...)
		if err := memory.Commit(t.Context(), sketch.NewBatch(1, batch...)); err != nil {
			t.Fatal(err)
		}
		visits = append(visits, batch...)
	}
	compare := func() {
		from := storetest.FirstDay + sketch.Day(random.IntN(days))
		within := sketch.Range{From: from, To: from + sketch.Day(random.IntN(days))}
		got, err := storetest.Rank(t.Context(), n, 1, within)
		if err != nil {
			t.Fatal(err)
		}
		want, err := store.Rank(t.Context(), memory, 1, within)
		if err != nil {
			t.Fatal(err)
		}
		if err := storetest.Compare(got, want); err != nil {
			t.Fatalf("%v: %v", within, err)
		}
	}
	for range 40 {
		commit()
	}
	merged := 0
	for range 30 {
		var err error
		switch random.IntN(9) {
		case 0, 1:
			commit()
		case 2:
			err = n.Checkpoint()
		case 3, 4:
			err = n.BuildBlocks()
		case 5:
			n.restart(t)
		case 6:
			if err = n.Kill(); err == nil {
				err = n.InterruptCheckpoint(float64(random.IntN(5)) / 4)
				n.start(t)
			}
		case 7:
			compare()
		case 8:
			before := storetest.FirstDay + sketch.Day(random.IntN(40))
			err = errors.Join(n.DeleteDays(t.Context(), 1, before), memory.DeleteDays(t.Context(), 1, before))
			visits = slices.DeleteFunc(visits, func(v sketch.PageView) bool { return v.Day < before })
		}
		if err != nil {
			t.Fatal(err)
		}
		compare()
		blocks, err := n.Blocks(1)
		if err != nil {
			t.Fatal(err)
		}
		merged = max(merged, blocks)
	}
	if err := n.BuildBlocks(); err != nil {
		t.Fatal(err)
	}
	compare()
	checkCells(t, n.db, 1, visits)
	if merged < 20 {
		t.Errorf("there were %d blocks", merged)
	}
}

// A late page view takes the blocks that hold its day out of use before it is
// written, and they come back with it.
func TestLateViewIsMerged(t *testing.T) {
	n := open(t, onDisk(faultfs.New()))
	var visits []sketch.PageView
	for day := range sketch.Day(512 + 64) {
		visits = append(visits, sketch.PageView{Path: "/", Visitor: sketch.Hash(day + 1), Day: storetest.FirstDay + day})
	}
	n.commit(t, 1, visits...)
	blocks := func() int {
		t.Helper()
		blocks, err := n.Blocks(1)
		if err != nil {
			t.Fatal(err)
		}
		return blocks
	}
	if err := n.BuildBlocks(); err != nil {
		t.Fatal(err)
	}
	before := blocks()
	if before < 512/8+512/64 {
		t.Fatalf("%d days make %d blocks", len(visits), before)
	}
	late := sketch.PageView{Path: "/", Visitor: 5000, Day: storetest.FirstDay + 300, Traffic: sketch.AI}
	n.commit(t, 1, late)
	visits = append(visits, late)
	check := func() {
		t.Helper()
		if err := storetest.Verify(n.rank(t, 1), visits, sketch.AllDays()); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if err := n.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	check()
	if now := blocks(); now >= before {
		t.Fatalf("of %d blocks, %d are in use after a late view", before, now)
	}
	if err := n.BuildBlocks(); err != nil {
		t.Fatal(err)
	}
	check()
	if now := blocks(); now != before {
		t.Fatalf("%d blocks come back of %d", now, before)
	}
	checkCells(t, n.db, 1, visits)
}

// What is damaged of one project keeps no block of another from being built, and no
// page view from being taken.
func TestDamageConcernsItsProjectAlone(t *testing.T) {
	n := open(t, onDisk(faultfs.New()), func(opts *store.Options) {
		opts.Now = func() time.Time { return (storetest.FirstDay).Start() } // Nothing is over.
	})
	for day := range sketch.Day(3) {
		for _, project := range []sketch.ProjectNumber{1, 2} {
			n.commit(t, project, sketch.PageView{Path: "/a", Visitor: 1, Day: storetest.FirstDay + day})
		}
	}
	if err := n.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	value := get(t, n.db, rootKey(storetest.FirstDay))
	value[len(value)-1] ^= 1
	put(t, n.db, rootKey(storetest.FirstDay), value)
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	n.opts.Now = nil
	n.start(t)
	if err := n.Merge(); err != nil {
		t.Errorf("building blocks: %v", err)
	}
	if blocks, err := n.Blocks(2); err != nil || blocks == 0 {
		t.Errorf("the other project has %d blocks, %v", blocks, err)
	}
	n.commit(t, 2, sketch.PageView{Path: "/a", Visitor: 2, Day: storetest.FirstDay + 100})
	if err := n.Ready(); err != nil {
		t.Errorf("ready: %v", err)
	}
	if err := rankAll(t, n); !errors.Is(err, sketch.ErrCorrupted) {
		t.Errorf("ranking what is damaged: %v", err)
	}
}
