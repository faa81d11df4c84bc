package sketch_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

func TestRegisterIsTheRankOfTheFirstOneBit(t *testing.T) {
	const p = sketch.PathPrecision
	tests := []struct {
		name     string
		hash     sketch.Hash
		register int
		value    byte
	}{
		{"no zero follows the index", 1 << 49, 0, 1},
		{"one zero follows it", 1 << 48, 0, 2},
		{"only the last bit is set", 1, 0, 50},
		{"no bit is set", 0, 0, 51},
		{"every bit is set", ^sketch.Hash(0), 1<<14 - 1, 1},
		{"index alone", 5 << 50, 5, 51},
		{"index and a bit", 5<<50 | 1<<40, 5, 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := sketch.BuildRegisters(p, []sketch.Hash{test.hash})
			for i, value := range r {
				want := byte(0)
				if i == test.register {
					want = test.value
				}
				if value != want {
					t.Errorf("register %d is %d, expected %d", i, value, want)
				}
			}
		})
	}
}

func TestAddReportsWhetherARegisterRose(t *testing.T) {
	r := make([]byte, sketch.PathPrecision.Registers())
	add := func(h sketch.Hash) bool { return sketch.AddToRegisters(r, sketch.PathPrecision, h) }
	if !add(1<<48) || add(1<<48) || add(1<<49) || !add(1<<47) {
		t.Error("the report is wrong")
	}
	if r[0] != 3 {
		t.Errorf("register 0 is %d, expected 3", r[0])
	}
}

// Eight registers at a time are one at a time, for every pair of values that a
// register of any precision can hold.
func TestMergeRaisesEachRegisterByItself(t *testing.T) {
	const top = 64
	rapid.Check(t, func(t *rapid.T) {
		n := 8 * rapid.IntRange(0, 9).Draw(t, "eights")
		value := rapid.OneOf(rapid.ByteRange(0, top), rapid.SampledFrom([]byte{0, 1, top - 1, top}))
		a := rapid.SliceOfN(value, n, n).Draw(t, "a")
		b := rapid.SliceOfN(value, n, n).Draw(t, "b")

		want := make([]byte, n)
		for i := range want {
			want[i] = max(a[i], b[i])
		}
		got, other := slices.Clone(a), slices.Clone(b)
		sketch.MergeRegisters(got, other)
		if !bytes.Equal(got, want) {
			t.Fatalf("merged\n%v and\n%v to\n%v", a, b, got)
		}
		if !bytes.Equal(other, b) {
			t.Fatal("merging changed its argument")
		}
	})
}

func TestMergeOfEveryPairOfValues(t *testing.T) {
	const top = 64
	for a := range byte(top + 1) {
		for b := range byte(top + 1) {
			// Neighbours that would lend a bit, were there a borrow.
			r := []byte{0, a, top, a, 0, a, top, a}
			other := []byte{top, b, 0, b, top, b, 0, b}
			sketch.MergeRegisters(r, other)
			m := max(a, b)
			if want := []byte{top, m, top, m, top, m, top, m}; !bytes.Equal(r, want) {
				t.Fatalf("%d and %d merge to %v", a, b, r)
			}
		}
	}
}
