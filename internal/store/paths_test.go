package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/commitlog/faultfs"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// pages returns a view each of the pages numbered [from, to) of a day.
func pages(day sketch.Day, from, to int) []sketch.PageView {
	var views []sketch.PageView
	for i := from; i < to; i++ {
		views = append(views, sketch.PageView{Path: fmt.Sprintf("/%d", i), Day: day, Visitor: storetest.Visitor(1)})
	}
	return views
}

// rowsOf counts the rows of a range that are of a path of their own.
func rowsOf(t *testing.T, s storetest.Subject, project sketch.ProjectNumber, within sketch.Range) int {
	t.Helper()
	own := 0
	for _, row := range rank(t, s, project, within).Rows {
		if row.Path != sketch.OtherPath {
			own++
		}
	}
	return own
}

// A day holds no more paths than it may, whatever batches come in between: large
// ones, which might pass the limit by their size alone, and small ones, which can
// not; those of another day, and of paths that other days have.
func TestPathsOfADayAmongBatches(t *testing.T) {
	const perDay = 10
	other := storetest.FirstDay + 1
	for name, batches := range map[string][][]sketch.PageView{
		"new paths in small batches": {
			pages(storetest.FirstDay, 0, 5),
			pages(storetest.FirstDay, 0, 8), // 5 known and 8 in the batch: might be too many
			pages(storetest.FirstDay, 8, 9),
			pages(storetest.FirstDay, 9, 10),
			pages(storetest.FirstDay, 20, 30),
		},
		"known paths in small batches": {
			pages(other, 0, 5),
			pages(storetest.FirstDay, 5, 8),
			append(pages(storetest.FirstDay, 5, 8), pages(other, 3, 8)...),
			pages(storetest.FirstDay, 0, 2),
			pages(storetest.FirstDay, 20, 40),
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := open(t, func(opts *store.Options) { opts.Limits.PathsPerDay = perDay })
			memory := store.NewMemory(nil, store.Limits{PathsPerDay: perDay})
			for i, views := range batches {
				b := sketch.NewBatch(1, views...)
				for _, s := range []storetest.Subject{n, memory} {
					if err := s.Commit(t.Context(), b); err != nil {
						t.Fatal(err)
					}
				}
				if err := storetest.Compare(n.rank(t, 1), rank(t, memory, 1, sketch.AllDays())); err != nil {
					t.Errorf("after batch %d: %v", i, err)
				}
			}
			if own := rowsOf(t, n, 1, sketch.Range{From: storetest.FirstDay, To: storetest.FirstDay + 1}); own > perDay {
				t.Errorf("the day has %d paths, want %d at most", own, perDay)
			}
		})
	}
}

// TestPathLimitsAsMemory drives the store and its twin through the same page views
// with limits so small that most batches meet them, and the store alone through
// refusals, forgetting, checkpoints and restarts: both choose the same rows. Each
// project has a writer of its own, and all write at the same time.
func TestPathLimitsAsMemory(t *testing.T) {
	for seed := range uint64(rounds(t, 5)) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { pathLimits(t, seed) })
	}
}

func pathLimits(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	limits := store.Limits{PathsPerDay: 2 + random.IntN(20), PathsPerProject: []int{3 + random.IntN(20), 1000}[random.IntN(2)]}
	var asked atomic.Int64
	n := open(t, func(opts *store.Options) {
		opts.Limits = limits
		opts.KnownPaths = []int{1, 20, 1000}[random.IntN(3)]
		opts.QueueBytes = []int{1, 2 << 10, 1 << 20}[random.IntN(3)]
		if random.IntN(2) == 0 {
			small(opts)
		}
		opts.Room = func() error {
			if seed%2 == 0 && asked.Add(1)%5 == 0 {
				return fmt.Errorf("%w: for a test", sketch.ErrDiskFull)
			}
			return nil
		}
	})
	writers := make([]*limited, []int{1, 3, 12}[seed%3])
	for i := range writers {
		writers[i] = &limited{
			project: sketch.ProjectNumber(1 + i),
			random:  rand.New(rand.NewPCG(seed, uint64(10+i))),
			memory:  store.NewMemory(nil, limits),
		}
	}
	for range 3 {
		var running sync.WaitGroup
		for _, w := range writers {
			running.Go(func() { w.run(t, n) })
		}
		running.Wait()
		if t.Failed() {
			return
		}
		if random.IntN(2) == 0 {
			n.restart(t)
		} else {
			n.Reopen(t)
		}
		for _, w := range writers {
			w.compare(t, n)
		}
	}
}

// limited is the writer of one project.
type limited struct {
	project sketch.ProjectNumber
	random  *rand.Rand
	memory  *store.Memory
	offset  int64 // of the one source
	taken   int
}

