package workload_test

import (
	"cmp"
	"slices"
	"testing"

	"footfall/bench/workload"
	"footfall/sketch"
)

// visit is one view as a reader of the output finds it.
type visit struct {
	path    string
	visitor string
	traffic sketch.Traffic
	day     sketch.Day
}

// recount counts with a set for each number: slow, and plainly right.
func recount(visits []visit, r sketch.Range) (totals workload.Count, rows []workload.Row) {
	type sets struct {
		either map[string]bool
		as     [2]map[string]bool
		views  [2]uint64
	}
	newSets := func() *sets {
		return &sets{either: map[string]bool{}, as: [2]map[string]bool{{}, {}}}
	}
	count := func(s *sets) workload.Count {
		return workload.Count{
			Visitors: sketch.Count{
				Human: uint64(len(s.as[sketch.Human])),
				AI:    uint64(len(s.as[sketch.AI])),
				Total: uint64(len(s.either)),
			},
			Views: s.views,
		}
	}
	site, paths := newSets(), map[string]*sets{}
	for _, v := range visits {
		if v.day < r.From || v.day >= r.To {
			continue
		}
		if paths[v.path] == nil {
			paths[v.path] = newSets()
		}
		for _, s := range []*sets{site, paths[v.path]} {
			s.either[v.visitor] = true
			s.as[v.traffic][v.visitor] = true
			s.views[v.traffic]++
		}
	}
	for path, s := range paths {
		rows = append(rows, workload.Row{Path: path, Count: count(s)})
	}
	slices.SortFunc(rows, func(a, b workload.Row) int {
		return cmp.Or(cmp.Compare(b.Visitors.Total, a.Visitors.Total), cmp.Compare(a.Path, b.Path))
	})
	return count(site), rows
}

// checkRecount holds a truth against the recount of visits, over ranges of every
// kind.
func checkRecount(t *testing.T, truth *workload.Truth, visits []visit) {
	t.Helper()
	days := truth.Days()
	ranges := []sketch.Range{
		sketch.AllDays(), days,
		{From: days.From, To: days.From},
		{From: days.To, To: days.From},
		{From: days.From - 10, To: days.From},
		{From: days.To, To: days.To + 10},
		{From: days.From - 10, To: days.From + 3},
		{From: days.To - 2, To: days.To + 2},
	}
	for day := days.From; day < days.To; day++ {
		ranges = append(ranges, sketch.Range{From: day, To: day + 1}, sketch.Range{From: day - 4, To: day + 3})
	}
	for _, r := range ranges {
		totals, rows := truth.Count(r)
		wantTotals, wantRows := recount(visits, r)
		if totals != wantTotals {
			t.Errorf("%v: totals are %+v, want %+v", r, totals, wantTotals)
		}
		if !slices.Equal(rows, wantRows) {
			t.Errorf("%v: %d rows differ from those recounted (%d)", r, len(rows), len(wantRows))
		}
	}
}
