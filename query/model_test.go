package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"footfall/query"
	"footfall/sketch"
)

const modelPaths = 100

// operation is a request, or time that goes by where it has no walk.
type operation struct {
	walk    int // from 1
	offset  int
	limit   int
	units   int  // size of the listing of its snapshot
	fails   bool // All of its snapshot
	patient bool // waits for what first pages left to be ranked
	advance time.Duration
}

func anyOperation() *rapid.Generator[operation] {
	return rapid.Custom(func(t *rapid.T) operation {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			return operation{advance: rapid.SampledFrom([]time.Duration{
				time.Nanosecond, time.Minute, 5 * time.Minute, 15*time.Minute - time.Nanosecond, 15 * time.Minute,
			}).Draw(t, "advance")}
		}
		return operation{
			walk:    rapid.IntRange(1, 6).Draw(t, "walk"),
			offset:  rapid.SampledFrom([]int{0, 1, 50, 99, 100, 1000}).Draw(t, "offset"),
			limit:   rapid.SampledFrom([]int{1, 50, 99, 100, 250}).Draw(t, "limit"),
			units:   rapid.IntRange(1, 7).Draw(t, "units"),
			fails:   rapid.IntRange(0, 9).Draw(t, "fails") == 0,
			patient: rapid.Bool().Draw(t, "patient"),
		}
	})
}

// model is what listings are to do, told as simply as can be.
type model struct {
	now     time.Duration
	version int          // of the last snapshot
	bound   int          // in units
	kept    []modelEntry // the last used at the end
	waiting []modelEntry // first pages that nobody asked more of, the last at the end
}

type modelEntry struct {
	operation // the request that its snapshot was taken for
	version   int
	expires   time.Duration
}

// take takes what there is of a walk out of entries.
func take(entries *[]modelEntry, walk int) (e modelEntry, found bool) {
	i := slices.IndexFunc(*entries, func(e modelEntry) bool { return e.walk == walk })
	if i < 0 {
		return modelEntry{}, false
	}
	e = (*entries)[i]
	*entries = slices.Delete(*entries, i, i+1)
	return e, true
}

func (m *model) snapshot(op operation) modelEntry {
	m.version++
	return modelEntry{op, m.version, m.now + 15*time.Minute}
}

// rank keeps the listing of a snapshot.
func (m *model) rank(e modelEntry) {
	if e.fails || e.units > m.bound {
		return
	}
	used := e.units
	for _, other := range m.kept {
		used += other.units
	}
	for used > m.bound {
		used -= m.kept[0].units
		m.kept = m.kept[1:]
	}
	m.kept = append(m.kept, e)
}

// request returns the version of the answer, and whether there is one.
func (m *model) request(op operation) (version int, answered bool) {
	if op.patient {
		defer m.rankWaiting()
	}
	// What is too old is forgotten behind what was used less, and so is what is too old
	// itself; neither is seen but by the room it takes.
	for len(m.kept) > 0 && m.now >= m.kept[0].expires {
		m.kept = m.kept[1:]
	}
	kept, isKept := take(&m.kept, op.walk)
	waiting, waits := take(&m.waiting, op.walk)
	if op.offset == 0 {
		e := m.snapshot(op)
		if op.limit < modelPaths {
			m.waiting = append(m.waiting, e)
		}
		return e.version, true
	}
	if isKept && m.now < kept.expires {
		m.kept = append(m.kept, kept)
		return kept.version, true
	}
	e := waiting
	switch {
	case !waits:
		e = m.snapshot(op)
	case waiting.fails: // Another snapshot takes its place, for the time that it had.
		e = m.snapshot(op)
		e.expires = waiting.expires
	}
	m.rank(e)
	return e.version, !e.fails
}

func (m *model) rankWaiting() {
	for _, e := range m.waiting {
		m.rank(e)
	}
	m.waiting = nil
}

// Whatever the first pages, following pages, failures and waits, every answer is of
// the version that the model says.
func TestListingsAgainstAModel(t *testing.T) {
	o := newOffice(t)
	rapid.Check(t, func(rt *rapid.T) {
		bound := rapid.IntRange(1, 6).Draw(rt, "bound")
		operations := rapid.SliceOfN(anyOperation(), 1, 60).Draw(rt, "operations")
		var failure error
		synctest.Test(t, func(t *testing.T) { failure = compareWithModel(t, o, bound, operations) })
		if failure != nil {
			rt.Fatal(failure)
		}
	})
}

