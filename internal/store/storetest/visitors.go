package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"footfall/sketch"
)

// The numbers of visitors around which a set of a path, or of a site, becomes
// dense.
const (
	pathLimit = 2_048
	siteLimit = 8_192
)

// visitorsCountOnce: a batch that comes again, and a visitor who comes again on
// another day, to another page or as other traffic, raise views and nothing else.
func visitorsCountOnce(t *testing.T, s *suite) {
	site := s.site(t)
	batch := []sketch.PageView{
		visit("/a", FirstDay, sketch.Human, 1),
		visit("/a", FirstDay, sketch.Human, 1),
		visit("/a", FirstDay+1, sketch.Human, 1),
		visit("/a", FirstDay+1, sketch.AI, 1),
		visit("/b", FirstDay, sketch.AI, 1),
		visit("/b", FirstDay, sketch.AI, 2),
		{Path: "/b", Day: FirstDay, Traffic: sketch.Human, Visitor: 0},
	}
	for times := range uint64(3) {
		site.commit(batch...)
		got := site.rank(sketch.AllDays())
		want := &sketch.Ranking{
			Totals: sketch.Count{Human: 2, AI: 2, Total: 3},
			Views:  [2]uint64{4 * (times + 1), 3 * (times + 1)},
			Rows: []sketch.Row{
				{Path: "/b", Count: sketch.Count{Human: 1, AI: 2, Total: 3}, Views: [2]uint64{times + 1, 2 * (times + 1)}},
				{Path: "/a", Count: sketch.Count{Human: 1, AI: 1, Total: 1}, Views: [2]uint64{3 * (times + 1), times + 1}},
			},
		}
		if err := Compare(got, want); err != nil {
			t.Fatalf("after %d times: %v", times+1, err)
		}
		s.reopen(t)
	}
}

// randomWorkloads: several projects take turns, and every ranking is true at any
// time, over any range.
func randomWorkloads(t *testing.T, s *suite) {
	for seed := range uint64(3) {
		w := NewWorkload(seed)
		w.Crowd = 900 * int(seed)
		sites := []*site{s.site(t), s.site(t), s.site(t)}
		for range 30 {
			site := sites[w.random.IntN(len(sites))]
			site.commit(w.Visits()...)
			sites[w.random.IntN(len(sites))].check(w.Range())
		}
		s.reopen(t)
		for _, site := range sites {
			site.check(sketch.AllDays())
		}
	}
}

// orderDoesNotMatter: the same visits in another order and in other batches give
// the same ranking, to the last digit.
func orderDoesNotMatter(t *testing.T, s *suite) {
	w := NewWorkload(7)
	var visits []sketch.PageView
	for range 40 {
		visits = append(visits, w.Visits()...)
	}
	sameInAnyOrder(t, s, visits, 3)
}

// orderDoesNotMatterDense: also where sets turn dense on some routes in a batch,
// on others between days only.
func orderDoesNotMatterDense(t *testing.T, s *suite) {
	var visits []sketch.PageView
	for day := range sketch.Day(4) {
		// Each day stays exact for the path; all four do not. Half of each day's
		// visitors return on the next.
		from := uint64(day) * 900
		visits = append(visits, crowd("/exact days", FirstDay+day, sketch.Human, from, from+1800)...)
		visits = append(visits, crowd("/both", FirstDay+day, sketch.AI, from, from+600)...)
		visits = append(visits, crowd("/both", FirstDay+day, sketch.Human, from+300, from+900)...)
	}
	visits = append(visits, crowd("/dense at once", FirstDay, sketch.AI, 5000, 8000)...)
	visits = append(visits, crowd("/exactly full", FirstDay, sketch.Human, 8000, 8000+pathLimit)...)
	visits = append(visits, crowd("/one more", FirstDay, sketch.Human, 8000, 8001+pathLimit)...)
	sameInAnyOrder(t, s, visits, 2)
}

