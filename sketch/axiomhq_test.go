package sketch_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/axiomhq/hyperloglog"
	"pgregory.net/rapid"

	"footfall/sketch"
)

// An independent implementation: axiomhq's dense sketches of the same hashes.

type fataler interface{ Fatal(args ...any) }

func axiomOf(t fataler, p sketch.Precision, hashes []sketch.Hash) *hyperloglog.Sketch {
	s, err := hyperloglog.NewSketch(uint8(p), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hashes {
		s.InsertHash(uint64(h))
	}
	return s
}

// axiomRegisters takes the registers out of the encoding: they follow 8 bytes of
// version, precision, bias, form, and their number.
func axiomRegisters(t fataler, s *hyperloglog.Sketch) []byte {
	encoded, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return encoded[8:]
}

func TestRegistersAreAxiomhqs(t *testing.T) {
	for _, p := range precisions {
		for _, n := range []int{0, 1, 100, p.ExactLimit() + 1, 100_000} {
			t.Run(fmt.Sprintf("precision %d, %d visitors", p, n), func(t *testing.T) {
				hashes := append(visitors(0, n), 0, 1, 1<<63, math.MaxUint64)[:n]
				want := axiomRegisters(t, axiomOf(t, p, hashes))
				if !bytes.Equal(sketch.BuildRegisters(p, hashes), want) {
					t.Error("registers differ")
				}
				if s := setOf(p, hashes...); !s.Exact() && !bytes.Equal(sketch.DenseRegisters(s), want) {
					t.Error("registers of the set differ")
				}
			})
		}
	}
}

// Hashes of any bits, at every precision that axiomhq has.
func TestRegistersAreAxiomhqsForAnyHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sketch.Precision(rapid.Uint8Range(4, 18).Draw(t, "precision"))
		hashes := anyVisitors().Draw(t, "visitors")
		if !bytes.Equal(sketch.BuildRegisters(p, hashes), axiomRegisters(t, axiomOf(t, p, hashes))) {
			t.Fatal("registers differ")
		}
	})
}

// Days of any size, exact and dense, merged in both implementations, on every way
// that there is here.
func TestMergedRegistersAreAxiomhqs(t *testing.T) {
	for _, p := range precisions {
		t.Run(fmt.Sprintf("precision %d", p), func(t *testing.T) {
			merged, encoded, axiom := sketch.NewSet(p), sketch.NewSet(p), axiomOf(t, p, nil)
			accumulator := sketch.NewAccumulator(p)
			for day, n := range []int{50, 3 * p.ExactLimit(), 0, 700, p.ExactLimit(), 5 * p.ExactLimit()} {
				hashes := visitors(uint32(day/2), n)
				s := setOf(p, hashes...)
				merged.Merge(s)
				if err := encoded.MergeEncoded(s.AppendEncoded(nil), s.Count()); err != nil {
					t.Fatal(err)
				}
				if err := accumulator.AddEncoded(sketch.AI, s.AppendEncoded(nil), s.Count()); err != nil {
					t.Fatal(err)
				}
				if err := axiom.Merge(axiomOf(t, p, hashes)); err != nil {
					t.Fatal(err)
				}
				if merged.Exact() {
					continue
				}
				want := axiomRegisters(t, axiom)
				for name, got := range map[string][]byte{
					"Merge":        sketch.DenseRegisters(merged),
					"MergeEncoded": sketch.DenseRegisters(encoded),
					"Accumulator":  accumulator.AppendEncoded(nil, sketch.AI),
				} {
					if !bytes.Equal(got, want) {
						t.Fatalf("%s: registers differ after day %d", name, day)
					}
				}
			}
			if merged.Exact() {
				t.Fatal("the set never became dense")
			}
		})
	}
}

// Different estimators over equal registers: their answers are close, and both
// are close to the truth.
func TestEstimateIsCloseToAxiomhqs(t *testing.T) {
	for _, p := range precisions {
		t.Run(fmt.Sprintf("precision %d", p), func(t *testing.T) {
			registers, axiom := make([]byte, p.Registers()), axiomOf(t, p, nil)
			added := uint64(0)
			for _, n := range []uint64{3_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000} {
				for ; added < n; added++ {
					h := mix(added)
					sketch.AddToRegisters(registers, p, h)
					axiom.InsertHash(uint64(h))
				}
				ours, theirs := sketch.EstimateRegisters(p, registers), axiom.Estimate()
				apart, off := relativeError(ours, theirs), relativeError(ours, n)
				t.Logf("%9d visitors: %9d, axiomhq %9d, apart %+.3f %%, off %+.3f %%", n, ours, theirs, 100*apart, 100*off)
				if math.Abs(apart) > p.RelativeStandardError()/2 {
					t.Errorf("%d visitors: estimate is %d, axiomhq's %d", n, ours, theirs)
				}
				if math.Abs(off) > 4*p.RelativeStandardError() {
					t.Errorf("%d visitors: estimate is %d", n, ours)
				}
			}
		})
	}
}