func compareWithModel(t *testing.T, o *office, bound int, operations []operation) error {
	const (
		unit  = 100_000
		takes = time.Microsecond // each ranking; the clock of the site stands meanwhile
	)
	ranker := versions(modelPaths)
	var asked operation      // the request that goes on
	taken := []operation{{}} // by version, the request that its snapshot was taken for
	answer := ranker.answer
	ranker.answer = func(number sketch.ProjectNumber, within sketch.Range) (*sketch.Ranking, error) {
		taken = append(taken, asked)
		return answer(number, within)
	}
	ranker.all = func(_ context.Context, ranking *sketch.Ranking) error {
		time.Sleep(takes)
		ranker.mu.Lock()
		defer ranker.mu.Unlock()
		op := taken[ranking.Position]
		ranker.bytes = op.units * unit
		if op.fails {
			return errors.New("no")
		}
		return nil
	}
	s := o.site(t, query.Options{Ranker: ranker, ListingBytes: bound*unit + unit/2})
	m := model{bound: bound}
	for i, op := range operations {
		if op.walk == 0 {
			s.clock.advance(op.advance)
			m.now += op.advance
			continue
		}
		asked = op
		status, body := s.get(fmt.Sprintf("x=%d&offset=%d&limit=%d", op.walk, op.offset, op.limit))
		synctest.Wait()
		if op.patient {
			time.Sleep(patience + 6*(1+rest)*takes) // Six walks may wait.
			synctest.Wait()
		}
		wanted, answered := m.request(op)
		if answered != (status == http.StatusOK) {
			return fmt.Errorf("operation %d, %+v: status %d", i, op, status)
		}
		if !answered {
			continue
		}
		var page query.Page
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			return err
		}
		if got := versionOf(page.Totals.Total, modelPaths); got != wanted {
			return fmt.Errorf("operation %d, %+v: version %d, want %d", i, op, got, wanted)
		}
		if want := expectedPage(wanted, op.offset, op.limit); !slices.Equal(page.Visitors, want.Visitors) || page.HasMore != want.HasMore {
			return fmt.Errorf("operation %d, %+v: rows %v, want %v", i, op, page.Visitors, want.Visitors)
		}
	}
	return nil
}

func expectedPage(number, offset, limit int) query.Page {
	rows := version(number, modelPaths).Rows
	page := query.Page{HasMore: offset+limit < len(rows)}
	for i := offset; i < min(offset+limit, len(rows)); i++ {
		c := rows[i].Count
		page.Visitors = append(page.Visitors, query.Row{Path: rows[i].Path, Count: query.Count{Human: c.Human, Total: c.Total}})
	}
	return page
}

// Walkers walk beside clients that ask for this and that, and go.
func TestManyAtOnce(t *testing.T) {
	const paths, walkers, others, rounds = 500, 5, 4, 20
	ranker := versions(paths)
	ranker.all = func(context.Context, *sketch.Ranking) error {
		runtime.Gosched()
		return nil
	}
	s := newSite(t, ranker)
	ctx, stop := context.WithCancel(t.Context())
	var walking, asking sync.WaitGroup
	for walker := range walkers {
		walking.Go(func() {
			for range rounds {
				s.walk(fmt.Sprintf("walker=%d", walker), 50, paths)
			}
		})
	}
	for other := range others {
		random := rand.New(rand.NewPCG(1, uint64(other)))
		asking.Go(func() {
			for ctx.Err() == nil {
				request, leave := context.WithCancel(ctx)
				if random.IntN(3) == 0 {
					time.AfterFunc(time.Duration(random.IntN(100))*time.Microsecond, leave)
				}
				// With two that wait for what was replaced, as many as the queue takes.
				text := fmt.Sprintf("other=%d&offset=%d", random.IntN(6), 50*random.IntN(3))
				if status, body := s.getAs(request, s.keys.docs, "docs", text); status != http.StatusOK && request.Err() == nil {
					t.Errorf("%s: status %d: %s", text, status, body)
				}
				leave()
			}
		})
	}
	walking.Wait()
	stop()
	asking.Wait()
}

// walk holds the pages of one walk together.
func (s *site) walk(name string, limit, paths int) {
	number := 0
	seen := make(map[string]bool)
	for offset, more := 0, true; more; offset += limit {
		text := fmt.Sprintf("%s&limit=%d&offset=%d", name, limit, offset)
		status, body := s.get(text)
		var page query.Page
		if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
			s.t.Errorf("%s: status %d, %v: %s", text, status, err, body)
			return
		}
		if offset == 0 {
			number = versionOf(page.Totals.Total, paths)
		}
		if got := versionOf(page.Totals.Total, paths); got != number {
			s.t.Errorf("%s: version %d, the first page has %d", text, got, number)
			return
		}
		for _, row := range page.Visitors {
			seen[row.Path] = true
		}
		more = page.HasMore
	}
	if len(seen) != paths {
		s.t.Errorf("%s: %d of %d paths", name, len(seen), paths)
	}
}
