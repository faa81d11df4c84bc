package sketch_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

// accumulate adds the sets of cells, encoded or as they are.
func accumulate(t interface{ Fatal(...any) }, a *sketch.Accumulator, cells []*sketch.Cell, encoded func(i int) bool) {
	for i, c := range cells {
		if !encoded(i) {
			a.AddCell(c)
			continue
		}
		for _, traffic := range []sketch.Traffic{sketch.Human, sketch.AI} {
			s := &c.Visitors[traffic]
			stored := s.AppendEncoded(nil)
			if err := a.AddEncoded(traffic, stored, s.Count()); err != nil {
				t.Fatal(err)
			}
			clear(stored) // The database's bytes die with its transaction.
		}
	}
}

// checkAccumulated checks that an accumulator holds what a cell does.
func checkAccumulated(a *sketch.Accumulator, want *sketch.Cell) error {
	if got := a.Count(); got != want.Count() {
		return fmt.Errorf("count %+v, expected %+v", got, want.Count())
	}
	for _, traffic := range []sketch.Traffic{sketch.Human, sketch.AI} {
		if !bytes.Equal(a.AppendEncoded(nil, traffic), want.Visitors[traffic].AppendEncoded(nil)) {
			return fmt.Errorf("the %v set differs", traffic)
		}
	}
	return nil
}

// expectedOf is the sum of the counts of cells.
func expectedOf(cells []*sketch.Cell) (expected [2]uint64) {
	for _, c := range cells {
		for traffic := range expected {
			expected[traffic] += c.Visitors[traffic].Count()
		}
	}
	return expected
}

func merged(p sketch.Precision, cells []*sketch.Cell) *sketch.Cell {
	all := sketch.NewCell(p)
	for _, c := range cells {
		all.Merge(c)
	}
	return all
}

// One accumulator for many paths, whose numbers of visitors were expected right,
// too low, too high or not at all: each is what a cell would be, and neither its
// arguments nor the path before it show.
func TestAccumulatorIsACell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		a := sketch.NewAccumulator(p)
		for path := range rapid.IntRange(1, 5).Draw(t, "paths") {
			var cells, kept []*sketch.Cell
			for range rapid.IntRange(0, 5).Draw(t, "cells") {
				c := cellOf(p, anyViews().Draw(t, "views")...)
				cells, kept = append(cells, c), append(kept, c.Clone())
			}
			expected := expectedOf(cells)
			for traffic := range expected {
				wrong := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Just(uint64(math.MaxUint64)), rapid.Just(expected[traffic]))
				expected[traffic] = wrong.Draw(t, "expected")
			}
			if path > 0 || rapid.Bool().Draw(t, "reset") {
				a.Reset(expected)
			}
			encoded := rapid.SliceOfN(rapid.Bool(), len(cells), len(cells)).Draw(t, "encoded")
			accumulate(t, a, cells, func(i int) bool { return encoded[i] })
			for range 2 { // Counting changes nothing.
				if err := checkAccumulated(a, merged(p, cells)); err != nil {
					t.Fatalf("path %d, expected %v: %v", path, expected, err)
				}
			}
			for i, c := range cells {
				if !equalCells(c, kept[i]) {
					t.Fatalf("path %d: adding cell %d changed it", path, i)
				}
			}
		}
	})
}

