package sketch_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

var precisions = []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision}

// decoded returns the set that an encoded one is read as.
func decoded(t interface{ Fatal(...any) }, p sketch.Precision, b []byte, count uint64) *sketch.Set {
	s := sketch.NewSet(p)
	if err := s.MergeEncoded(b, count); err != nil {
		t.Fatal(err)
	}
	return s
}

// What is stored may never change its meaning: these bytes were worked out from
// the format's description, not taken from the encoder.
func TestSetIsStoredAsTheseBytes(t *testing.T) {
	const p = sketch.PathPrecision
	tests := []struct {
		name     string
		visitors []sketch.Hash
		want     string
	}{
		{"nobody", nil, ""},
		{"the hash 0", []sketch.Hash{0}, "0000000000000000"},
		{"ascending, the low byte first", []sketch.Hash{1 << 63, 0x0123456789abcdef, 0, 0x0123456789abcdef},
			"0000000000000000" + "efcdab8967452301" + "0000000000000080"},
		{"every bit", []sketch.Hash{math.MaxUint64, 256}, "0001000000000000" + "ffffffffffffffff"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := hex.EncodeToString(setOf(p, test.visitors...).AppendEncoded(nil)); got != test.want {
				t.Errorf("stored as %s, expected %s", got, test.want)
			}
		})
	}
	t.Run("dense as its registers", func(t *testing.T) {
		hashes := visitors(0, 3000)
		if !bytes.Equal(setOf(p, hashes...).AppendEncoded(nil), sketch.BuildRegisters(p, hashes)) {
			t.Error("stored as other bytes")
		}
	})
}

func TestEncodedSizeFollowsFromTheCount(t *testing.T) {
	tests := []struct {
		precision sketch.Precision
		count     uint64
		size      int
	}{
		{sketch.PathPrecision, 0, 0},
		{sketch.PathPrecision, 1, 8},
		{sketch.PathPrecision, 2_048, 16_384},
		{sketch.PathPrecision, 2_049, 16_384},
		{sketch.PathPrecision, math.MaxUint64, 16_384},
		{sketch.SitePrecision, 2_049, 16_392},
		{sketch.SitePrecision, 8_192, 65_536},
		{sketch.SitePrecision, 8_193, 65_536},
	}
	for _, test := range tests {
		if got := test.precision.EncodedSize(test.count); got != test.size {
			t.Errorf("precision %d: %d visitors take %d bytes, expected %d", test.precision, test.count, got, test.size)
		}
	}
}

func TestSetRoundTrip(t *testing.T) {
	for _, p := range precisions {
		limit := p.ExactLimit()
		for _, n := range []int{0, 1, 63, 64, 65, limit - 1, limit, limit + 1, 5 * limit} {
			t.Run(fmt.Sprintf("precision %d, %d visitors", p, n), func(t *testing.T) {
				s := setOf(p, visitors(0, n)...)
				stored := s.AppendEncoded(nil)
				kept := bytes.Clone(stored)
				if got, want := len(stored), p.EncodedSize(s.Count()); got != want {
					t.Fatalf("%d bytes, expected %d", got, want)
				}
				again := decoded(t, p, stored, s.Count())
				clear(stored) // The database's bytes die with its transaction.
				if !again.Equal(s) || again.Count() != s.Count() {
					t.Fatalf("decoded %d visitors, expected %d", again.Count(), s.Count())
				}
				if !bytes.Equal(again.AppendEncoded(nil), kept) {
					t.Fatal("the decoded set has another encoding")
				}
			})
		}
	}
}

func TestSetRoundTripOfAnyVisitors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		s := setOf(p, anyVisitors().Draw(t, "visitors")...)
		stored := s.AppendEncoded(nil)
		again := decoded(t, p, stored, s.Count())
		if !again.Equal(s) || !bytes.Equal(again.AppendEncoded(nil), stored) {
			t.Fatalf("decoded %d visitors, expected %d", again.Count(), s.Count())
		}
	})
}

func TestAppendKeepsWhatStandsBefore(t *testing.T) {
	const p = sketch.PathPrecision
	appends := map[string]func([]byte) []byte{
		"no set":       sketch.NewSet(p).AppendEncoded,
		"an exact set": setOf(p, visitors(0, 100)...).AppendEncoded,
		"a dense set":  setOf(p, visitors(0, 3000)...).AppendEncoded,
		"a frame":      func(b []byte) []byte { return sketch.AppendFrame(b, []byte("key"), 7, 0, []byte("payload")) },
	}
	for name, appendTo := range appends {
		want := slices.Concat([]byte("before"), appendTo(nil))
		for _, room := range []int{0, 1 << 20} {
			if got := appendTo(append(make([]byte, 0, 6+room), "before"...)); !bytes.Equal(got, want) {
				t.Errorf("%s, room of %d bytes: appended other bytes", name, room)
			}
		}
	}
}

