package sketch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

// route builds a cell of the views on some way: in any order, split into any
// number of cells that are merged in any order, straight, from their encoded
// bytes, or in an accumulator.
func route(t interface{ Fatal(...any) }, r *rand.Rand, p sketch.Precision, views []view) *sketch.Cell {
	views = slices.Clone(views)
	r.Shuffle(len(views), func(i, j int) { views[i], views[j] = views[j], views[i] })

	cells := make([]*sketch.Cell, 1+r.IntN(8))
	for i := range cells {
		cells[i] = sketch.NewCell(p)
	}
	for _, v := range views {
		cells[r.IntN(len(cells))].Add(v.traffic, v.visitor)
	}
	for len(cells) > 1 {
		last := cells[len(cells)-1]
		cells = cells[:len(cells)-1]
		into := r.IntN(len(cells))
		switch r.IntN(5) {
		case 0:
			cells[into].Merge(last)
		case 1:
			last.Merge(cells[into])
			cells[into] = last
		case 2:
			mergeEncoded(t, cells[into], last)
		case 3:
			reread := sketch.NewCell(p)
			mergeEncoded(t, reread, last)
			reread.Merge(cells[into])
			cells[into] = reread
		case 4:
			both := []*sketch.Cell{cells[into], last}
			a := sketch.NewAccumulator(p)
			a.Reset(expectedOf(both))
			accumulate(t, a, both, func(int) bool { return r.IntN(2) == 0 })
			cells[into] = accumulated(t, p, a)
			for traffic := range last.Views {
				cells[into].Views[traffic] = both[0].Views[traffic] + both[1].Views[traffic]
			}
		}
	}
	return cells[0]
}

// mergeEncoded adds a cell to another by the encoded bytes of its sets.
func mergeEncoded(t interface{ Fatal(...any) }, into, from *sketch.Cell) {
	for traffic := range from.Visitors {
		s := &from.Visitors[traffic]
		if err := into.Visitors[traffic].MergeEncoded(s.AppendEncoded(nil), s.Count()); err != nil {
			t.Fatal(err)
		}
		into.Views[traffic] += from.Views[traffic]
	}
}

// accumulated returns the cell of what was accumulated, without views.
func accumulated(t interface{ Fatal(...any) }, p sketch.Precision, a *sketch.Accumulator) *sketch.Cell {
	count, c := a.Count(), sketch.NewCell(p)
	for traffic, n := range [2]uint64{count.Human, count.AI} {
		c.Visitors[traffic] = *decoded(t, p, a.AppendEncoded(nil, sketch.Traffic(traffic)), n)
	}
	return c
}

func TestRepresentationDoesNotDependOnTheRoute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		views := anyViews().Draw(t, "views")
		seed := rapid.Uint64().Draw(t, "route")

		direct := cellOf(p, views...)
		routed := route(t, seeded(seed), p, views)
		if !equalCells(direct, routed) {
			t.Fatalf("views %v and %v, counts %v and %v", direct.Views, routed.Views, direct.Count(), routed.Count())
		}
		if direct.Count() != routed.Count() {
			t.Fatalf("equal cells count %v and %v", direct.Count(), routed.Count())
		}
	})
}

// The same at the precisions in use, on both sides of the turn.
func TestRepresentationDoesNotDependOnTheRouteAtTheTurn(t *testing.T) {
	for _, p := range precisions {
		for _, more := range []int{-1, 0, 1, 100} {
			t.Run(fmt.Sprintf("precision %d, limit %+d", p, more), func(t *testing.T) {
				var views []view
				for i, h := range visitors(0, p.ExactLimit()+more) {
					views = append(views, view{sketch.Human, h})
					if i%3 == 0 {
						views = append(views, view{sketch.Human, h}, view{sketch.AI, h})
					}
				}
				direct := cellOf(p, views...)
				if got := direct.Visitors[sketch.Human].Exact(); got != (more <= 0) {
					t.Fatalf("exact is %t", got)
				}
				for seed := range uint64(3) {
					if routed := route(t, seeded(seed), p, views); !equalCells(direct, routed) {
						t.Fatalf("route %d: counts %v and %v", seed, direct.Count(), routed.Count())
					}
				}
			})
		}
	}
}

func TestUnionCountIsTheCountAfterMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		one, two := anyVisitors().Draw(t, "one"), anyVisitors().Draw(t, "two")
		a, b := setOf(p, one...), setOf(p, two...)

		got := a.UnionCount(b)
		if other := b.UnionCount(a); got != other {
			t.Fatalf("UnionCount is %d one way and %d the other", got, other)
		}
		if !a.Equal(setOf(p, one...)) || !b.Equal(setOf(p, two...)) {
			t.Fatal("UnionCount changed a set")
		}
		a.Merge(b)
		if got != a.Count() {
			t.Fatalf("UnionCount is %d, merged %d", got, a.Count())
		}
		if !b.Equal(setOf(p, two...)) {
			t.Fatal("Merge changed its argument")
		}
	})
}
