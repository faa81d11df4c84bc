package sketch_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

func TestSetIsExactUpToItsLimit(t *testing.T) {
	tests := []struct {
		precision sketch.Precision
		limit     int
		registers int
	}{
		{sketch.PathPrecision, 2048, 16 << 10},
		{sketch.SitePrecision, 8192, 64 << 10},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("precision %d", test.precision), func(t *testing.T) {
			if got := test.precision.ExactLimit(); got != test.limit {
				t.Fatalf("the exact limit is %d, expected %d", got, test.limit)
			}
			s := sketch.NewSet(test.precision)
			if !s.Empty() || s.Count() != 0 {
				t.Fatal("a new set is not empty")
			}
			hashes := visitors(0, test.limit+1)
			for i, h := range hashes[:test.limit] {
				s.Add(h)
				if s.Count() != uint64(i+1) || !s.Exact() || s.Empty() {
					t.Fatalf("with %d visitors: count %d, exact %t, empty %t", i+1, s.Count(), s.Exact(), s.Empty())
				}
			}
			for _, h := range hashes[:test.limit] {
				s.Add(h)
			}
			if s.Count() != uint64(test.limit) || !s.Exact() {
				t.Fatalf("visitors that come again at the limit: count %d, exact %t", s.Count(), s.Exact())
			}
			s.Add(hashes[test.limit])
			if s.Exact() || s.Empty() {
				t.Fatalf("one visitor above the limit: exact %t, empty %t", s.Exact(), s.Empty())
			}
			if got := len(sketch.DenseRegisters(s)); got != test.registers {
				t.Fatalf("dense in %d registers, expected %d", got, test.registers)
			}
		})
	}
}

// A visitor counts once, whichever its hash and however often it comes.
func TestSetAgreesWithAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		hashes := anyVisitors().Draw(t, "visitors")
		s := setOf(p, hashes...)

		want := distinct(hashes)
		if exact := want <= p.ExactLimit(); s.Exact() != exact {
			t.Fatalf("%d visitors, limit %d: exact is %t", want, p.ExactLimit(), s.Exact())
		}
		if s.Exact() && s.Count() != uint64(want) {
			t.Fatalf("count is %d, expected %d", s.Count(), want)
		}
		if s.Exact() != (s.Count() <= uint64(p.ExactLimit())) {
			t.Fatalf("exact is %t with a count of %d", s.Exact(), s.Count())
		}
		if most := s.Most(); most < s.Count() || s.Exact() && most != s.Count() {
			t.Fatalf("at most %d with a count of %d", most, s.Count())
		}
		if s.Empty() != (want == 0) {
			t.Fatalf("%d visitors: empty is %t", want, s.Empty())
		}
	})
}

func TestAddingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		hashes := anyVisitors().Draw(t, "visitors")
		s := setOf(p, hashes...)
		once := s.Clone()

		for _, h := range hashes {
			s.Add(h)
		}
		s.Merge(once)
		s.Merge(s)
		if !s.Equal(once) || s.Count() != once.Count() {
			t.Fatalf("count %d became %d", once.Count(), s.Count())
		}
	})
}

func TestHashZeroIsAVisitor(t *testing.T) {
	const p = sketch.PathPrecision
	s := setOf(p, 0)
	if s.Count() != 1 || s.Empty() {
		t.Fatalf("alone: count %d, empty %t", s.Count(), s.Empty())
	}
	s.Add(0)
	if s.Count() != 1 {
		t.Fatalf("twice: count %d", s.Count())
	}
	if got := s.UnionCount(setOf(p, 0, 1)); got != 2 {
		t.Fatalf("united with another that has it: %d", got)
	}
	if got := setOf(p, 1).UnionCount(s); got != 2 {
		t.Fatalf("united with another that has it not: %d", got)
	}
	if s.Equal(setOf(p)) || s.Equal(setOf(p, 1)) || !s.Equal(s.Clone()) {
		t.Fatal("Equal overlooks it")
	}

	// At the turn it goes into its register like any other.
	rest := visitors(0, p.ExactLimit())
	turned := setOf(p, append(rest, 0)...)
	if turned.Exact() || sketch.DenseRegisters(turned)[0] != sketch.MaxRegister(p) {
		t.Fatalf("dense: exact %t, register 0 is %d", turned.Exact(), sketch.DenseRegisters(turned)[0])
	}
}