func (w *limited) run(t *testing.T, n *node) {
	for range 30 {
		var views []sketch.PageView
		for range 1 + w.random.IntN([]int{2, 8, 40}[w.random.IntN(3)]) {
			views = append(views, sketch.PageView{
				Path:    fmt.Sprintf("/%d", min(w.random.IntN(30), w.random.IntN(30))),
				Day:     storetest.FirstDay + sketch.Day(w.random.IntN(3)),
				Visitor: storetest.Visitor(w.random.Uint64N(20)),
				Traffic: sketch.Traffic(w.random.IntN(2)),
			})
		}
		b := sketch.NewBatch(w.project, views...)
		switch w.random.IntN(4) {
		case 0: // Of a source that has moved.
			b.Mark = sketch.Mark{Source: sketch.SourceOf([]byte("head")), From: w.offset + 1, To: w.offset + 2}
			if err := w.commit(t, n, b); !errors.Is(err, sketch.ErrSourceMoved) {
				t.Errorf("project %d: a moved source: %v", w.project, err)
				return
			}
			continue
		case 1:
			b.Mark = sketch.Mark{Source: sketch.SourceOf([]byte("head")), From: w.offset, To: w.offset + 3}
			w.offset += 3
		}
		before := len(b.Paths)
		if err := w.commit(t, n, b); err != nil {
			t.Errorf("project %d: %v", w.project, err)
			return
		}
		if len(b.Paths) != before || string(b.Paths[0]) == sketch.OtherPath {
			t.Errorf("project %d: the caller's batch was changed", w.project)
		}
		if err := w.memory.Commit(t.Context(), b); err != nil {
			t.Errorf("the twin refuses: %v", err)
			return
		}
		if w.taken++; w.taken%5 == 0 && !w.compare(t, n) {
			return
		}
	}
}

// commit commits a batch until there is room for it.
func (w *limited) commit(t *testing.T, n *node, b sketch.Batch) error {
	err := n.Commit(t.Context(), b)
	for errors.Is(err, sketch.ErrOverloaded) || errors.Is(err, sketch.ErrDiskFull) {
		runtime.Gosched()
		err = n.Commit(t.Context(), b)
	}
	return err
}

func (w *limited) compare(t *testing.T, n *node) bool {
	days := sketch.Range{From: storetest.FirstDay, To: storetest.FirstDay + 1}
	for _, within := range []sketch.Range{sketch.AllDays(), days} {
		got, err := store.Rank(t.Context(), n, w.project, within)
		if err != nil {
			t.Errorf("project %d: %v", w.project, err)
			return false
		}
		want, err := store.Rank(t.Context(), w.memory, w.project, within)
		if err == nil {
			err = storetest.Compare(got, want)
		}
		if err != nil {
			t.Errorf("project %d after %d batches: %v", w.project, w.taken, err)
			return false
		}
	}
	return true
}

// The metric counts the page views of the row (other), and only those: not those of
// batches that were refused. The log says it once a day and project, whatever is
// forgotten and read again.
func TestOverflowIsReported(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	var log strings.Builder
	var full atomic.Bool
	c := &testClock{}
	disk := faultfs.New()
	n := open(t, onDisk(disk), func(opts *store.Options) {
		opts.QueueBytes = 4 << 10
		opts.Limits.PathsPerDay = 3
		opts.Registerer = registry
		opts.Logger = textLogger(&log)
		opts.Now = c.now
		opts.Room = func() error {
			if full.Load() {
				return sketch.ErrDiskFull
			}
			return nil
		}
	})
	overflow := func(want float64) {
		t.Helper()
		if got := counter(t, registry, "footfall_overflow_views_total"); got != want {
			t.Errorf("the metric is %v, want %v", got, want)
		}
	}
	warnings := func(want int) {
		t.Helper()
		if got := strings.Count(log.String(), "level=WARN"); got != want {
			t.Errorf("%d warnings, want %d:\n%s", got, want, log.String())
		}
	}
	n.commit(t, 1, pages(storetest.FirstDay, 0, 3)...)
	overflow(0)
	warnings(0)
	n.commit(t, 1, append(pages(storetest.FirstDay, 2, 5), pages(storetest.FirstDay, 3, 5)...)...)
	overflow(4)
	warnings(1)
	full.Store(true)
	for range 3 {
		if err := n.Commit(t.Context(), sketch.NewBatch(1, pages(storetest.FirstDay, 0, 10)...)); !errors.Is(err, sketch.ErrDiskFull) {
			t.Fatal(err)
		}
	}
	full.Store(false)
	overflow(4)
	g := newGate(disk)
	waits := make(chan error, 1)
	go func() { waits <- n.Commit(t.Context(), sketch.NewBatch(1, pages(storetest.FirstDay, 0, 1)...)) }()
	<-g.reached
	for range 3 { // More than is left of the queue.
		if err := n.Commit(t.Context(), sketch.NewBatch(1, pages(storetest.FirstDay, 0, 2000)...)); !errors.Is(err, sketch.ErrOverloaded) {
			t.Errorf("a large batch: %v", err)
		}
	}
	g.open()
	if err := answer(t, waits, "a batch"); err != nil {
		t.Fatal(err)
	}
	disk.SetHook(nil)
	overflow(4)
	n.commit(t, 1, pages(storetest.FirstDay+1, 0, 5)...)
	overflow(6)
	warnings(1)
	n.commit(t, 2, pages(storetest.FirstDay, 0, 4)...)
	overflow(7)
	warnings(2)
	c.advance(24)
	n.commit(t, 1, pages(storetest.FirstDay, 5, 6)...)
	n.commit(t, 1, pages(storetest.FirstDay, 6, 7)...)
	overflow(9)
	warnings(3)
}
