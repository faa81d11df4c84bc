package sketch_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

func TestAddingNeverLowersACount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		s := sketch.NewSet(p)
		before := s.Count()
		for i, h := range anyVisitors().Draw(t, "visitors") {
			s.Add(h)
			if s.Count() < before {
				t.Fatalf("visitor %d lowers the count from %d to %d", i, before, s.Count())
			}
			before = s.Count()
		}
	})
}

// At the precisions in use: each step around the turn, where the estimate of
// the registers alone does fall below the exact count that was.
func TestTheTurnNeverLowersACount(t *testing.T) {
	for _, p := range precisions {
		t.Run(fmt.Sprintf("precision %d", p), func(t *testing.T) {
			limit := p.ExactLimit()
			below := 0
			for group := range uint32(20) {
				hashes := visitors(group, limit+20)
				s := setOf(p, hashes[:limit-1]...)
				before := s.Count()
				for i, h := range hashes[limit-1:] {
					s.Add(h)
					if s.Count() < before {
						t.Fatalf("visitor %d lowers the count from %d to %d", limit+i, before, s.Count())
					}
					if exact := uint64(limit + i); !s.Exact() {
						if sketch.EstimateRegisters(p, sketch.DenseRegisters(s)) <= uint64(limit) {
							below++
						}
						if off := relativeError(s.Count(), exact); math.Abs(off) > 4*p.RelativeStandardError() {
							t.Fatalf("%d visitors are counted as %d", exact, s.Count())
						}
					}
					before = s.Count()
				}
			}
			if below == 0 {
				t.Error("no estimate was below the limit: the test does not see the floor")
			}
		})
	}
}

func TestWideningNeverLowersACount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		days := rapid.SliceOfN(anyViews(), 1, 6).Draw(t, "days")
		wide := sketch.NewCell(p)
		for i, views := range days {
			day, before := cellOf(p, views...), wide.Count()
			wide.Merge(day)
			after := wide.Count()
			if !atLeast(after, before) {
				t.Fatalf("day %d lowers %v to %v", i, before, after)
			}
			if !atLeast(after, day.Count()) {
				t.Fatalf("day %d alone counts %v, with those before it %v", i, day.Count(), after)
			}
		}
	})
}

// The same for sets as large as those of real sites, from exact to far beyond.
func TestWideningNeverLowersALargeCount(t *testing.T) {
	for _, p := range precisions {
		wide := sketch.NewCell(p)
		before := wide.Count()
		for day := range uint32(40) {
			for i, h := range visitors(day/2, 1500) {
				wide.Add(sketch.Traffic(i%2), h)
				wide.Add(sketch.Traffic(day%2), h)
			}
			after := wide.Count()
			if !atLeast(after, before) {
				t.Fatalf("precision %d: day %d lowers %v to %v", p, day, before, after)
			}
			before = after
		}
	}
}

// atLeast reports whether no number of a is below that of b.
func atLeast(a, b sketch.Count) bool {
	return a.Human >= b.Human && a.AI >= b.AI && a.Total >= b.Total
}

func TestRaisingARegisterNeverLowersTheEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		top := sketch.MaxRegister(p)
		value := rapid.OneOf(rapid.ByteRange(0, top), rapid.Just(byte(0)), rapid.Just(top), rapid.ByteRange(0, 4))
		r := rapid.SliceOfN(value, p.Registers(), p.Registers()).Draw(t, "registers")
		raised := slices.Clone(r)
		for range rapid.IntRange(1, 4).Draw(t, "raises") {
			i := rapid.IntRange(0, len(r)-1).Draw(t, "register")
			raised[i] = rapid.ByteRange(raised[i], top).Draw(t, "to")
		}
		before, after := sketch.EstimateRegisters(p, r), sketch.EstimateRegisters(p, raised)
		if after < before {
			t.Fatalf("the estimate falls from %d to %d", before, after)
		}
	})
}

// From empty registers to saturated ones, by steps that no real visitors take.
func TestTheEstimateRisesToSaturation(t *testing.T) {
	for _, p := range []sketch.Precision{4, sketch.PathPrecision, sketch.SitePrecision} {
		t.Run(fmt.Sprintf("precision %d", p), func(t *testing.T) {
			r := make([]byte, p.Registers())
			if got := sketch.EstimateRegisters(p, r); got != 0 {
				t.Fatalf("empty registers are %d visitors", got)
			}
			random := seeded(uint64(p))
			before := uint64(0)
			for step := range 500 {
				for range max(1, len(r)/20) {
					i := random.IntN(len(r))
					r[i] = min(r[i]+byte(random.IntN(8)), sketch.MaxRegister(p))
				}
				if step == 499 {
					for i := range r {
						r[i] = sketch.MaxRegister(p)
					}
				}
				after := sketch.EstimateRegisters(p, r)
				if after < before {
					t.Fatalf("step %d: the estimate falls from %d to %d", step, before, after)
				}
				before = after
			}
			if human, ai := before, before; human+ai < human {
				t.Errorf("the sum of two saturated estimates of %d overflows", before)
			}
		})
	}
}