// A count says by itself how its set is stored: whatever registers a value has,
// and however few visitors they would be.
func TestCountIsAboveTheLimitWhereTheSetIsDense(t *testing.T) {
	for _, p := range precisions {
		limit := uint64(p.ExactLimit())
		dense := decoded(t, p, make([]byte, p.Registers()), limit+1)
		if dense.Exact() || dense.Count() <= limit {
			t.Errorf("precision %d, empty registers: exact %t, count %d", p, dense.Exact(), dense.Count())
		}
		for n := int(limit) - 1; n <= int(limit)+20; n++ {
			if s := setOf(p, visitors(1, n)...); s.Exact() != (s.Count() <= limit) {
				t.Errorf("precision %d, %d visitors: exact %t, count %d", p, n, s.Exact(), s.Count())
			}
		}
	}
}

func TestMergeEncodedIsMerge(t *testing.T) {
	for _, p := range precisions {
		limit := p.ExactLimit()
		sizes := []int{0, 10, limit - 1, limit, limit + 1}
		for _, into := range sizes {
			for _, stored := range sizes {
				t.Run(fmt.Sprintf("precision %d, %d into %d", p, stored, into), func(t *testing.T) {
					// Half of the smaller one is in both.
					common := min(into, stored) / 2
					added := setOf(p, visitors(0, into+stored)[into-common:][:stored]...)
					got, want := setOf(p, visitors(0, into)...), setOf(p, visitors(0, into)...)
					before := got.Count()
					if err := got.MergeEncoded(added.AppendEncoded(nil), added.Count()); err != nil {
						t.Fatal(err)
					}
					want.Merge(added)
					if !got.Equal(want) || got.Count() != want.Count() {
						t.Errorf("count %d, expected %d", got.Count(), want.Count())
					}
					if exact := into+stored-common <= limit; got.Exact() != exact {
						t.Errorf("exact is %t", got.Exact())
					}
					if got.Count() < max(before, added.Count()) {
						t.Errorf("%d and %d visitors became %d", before, added.Count(), got.Count())
					}
				})
			}
		}
	}
}