func sameInAnyOrder(t *testing.T, s *suite, visits []sketch.PageView, rounds int) {
	t.Helper()
	ranges := []sketch.Range{sketch.AllDays()}
	for day := range sketch.Day(Days) {
		ranges = append(ranges, sketch.Range{From: FirstDay, To: FirstDay + day + 1})
	}
	random := rand.New(rand.NewPCG(uint64(len(visits)), 0))
	want := make([]*sketch.Ranking, len(ranges))
	for round := range rounds {
		site := s.site(t)
		for rest := visits; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(1+len(visits)/(2+4*round)))
			site.commit(rest[:n]...)
			rest = rest[n:]
			if random.IntN(8) == 0 {
				s.reopen(t)
			}
		}
		for i, within := range ranges {
			got := site.check(within)
			if want[i] == nil {
				want[i] = got
			} else if err := Compare(got, want[i]); err != nil {
				t.Fatalf("in another order, %v: %v", within, err)
			}
		}
		visits = slices.Clone(visits)
		random.Shuffle(len(visits), func(i, j int) { visits[i], visits[j] = visits[j], visits[i] })
	}
}

// countsNeverFall: neither by more visitors, nor by a wider range, through the
// turns of paths and of the site from exact to dense.
func countsNeverFall(t *testing.T, s *suite) {
	site := s.site(t)
	var before *sketch.Ranking
	steps := []uint64{1, 1_000, pathLimit - 1, pathLimit, pathLimit + 1, pathLimit + 2, 3_000,
		siteLimit - 1, siteLimit, siteLimit + 1, siteLimit + 2, 9_000, 12_000}
	from := uint64(0)
	for i, to := range steps {
		day := FirstDay + sketch.Day(i%Days)
		batch := crowd("/all", day, sketch.Human, from, to)
		batch = append(batch, crowd("/some", day, sketch.AI, from/2, to/2)...)
		site.commit(batch...)
		from = to
		after := site.check(sketch.AllDays())
		if before != nil {
			neverFalls(t, fmt.Sprintf("with %d visitors", to), before, after)
		}
		before = after
	}
	before = nil
	for days := range sketch.Day(Days) {
		within := sketch.Range{From: FirstDay + Days - 1 - days, To: FirstDay + Days}
		after := site.check(within)
		if before != nil {
			neverFalls(t, "over "+within.String(), before, after)
		}
		before = after
	}
}

func neverFalls(t *testing.T, when string, before, after *sketch.Ranking) {
	t.Helper()
	atLeast := func(name string, after, before sketch.Count) {
		t.Helper()
		if after.Human < before.Human || after.AI < before.AI || after.Total < before.Total {
			t.Fatalf("%s %s falls from %+v to %+v", name, when, before, after)
		}
	}
	atLeast("the totals", after.Totals, before.Totals)
	rows := make(map[string]sketch.Count)
	for _, row := range after.Rows {
		rows[row.Path] = row.Count
	}
	for _, row := range before.Rows {
		atLeast("row "+row.Path, rows[row.Path], row.Count)
	}
}

// totalsBound: the bounds between human, ai and total, and between rows and
// totals, hold where plain estimates leave them: with dense sets that share no
// visitor, and with one page that every visitor of the site saw.
func totalsBound(t *testing.T, s *suite) {
	for i, n := range []uint64{2_500, 4_000, 7_000, 11_000} {
		site := s.site(t)
		base := uint64(i) * 1_000_000
		site.commit(crowd("/", FirstDay, sketch.Human, base, base+n)...)
		site.commit(crowd("/", FirstDay, sketch.AI, base+n, base+2*n)...)
		site.commit(crowd("/same", FirstDay, sketch.Human, base, base+n)...)
		site.commit(crowd("/same", FirstDay+1, sketch.AI, base, base+n)...)
		site.check(sketch.AllDays())
		site.check(sketch.Range{From: FirstDay, To: FirstDay + 1})
	}
}

// viewsAreExact: views are counted one by one, however many visitors share them
// and however dense their sets are.
func viewsAreExact(t *testing.T, s *suite) {
	site := s.site(t)
	site.commit(crowd("/", FirstDay, sketch.Human, 0, 3_000)...)
	for range 5 {
		site.commit(crowd("/", FirstDay, sketch.Human, 0, 500)...)
		site.commit(crowd("/", FirstDay+1, sketch.AI, 0, 1)...)
		s.reopen(t)
	}
	if got, want := site.check(sketch.AllDays()).Views, [2]uint64{5_500, 5}; got != want {
		t.Errorf("views are %v, expected %v", got, want)
	}
}
