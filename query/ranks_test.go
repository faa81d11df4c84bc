package query_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"footfall/sketch"
)

// ranks is a Ranker that is told what to answer, and remembers what it was asked. It
// holds those who use its snapshots to their contract.
type ranks struct {
	// answer is asked at each Snapshot. It may be nil.
	answer func(sketch.ProjectNumber, sketch.Range) (*sketch.Ranking, error)
	// top and all are called when a snapshot's Top and All begin, with what it holds.
	// They may be nil.
	top, all func(context.Context, *sketch.Ranking) error
	// bytes is what a listing says that it takes.
	bytes int

	mu     sync.Mutex
	asked  int
	number sketch.ProjectNumber
	within sketch.Range
	open   int // snapshots
	made   int // listings
	misuse []string
}

func (r *ranks) Snapshot(ctx context.Context, number sketch.ProjectNumber, within sketch.Range) (sketch.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	r.number, r.within = number, within
	ranking := &sketch.Ranking{}
	if r.answer != nil {
		var err error
		if ranking, err = r.answer(number, within); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.open++
	return &snapshot{ranks: r, ranking: ranking}, nil
}

// counts returns how many snapshots were asked for, how many are open, and how many
// listings were made.
func (r *ranks) counts() (asked, open, made int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked, r.open, r.made
}

func (r *ranks) checkClosed(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != 0 {
		t.Errorf("%d snapshots are open", r.open)
	}
	for _, what := range r.misuse {
		t.Error(what)
	}
}

type snapshot struct {
	ranks   *ranks
	ranking *sketch.Ranking
	busy    atomic.Bool
	closed  atomic.Bool
}

// enter notes a use that the contract forbids.
func (s *snapshot) enter(use string) (leave func()) {
	if !s.busy.CompareAndSwap(false, true) {
		s.note(use + " of a snapshot beside another use")
	}
	if use != "Close" && s.closed.Load() {
		s.note(use + " of a closed snapshot")
	}
	return func() { s.busy.Store(false) }
}

func (s *snapshot) note(misuse string) {
	s.ranks.mu.Lock()
	defer s.ranks.mu.Unlock()
	s.ranks.misuse = append(s.ranks.misuse, misuse)
}

func (s *snapshot) Top(ctx context.Context, limit int) (*sketch.Ranking, error) {
	defer s.enter("Top")()
	if s.ranks.top != nil {
		if err := s.ranks.top(ctx, s.ranking); err != nil {
			return nil, err
		}
	}
	return s.ranking.Slice(0, limit), ctx.Err()
}

func (s *snapshot) All(ctx context.Context) (sketch.Listing, error) {
	defer s.enter("All")()
	if s.ranks.all != nil {
		if err := s.ranks.all(ctx, s.ranking); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.ranks.mu.Lock()
	defer s.ranks.mu.Unlock()
	s.ranks.made++
	return listing{s.ranking, s.ranks.bytes}, nil
}

func (s *snapshot) Close() {
	defer s.enter("Close")()
	if s.closed.CompareAndSwap(false, true) {
		s.ranks.mu.Lock()
		defer s.ranks.mu.Unlock()
		s.ranks.open--
	}
}

type listing struct {
	ranking *sketch.Ranking
	bytes   int
}

func (l listing) Page(ctx context.Context, offset, limit int) (*sketch.Ranking, error) {
	return l.ranking.Slice(offset, limit), ctx.Err()
}

func (l listing) MemoryBytes() int { return l.bytes }

// manyRows makes rows in the order of a ranking.
func manyRows(n int) []sketch.Row {
	rows := make([]sketch.Row, n)
	for i := range rows {
		rows[i].Path = fmt.Sprintf("/%04d", i)
	}
	return rows
}

// version is the ranking of n paths in which every count tells the version, and the
// order of the paths is another in each.
func version(number, n int) *sketch.Ranking {
	rows := make([]sketch.Row, n)
	for i := range rows {
		human := uint64(number*n + (i*7+number*13)%n)
		rows[i] = sketch.Row{Path: fmt.Sprintf("/%04d", i), Count: sketch.Count{Human: human, Total: human}}
	}
	human := uint64((number + 1) * n)
	return sketch.NewRanking(sketch.Position(number), sketch.Count{Human: human, Total: human}, rows)
}

// versionOf is the version that totals tell.
func versionOf(total uint64, n int) int { return int(total)/n - 1 }

// versions returns a ranker of n paths whose every snapshot is of another version,
// beginning with 1.
func versions(n int) *ranks {
	r := &ranks{bytes: 1000}
	last := 0
	r.answer = func(sketch.ProjectNumber, sketch.Range) (*sketch.Ranking, error) {
		last++
		return version(last, n), nil
	}
	return r
}

// pageViews is a Ranker of page views.
type pageViews struct {
	views map[sketch.ProjectNumber][]sketch.PageView
}

func (p *pageViews) Snapshot(_ context.Context, number sketch.ProjectNumber, within sketch.Range) (sketch.Snapshot, error) {
	site, cells := sketch.NewCell(sketch.SitePrecision), make(map[string]*sketch.Cell)
	for _, view := range p.views[number] {
		if !within.Contains(view.Day) {
			continue
		}
		if cells[view.Path] == nil {
			cells[view.Path] = sketch.NewCell(sketch.PathPrecision)
		}
		site.Add(view.Traffic, view.Visitor)
		cells[view.Path].Add(view.Traffic, view.Visitor)
	}
	var rows []sketch.Row
	for path, cell := range cells {
		rows = append(rows, sketch.Row{Path: path, Count: cell.Count(), Views: cell.Views})
	}
	return &snapshot{ranks: &ranks{}, ranking: sketch.NewRanking(1, site.Count(), rows)}, nil
}