// encodedHashes are the bytes of hashes in the order in which they are given.
func encodedHashes(hashes ...uint64) []byte {
	var b []byte
	for _, h := range hashes {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return b
}

// What is no encoded set of a count is refused by each way to read it. To a set it
// adds nothing, not even what stands before the damage.
func TestSetsThatAreNoneAreRefused(t *testing.T) {
	const p = sketch.PathPrecision
	limit, registers := uint64(p.ExactLimit()), p.Registers()
	ascending := make([]uint64, limit+1)
	for i := range ascending {
		ascending[i] = uint64(i)
	}
	equal := func(n int, value byte) []byte { return bytes.Repeat([]byte{value}, n) }

	tests := []struct {
		name   string
		stored []byte
		count  uint64
		reason string
	}{
		{"bytes of nobody", make([]byte, 8), 0, "0 bytes, not 8"},
		{"nothing of one", nil, 1, "8 bytes, not 0"},
		{"one byte too few", make([]byte, 23), 3, "24 bytes, not 23"},
		{"one byte too many", make([]byte, 25), 3, "24 bytes, not 25"},
		{"one hash too few", encodedHashes(1, 2), 3, "24 bytes, not 16"},
		{"one hash above the limit", encodedHashes(ascending...), limit + 1, "16384 bytes, not 16392"},
		{"the largest count", nil, math.MaxUint64, "16384 bytes, not 0"},
		{"a count whose bytes overflow", nil, 1 << 61, "16384 bytes, not 0"},
		{"a hash twice", encodedHashes(1, 2, 2), 3, "hash 2 is not above"},
		{"the hash 0 twice", encodedHashes(0, 0), 2, "hash 1 is not above"},
		{"hashes that descend", encodedHashes(5, 4), 2, "hash 1 is not above"},
		{"the last of many descends", encodedHashes(append(slices.Clone(ascending[:limit-1]), 0)...), limit, "hash 2047 is not above"},
		{"registers as hashes", equal(registers, 1), limit, "hash 1 is not above"},
		{"registers of the site", equal(sketch.SitePrecision.Registers(), 1), limit + 1, "16384 bytes, not 65536"},
		{"one register too few", equal(registers-1, 1), limit + 1, "16384 bytes, not 16383"},
		{"a register above the largest", equal(registers, sketch.MaxRegister(p)+1), limit + 1, "exceeds 51"},
		{"the last register has its high bit set", append(equal(registers-1, 1), 0x81), limit + 1, "exceeds 51"},
		{"hashes as registers", encodedHashes(ascending[1:]...)[:registers-1], limit + 1, "16384 bytes, not 16383"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { checkRefused(t, p, test.stored, test.count, test.reason) })
	}
	t.Run("what they all differ from is taken", func(t *testing.T) {
		decoded(t, p, nil, 0)
		decoded(t, p, encodedHashes(ascending[:limit]...), limit)
		decoded(t, p, equal(registers, sketch.MaxRegister(p)), limit+1)
		decoded(t, p, equal(registers, 0), math.MaxUint64)
	})
}

func TestEveryTruncatedSetIsRefused(t *testing.T) {
	const p = sketch.PathPrecision
	for _, test := range []struct{ visitors, step int }{{20, 1}, {p.ExactLimit(), 1021}, {3000, 1021}} {
		s := setOf(p, visitors(0, test.visitors)...)
		stored := s.AppendEncoded(nil)
		for n := 0; n < len(stored); n += test.step {
			checkRefused(t, p, stored[:n], s.Count(), "bytes, not")
		}
	}
}

// checkRefused reads a stored set into sets and accumulators in every state.
func checkRefused(t *testing.T, p sketch.Precision, stored []byte, count uint64, reason string) {
	t.Helper()
	for _, visitors := range [][]sketch.Hash{nil, visitors(9, 3), visitors(9, p.ExactLimit()+1)} {
		s := setOf(p, visitors...)
		before := s.AppendEncoded(nil)
		if err := s.MergeEncoded(stored, count); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("MergeEncoded: %v, expected %q in it", err, reason)
		}
		if !bytes.Equal(s.AppendEncoded(nil), before) {
			t.Errorf("MergeEncoded changed a set of %d visitors", len(visitors))
		}

		a := sketch.NewAccumulator(p)
		a.AddCell(&sketch.Cell{Visitors: [2]sketch.Set{*sketch.NewSet(p), *s}})
		if err := a.AddEncoded(sketch.AI, stored, count); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("AddEncoded: %v, expected %q in it", err, reason)
		}
	}
}

// Registers are checked eight at a time; each is checked by itself.
func TestEveryRegisterIsChecked(t *testing.T) {
	for _, p := range precisions {
		dense := uint64(p.ExactLimit()) + 1
		s := sketch.NewSet(p)
		for _, around := range []byte{0, sketch.MaxRegister(p)} {
			stored := bytes.Repeat([]byte{around}, p.Registers())
			for value := range 256 {
				// Every place in a word, and the ends of the registers among them.
				at := (value*8 + value%8) % len(stored)
				for _, i := range []int{at, at ^ 7, len(stored) - 1 - value%8} {
					stored[i] = byte(value)
					err := s.MergeEncoded(stored, dense)
					stored[i] = around
					if taken := err == nil; taken != (byte(value) <= sketch.MaxRegister(p)) {
						t.Fatalf("precision %d: register %d of value %d among %d: %v", p, i, value, around, err)
					}
				}
			}
		}
	}
}

// Lengths are bounded before anything is allocated by them.
func TestCraftedCountsDoNotAllocate(t *testing.T) {
	const p = sketch.SitePrecision
	for name, count := range map[string]uint64{
		"the largest count":            math.MaxUint64,
		"hashes above the limit":       1 << 20,
		"hashes that are not there":    uint64(p.ExactLimit()),
		"registers that are not there": uint64(p.ExactLimit()) + 1,
	} {
		s, a := sketch.NewSet(p), sketch.NewAccumulator(p)
		const runs, limit = 100, 4 << 10
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			if s.MergeEncoded(make([]byte, 8), count) == nil || a.AddEncoded(sketch.AI, make([]byte, 8), count) == nil {
				t.Fatalf("%s: no error", name)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / runs; each > limit {
			t.Errorf("%s: %d bytes are allocated", name, each)
		}
	}
}

// Most sets are small, and a checkpoint encodes many of them.
func TestAppendEncodedOfFewVisitorsDoesNotAllocate(t *testing.T) {
	const p = sketch.PathPrecision
	s, room := setOf(p, visitors(0, 64)...), make([]byte, 0, 64*8)
	if allocations := testing.AllocsPerRun(20, func() { s.AppendEncoded(room) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