// At the precisions in use, one accumulator for all: human and AI sets on both
// sides of the turn, with half of the smaller in common, in three pieces that
// overlap, with and without the hash 0.
func TestAccumulatorIsACellAtTheTurn(t *testing.T) {
	for _, p := range precisions {
		limit := p.ExactLimit()
		sizes := []int{0, 1, limit - 1, limit, limit + 1, 3 * limit}
		if p == sketch.SitePrecision {
			sizes = []int{0, limit - 1, limit, limit + 1}
		}
		a, round := sketch.NewAccumulator(p), uint64(0)
		for _, humans := range sizes {
			for _, agents := range sizes {
				t.Run(fmt.Sprintf("precision %d, %d and %d", p, humans, agents), func(t *testing.T) {
					all := visitors(0, humans+agents)
					common := min(humans, agents) / 2
					sets := [2][]sketch.Hash{all[:humans], all[humans-common:][:agents]}
					if agents%2 == 1 {
						sets[sketch.AI][0] = 0
					}
					wrong := [][2]uint64{{math.MaxUint64, 1}, {1, math.MaxUint64}, {}}
					for _, expected := range [][2]uint64{{uint64(humans), uint64(agents)}, wrong[round/2%3]} {
						cells := []*sketch.Cell{sketch.NewCell(p), sketch.NewCell(p), sketch.NewCell(p)}
						random := seeded(round)
						for traffic, hashes := range sets {
							for _, h := range hashes {
								cells[random.IntN(3)].Add(sketch.Traffic(traffic), h)
								cells[random.IntN(3)].Add(sketch.Traffic(traffic), h)
							}
						}
						a.Reset(expected)
						accumulate(t, a, cells, func(i int) bool { return (uint64(i)+round)%2 == 0 })
						if err := checkAccumulated(a, merged(p, cells)); err != nil {
							t.Fatalf("expected %v: %v", expected, err)
						}
						round++
					}
					if got := a.Count(); (got.Human <= uint64(limit)) != (humans <= limit) || humans <= limit && got.Human != uint64(humans) {
						t.Fatalf("%d humans are counted as %d", humans, got.Human)
					}
				})
			}
		}
	}
}

// Dense registers are taken over where nothing was there: those of the argument
// stay as they are, and so do those of another path later.
func TestAccumulatorSharesNoRegisters(t *testing.T) {
	const p = sketch.PathPrecision
	dense := cellOf(p)
	for _, h := range visitors(0, 3000) {
		dense.Add(sketch.Human, h)
		dense.Add(sketch.AI, h+1)
	}
	kept := dense.Clone()
	a := sketch.NewAccumulator(p)
	a.AddCell(dense)
	first := a.AppendEncoded(nil, sketch.Human)
	other := cellOf(p)
	for _, h := range visitors(1, 3000) {
		other.Add(sketch.Human, h)
	}
	a.AddCell(other)
	a.Reset([2]uint64{})
	a.AddCell(other)
	if !equalCells(dense, kept) {
		t.Error("a cell changed that was added")
	}
	if !bytes.Equal(first, kept.Visitors[sketch.Human].AppendEncoded(nil)) {
		t.Error("encoded bytes changed with the accumulator")
	}
}

// What it is there for: paths one after the other in memory that is kept. What is
// allocated for a path is less than one set takes.
func TestAccumulatorKeepsItsMemory(t *testing.T) {
	const p = sketch.PathPrecision
	limit := p.ExactLimit()
	for _, test := range []struct {
		name           string
		humans, agents int
	}{
		{"few", 20, 5},
		{"as many as are exact", limit, 10},
		{"dense and exact", 3 * limit, limit},
		{"dense", 3 * limit, 2 * limit},
	} {
		t.Run(test.name, func(t *testing.T) {
			cells := []*sketch.Cell{sketch.NewCell(p), sketch.NewCell(p)}
			for i := range test.humans {
				cells[i%2].Add(sketch.Human, mix(uint64(i)))
			}
			for i := range test.agents {
				cells[i%2].Add(sketch.AI, mix(uint64(i+test.humans/2)))
			}
			a, expected := sketch.NewAccumulator(p), expectedOf(cells)
			unite := func() {
				a.Reset(expected)
				for _, c := range cells {
					a.AddCell(c)
				}
				a.Count()
			}
			unite()
			const runs = 50
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range runs {
				unite()
			}
			runtime.ReadMemStats(&after)
			if each := (after.TotalAlloc - before.TotalAlloc) / runs; each >= uint64(p.Registers()) {
				t.Errorf("%d bytes are allocated for a path", each)
			}
		})
	}
}