// The low bits of hashes place them in the table, the high bits in the
// registers. Where either are equal, a set may be slow or an estimate off, but
// an exact count is not.
func TestHashesWithEqualBits(t *testing.T) {
	const p = sketch.PathPrecision
	patterns := map[string]func(i uint64) sketch.Hash{
		"equal low bits":          func(i uint64) sketch.Hash { return sketch.Hash(i << 40) },
		"low bits all ones":       func(i uint64) sketch.Hash { return sketch.Hash(i<<40 | (1<<40 - 1)) },
		"equal high bits":         func(i uint64) sketch.Hash { return sketch.Hash(i) },
		"high bits all ones":      func(i uint64) sketch.Hash { return sketch.Hash(^i) },
		"only the middle differs": func(i uint64) sketch.Hash { return sketch.Hash(0xabc<<52 | i<<24 | 0xdef) },
	}
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			s := sketch.NewSet(p)
			for i := range uint64(p.ExactLimit()) {
				s.Add(pattern(i))
				s.Add(pattern(i / 2))
			}
			if !s.Exact() || s.Count() != uint64(p.ExactLimit()) {
				t.Fatalf("exact %t, count %d", s.Exact(), s.Count())
			}
			united := s.Clone()
			united.Merge(s)
			if !united.Equal(s) {
				t.Fatal("a merge of equal sets is not equal to them")
			}
			s.Add(pattern(uint64(p.ExactLimit())))
			if s.Exact() || s.Count() <= uint64(p.ExactLimit()) {
				t.Fatalf("above the limit: exact %t, count %d", s.Exact(), s.Count())
			}
		})
	}
}

func TestCloneSharesNothing(t *testing.T) {
	const p = sketch.Precision(5)
	for _, n := range []int{0, 1, p.ExactLimit(), p.ExactLimit() + 1, 40} {
		original := setOf(p, visitors(0, n)...)
		kept := setOf(p, visitors(0, n)...)
		clone := original.Clone()
		if !clone.Equal(original) {
			t.Fatalf("%d visitors: the clone differs", n)
		}
		for _, h := range visitors(1, 100) {
			clone.Add(h)
		}
		if !original.Equal(kept) {
			t.Fatalf("%d visitors: adding to the clone changed the original", n)
		}
		for _, h := range visitors(2, 100) {
			original.Add(h)
		}
		if !clone.Equal(setOf(p, append(visitors(0, n), visitors(1, 100)...)...)) {
			t.Fatalf("%d visitors: adding to the original changed the clone", n)
		}
	}
}

func TestEqualTellsSetsApart(t *testing.T) {
	sets := []*sketch.Set{
		setOf(4), setOf(5),
		setOf(4, 1), setOf(4, 2), setOf(4, 1, 2),
		setOf(4, visitors(0, 3)...), setOf(4, visitors(1, 3)...), setOf(5, visitors(0, 5)...),
	}
	for i, a := range sets {
		for j, b := range sets {
			if a.Equal(b) != (i == j) {
				t.Errorf("sets %d and %d: Equal is %t", i, j, a.Equal(b))
			}
		}
	}
}

func TestMergeOfDifferentPrecisionPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	setOf(sketch.PathPrecision).Merge(setOf(sketch.SitePrecision))
}

// Memory is what the overlay of cells is bounded by, so its measure may not
// stay behind what a set holds.
func TestMemoryBytesCoversWhatASetHolds(t *testing.T) {
	const p = sketch.PathPrecision
	empty := setOf(p).MemoryBytes()
	for _, n := range []int{1, 100, p.ExactLimit()} {
		if got := setOf(p, visitors(0, n)...).MemoryBytes(); got < empty+8*n || got > empty+8*4*n {
			t.Errorf("%d visitors: %d bytes", n, got)
		}
	}

	exact, dense := setOf(p, visitors(1, p.ExactLimit())...), setOf(p, visitors(0, p.ExactLimit()+1)...)
	merged, turned := dense.Clone(), exact.Clone()
	merged.Merge(exact)
	turned.Merge(dense)
	for name, s := range map[string]*sketch.Set{"dense": dense, "dense with exact": merged, "exact with dense": turned} {
		if got := s.MemoryBytes(); got < p.Registers() || got > p.Registers()+empty {
			t.Errorf("%s: %d bytes, registers take %d", name, got, p.Registers())
		}
	}
}
