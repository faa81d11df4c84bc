package sketch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

var cellKey = []byte("cell/key")

// route builds a cell of the views on some way: in any order, split into any
// number of cells that are merged in any order, straight or from their encoded
// bytes.
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
		switch r.IntN(4) {
		case 0:
			cells[into].Merge(last)
		case 1:
			last.Merge(cells[into])
			cells[into] = last
		case 2:
			if _, err := cells[into].MergeEncoded(cellKey, sketch.AppendCell(nil, cellKey, last)); err != nil {
				t.Fatal(err)
			}
		case 3:
			reread := sketch.NewCell(p)
			if _, err := reread.MergeEncoded(cellKey, sketch.AppendCell(nil, cellKey, last)); err != nil {
				t.Fatal(err)
			}
			reread.Merge(cells[into])
			cells[into] = reread
		}
	}
	return cells[0]
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
	for _, p := range []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision} {
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

func TestMergeEncodedIsMergeAfterDecode(t *testing.T) {
	for _, p := range []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision} {
		limit := p.ExactLimit()
		for _, into := range []int{0, 10, limit, limit + 1} {
			for _, stored := range []int{0, 10, limit, limit + 1} {
				t.Run(fmt.Sprintf("precision %d, %d into %d", p, stored, into), func(t *testing.T) {
					base, added := sketch.NewCell(p), sketch.NewCell(p)
					base.Position, added.Position = sketch.Position(100*into), 300
					for i := range into {
						base.Add(sketch.Traffic(i%2), mix(uint64(i/2)))
						base.Add(sketch.Human, mix(uint64(i)))
					}
					for i := range stored {
						added.Add(sketch.AI, mix(uint64(into/2+i)))
					}
					value := sketch.AppendCell(nil, cellKey, added)

					decoded, err := sketch.DecodeCell(cellKey, value)
					if err != nil {
						t.Fatal(err)
					}
					want := base.Clone()
					want.Merge(decoded)

					position, err := base.MergeEncoded(cellKey, value)
					if err != nil || position != 300 {
						t.Fatalf("position %d, %v", position, err)
					}
					if !equalCells(base, want) {
						t.Fatalf("counts %v, expected %v", base.Count(), want.Count())
					}
				})
			}
		}
	}
}
