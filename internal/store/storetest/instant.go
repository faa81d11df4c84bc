package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"footfall/sketch"
)

// rankingSeesAcknowledged: a ranking that begins after a commit returned holds
// it, and says a later position.
func rankingSeesAcknowledged(t *testing.T, s *suite) {
	site, other := s.site(t), s.site(t)
	var position sketch.Position
	for n := range uint64(60) {
		if n%3 == 0 {
			other.commit(visit("/", FirstDay, sketch.Human, n))
		}
		site.commit(visit(fmt.Sprintf("/%d", n%7), FirstDay+sketch.Day(n%5), sketch.Traffic(n%2), n))
		got := site.check(sketch.AllDays())
		if got.Position <= position {
			t.Fatalf("position %d after position %d and a commit", got.Position, position)
		}
		position = got.Position
		if n%20 == 19 {
			s.reopen(t)
		}
	}
}

// rankingIsOfOneInstant: one writer commits batches of a new visitor each, to
// the same pages on the same days. So in any ranking every page has as many
// visitors as the site, and as many views: those of a prefix of the batches,
// which holds all that were acknowledged before the ranking began.
func rankingIsOfOneInstant(t *testing.T, s *suite) {
	OneInstant(t, s.subject, s.site(t).number, 40, 120)
}

// OneInstant commits batches of visits to that many pages, and ranks all the
// while. Stores with more to say than the four methods call it by themselves.
func OneInstant(t *testing.T, subject Subject, project sketch.ProjectNumber, pages, batches int) {
	t.Helper()
	const days = 3
	var begun, acknowledged atomic.Uint64
	done := make(chan struct{})
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			var last uint64
			var position sketch.Position
			for {
				select {
				case <-done:
					return
				default:
				}
				least := max(last, acknowledged.Load())
				got, err := Rank(t.Context(), subject, project, sketch.AllDays())
				most := begun.Load()
				if err != nil {
					t.Errorf("ranking: %v", err)
					return
				}
				n, err := allAlike(got, pages, days)
				switch {
				case err != nil:
					t.Errorf("position %d: %v", got.Position, err)
					return
				case n < least || n > most:
					t.Errorf("position %d: %d batches are seen, expected %d to %d", got.Position, n, least, most)
					return
				case got.Position < position:
					t.Errorf("position %d comes after position %d", got.Position, position)
					return
				}
				last, position = n, got.Position
			}
		})
	}
	for n := range uint64(batches) {
		var batch []sketch.PageView
		for page := range pages {
			for day := range sketch.Day(days) {
				batch = append(batch, visit(fmt.Sprintf("/%d", page), FirstDay+day, sketch.Human, n))
			}
		}
		begun.Add(1)
		if err := subject.Commit(t.Context(), sketch.NewBatch(project, batch...)); err != nil {
			t.Errorf("committing: %v", err)
			break
		}
		acknowledged.Add(1)
	}
	close(done)
	running.Wait()
}

// allAlike returns how many batches of OneInstant a ranking is of.
func allAlike(r *sketch.Ranking, pages int, days uint64) (uint64, error) {
	n := r.Totals.Total
	if want := (sketch.Count{Human: n, Total: n}); r.Totals != want {
		return n, fmt.Errorf("totals are %+v, expected %+v", r.Totals, want)
	}
	if n > 0 && len(r.Rows) != pages {
		return n, fmt.Errorf("%d rows, expected %d", len(r.Rows), pages)
	}
	for _, row := range r.Rows {
		want := sketch.Row{Path: row.Path, Count: r.Totals, Views: [2]uint64{n * days, 0}}
		if row != want {
			return n, fmt.Errorf("row %+v, expected %+v", row, want)
		}
	}
	return n, nil
}

// rankingsKeep: a ranking that was answered does not change when commits follow.
func rankingsKeep(t *testing.T, s *suite) {
	site := s.site(t)
	for step := range uint64(4) {
		site.commit(crowd("/a", FirstDay, sketch.Human, 0, 700*(step+1))...)
		site.commit(crowd("/b", FirstDay+sketch.Day(step), sketch.AI, 0, 3)...)
		kept := site.rank(sketch.AllDays())
		want := *kept
		want.Rows = slices.Clone(kept.Rows)
		site.commit(crowd("/a", FirstDay, sketch.AI, 5_000, 8_000)...)
		site.commit(crowd(fmt.Sprintf("/new/%d", step), FirstDay, sketch.Human, 0, 9)...)
		site.check(sketch.AllDays())
		if err := Compare(kept, &want); err != nil {
			t.Fatalf("a ranking changed: %v", err)
		}
	}
}

// concurrentCommits: several writers commit to a page of their own and to one
// that they share; each sees its own batches at once, and in the end all are
// there.
func concurrentCommits(t *testing.T, s *suite) {
	const writers, batches = 8, 25
	sites := []*site{s.site(t), s.site(t)}
	var running sync.WaitGroup
	for writer := range uint64(writers) {
		site := sites[writer%2]
		own := fmt.Sprintf("/writer/%d", writer)
		running.Go(func() {
			for n := range uint64(batches) {
				visitor := writer*1_000 + n
				batch := []sketch.PageView{
					visit(own, FirstDay+sketch.Day(n%3), sketch.Human, visitor),
					visit("/shared", FirstDay, sketch.AI, visitor),
					visit("/shared", FirstDay, sketch.Human, 0),
				}
				if err := site.try(sketch.Mark{}, batch...); err != nil {
					t.Errorf("writer %d: %v", writer, err)
					return
				}
				got, err := Rank(t.Context(), site.subject, site.number, sketch.AllDays())
				if err != nil {
					t.Errorf("writer %d: %v", writer, err)
					return
				}
				if err := verifyBounds(got); err != nil {
					t.Errorf("writer %d: %v", writer, err)
				}
				i := slices.IndexFunc(got.Rows, func(r sketch.Row) bool { return r.Path == own })
				if i < 0 || got.Rows[i].Count.Human != n+1 {
					t.Errorf("writer %d does not see its %d batches", writer, n+1)
					return
				}
			}
		})
	}
	running.Wait()
	for writer := range uint64(writers) {
		site := sites[writer%2]
		for n := range uint64(batches) {
			visitor := writer*1_000 + n
			site.visits = append(site.visits,
				visit(fmt.Sprintf("/writer/%d", writer), FirstDay+sketch.Day(n%3), sketch.Human, visitor),
				visit("/shared", FirstDay, sketch.AI, visitor),
				visit("/shared", FirstDay, sketch.Human, 0))
		}
	}
	for range 2 {
		for _, site := range sites {
			site.check(sketch.AllDays())
		}
		s.reopen(t)
	}
}
