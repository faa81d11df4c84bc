package sketch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"footfall/sketch"
)

// checkCorrupted checks that an error is an ErrCorrupted that names the key, and
// keeps a key of its own.
func checkCorrupted(err error, key []byte) error {
	if !errors.Is(err, sketch.ErrCorrupted) {
		return fmt.Errorf("%w, expected ErrCorrupted", err)
	}
	var corruption *sketch.CorruptionError
	if !errors.As(err, &corruption) {
		return fmt.Errorf("%T, expected a *CorruptionError", err)
	}
	if !bytes.Equal(corruption.Key, key) || !strings.Contains(err.Error(), fmt.Sprintf("%q", key)) {
		return fmt.Errorf("%w: does not name key %q", err, key)
	}
	if corruption.Reason == "" || !strings.Contains(err.Error(), corruption.Reason) {
		return fmt.Errorf("%w: does not give its reason %q", err, corruption.Reason)
	}
	return nil
}

// refused checks that each way to read a cell refuses the value.
func refused(t *testing.T, name string, key, value []byte) {
	t.Helper()
	cell, err := sketch.DecodeCell(key, value)
	if cell != nil {
		t.Errorf("%s: DecodeCell returns a cell", name)
	}
	if err := checkCorrupted(err, key); err != nil {
		t.Errorf("%s: DecodeCell: %v", name, err)
	}
	_, err = sketch.NewCell(sketch.PathPrecision).MergeEncoded(key, value)
	if err := checkCorrupted(err, key); err != nil {
		t.Errorf("%s: MergeEncoded: %v", name, err)
	}
}

func smallCell() *sketch.Cell {
	c := cellOf(sketch.PathPrecision, view{sketch.Human, 1 << 50}, view{sketch.Human, 2 << 50}, view{sketch.AI, 3})
	c.Position = 300
	return c
}

func TestEveryBitFlipIsFound(t *testing.T) {
	value := sketch.AppendCell(nil, cellKey, smallCell())
	for bit := range 8 * len(value) {
		flipped := bytes.Clone(value)
		flipped[bit/8] ^= 1 << (bit % 8)
		name := fmt.Sprintf("bit %d of byte %d", bit%8, bit/8)
		refused(t, name, cellKey, flipped)
		if _, err := sketch.EncodedPosition(cellKey, flipped); checkCorrupted(err, cellKey) != nil {
			t.Errorf("%s: EncodedPosition: %v", name, err)
		}
	}
	for bit := range 8 * len(cellKey) {
		key := bytes.Clone(cellKey)
		key[bit/8] ^= 1 << (bit % 8)
		refused(t, fmt.Sprintf("bit %d of the key", bit), key, value)
	}
}

func TestEveryTruncationIsFound(t *testing.T) {
	value := sketch.AppendCell(nil, cellKey, smallCell())
	for n := range len(value) {
		refused(t, fmt.Sprintf("cut to %d bytes", n), cellKey, value[:n])
		if _, err := sketch.EncodedPosition(cellKey, value[:n]); checkCorrupted(err, cellKey) != nil {
			t.Errorf("cut to %d bytes: EncodedPosition: %v", n, err)
		}
	}
}

// With a checksum that is right, the decoder of the payload finds it by itself.
func TestEveryTruncatedPayloadIsFound(t *testing.T) {
	dense := smallCell()
	for _, h := range visitors(0, 3000) {
		dense.Add(sketch.Human, h)
	}
	for _, test := range []struct {
		name string
		cell *sketch.Cell
		step int
	}{{"exact", smallCell(), 1}, {"dense", dense, 131}} {
		t.Run(test.name, func(t *testing.T) {
			p, payload, err := sketch.OpenFrame(cellKey, sketch.KindCell, sketch.AppendCell(nil, cellKey, test.cell))
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; n < len(payload); n += test.step {
				refused(t, fmt.Sprintf("cut to %d bytes", n), cellKey, sketch.AppendFrame(nil, cellKey, sketch.KindCell, p, payload[:n]))
			}
		})
	}
}

func TestFrameRefusesWhatItIsNot(t *testing.T) {
	frame := sketch.AppendFrame(nil, cellKey, sketch.KindCell, sketch.PathPrecision, []byte("payload"))
	tests := []struct {
		name   string
		key    []byte
		kind   sketch.Kind
		value  []byte
		reason string
	}{
		{"nothing", cellKey, sketch.KindCell, nil, "too few"},
		{"less than a header", cellKey, sketch.KindCell, frame[:6], "too few"},
		{"another key", []byte("cell/kez"), sketch.KindCell, frame, "checksum"},
		{"a longer key", slices.Concat(cellKey, []byte{1}), sketch.KindCell, frame, "checksum"},
		{"no key", nil, sketch.KindCell, frame, "checksum"},
		{"a byte follows", cellKey, sketch.KindCell, append(bytes.Clone(frame), 0), "checksum"},
		{"two frames", cellKey, sketch.KindCell, append(bytes.Clone(frame), frame...), "checksum"},
		{"all zeros", cellKey, sketch.KindCell, make([]byte, 64), "checksum"},
		{"another kind", cellKey, 2, frame, "kind"},
		{"a newer version", cellKey, sketch.KindCell, reseal(cellKey, frame, func(b []byte) { b[0] = 2 }), "version"},
		{"version zero", cellKey, sketch.KindCell, reseal(cellKey, frame, func(b []byte) { b[0] = 0 }), "version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, payload, err := sketch.OpenFrame(test.key, test.kind, test.value)
			if payload != nil {
				t.Errorf("returns the payload % x", payload)
			}
			checkReason(t, err, test.key, test.reason)
		})
	}
}

func TestCellRefusesPayloadsThatAreNone(t *testing.T) {
	const p = sketch.PathPrecision
	empty := []byte{1}
	numbers := []byte{5, 1, 1}
	list := func(hashes ...uint64) []byte {
		b := binary.AppendUvarint(nil, uint64(len(hashes))+1)
		for _, h := range hashes {
			b = binary.LittleEndian.AppendUint64(b, h)
		}
		return b
	}
	ascending := func(n int) []uint64 {
		hashes := make([]uint64, n)
		for i := range hashes {
			hashes[i] = uint64(i)
		}
		return hashes
	}
	dense := func(n int, value byte) []byte { return append([]byte{0}, bytes.Repeat([]byte{value}, n)...) }
	uvarint := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	tooLong := bytes.Repeat([]byte{0xff}, 10)

	tests := []struct {
		name    string
		payload [][]byte
		reason  string
	}{
		{"nothing", nil, "number 0"},
		{"position alone", [][]byte{{5}}, "number 1"},
		{"one number of views", [][]byte{{5, 1}}, "number 2"},
		{"a number that does not end", [][]byte{{5, 1, 0x80}}, "number 2"},
		{"a number beyond 64 bits", [][]byte{tooLong, {1, 1}, empty, empty}, "number 0"},
		{"a number that is longer than need be", [][]byte{{0x85, 0, 1, 1}, empty, empty}, "number 0"},
		{"no set", [][]byte{numbers}, "human set: length"},
		{"one set", [][]byte{numbers, empty}, "ai set: length"},
		{"a length that does not end", [][]byte{numbers, {0x80}}, "human set: length"},
		{"a length beyond 64 bits", [][]byte{numbers, tooLong, empty}, "human set: length"},
		{"a length that is longer than need be", [][]byte{numbers, {0x81, 0}, empty}, "human set: length"},
		{"dense, written longer than need be", [][]byte{numbers, {0x80, 0}, dense(p.Registers(), 1)[1:], empty}, "human set: length"},
		{"a third set", [][]byte{numbers, empty, empty, empty}, "1 bytes follow"},
		{"bytes after a dense set", [][]byte{numbers, empty, dense(p.Registers(), 1), {0}}, "1 bytes follow"},
		{"one hash too many", [][]byte{numbers, list(ascending(p.ExactLimit() + 1)...), empty}, "exceed the limit"},
		{"the largest length", [][]byte{numbers, uvarint(math.MaxUint64), empty}, "exceed the limit"},
		{"a length whose bytes overflow", [][]byte{numbers, uvarint(1<<61 + 1), empty}, "exceed the limit"},
		{"hashes that are not there", [][]byte{numbers, empty, uvarint(3), make([]byte, 15)}, "ai set: 15 bytes"},
		{"a hash twice", [][]byte{numbers, list(1, 2, 2), empty}, "hash 2 is not above"},
		{"hash zero twice", [][]byte{numbers, list(0, 0), empty}, "hash 1 is not above"},
		{"hashes that descend", [][]byte{numbers, empty, list(5, 4)}, "ai set: hash 1 is not above"},
		{"registers that are not there", [][]byte{numbers, dense(p.Registers()-1, 1)}, "bytes of registers"},
		{"registers of another precision", [][]byte{numbers, dense(sketch.SitePrecision.Registers(), 1), empty}, "bytes follow"},
		{"a register above the largest", [][]byte{numbers, dense(p.Registers(), sketch.MaxRegister(p)+1), empty}, "exceeds 51"},
		{"the last register with its high bit set", [][]byte{numbers, dense(p.Registers()-1, 1), {0x81}, empty}, "exceeds 51"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			payload := slices.Concat(test.payload...)
			value := sketch.AppendFrame(nil, cellKey, sketch.KindCell, p, payload)
			cell, err := sketch.DecodeCell(cellKey, value)
			if cell != nil {
				t.Error("returns a cell")
			}
			checkReason(t, err, cellKey, test.reason)
			_, err = sketch.NewCell(p).MergeEncoded(cellKey, value)
			checkReason(t, err, cellKey, test.reason)
		})
	}
	t.Run("the payload that all differ from", func(t *testing.T) {
		payload := slices.Concat(numbers, list(ascending(p.ExactLimit())...), dense(p.Registers(), sketch.MaxRegister(p)))
		cell, err := sketch.DecodeCell(cellKey, sketch.AppendFrame(nil, cellKey, sketch.KindCell, p, payload))
		if err != nil {
			t.Fatal(err)
		}
		if err := inBounds(cell.Count()); err != nil {
			t.Error(err)
		}
	})
}

// Registers are checked eight at a time; each is checked by itself.
func TestEveryRegisterIsChecked(t *testing.T) {
	for _, p := range []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision} {
		for _, around := range []byte{0, 1, sketch.MaxRegister(p)} {
			payload := slices.Concat([]byte{5, 1, 1, 1, 0}, bytes.Repeat([]byte{around}, p.Registers()))
			stored := payload[5:]
			for value := range 256 {
				// Every place in a word, and the ends of the registers among them.
				at := (value*8 + value%8) % len(stored)
				for _, i := range []int{at, at ^ 7, len(stored) - 1 - value%8} {
					stored[i] = byte(value)
					_, err := sketch.NewCell(p).MergeEncoded(cellKey, sketch.AppendFrame(nil, cellKey, sketch.KindCell, p, payload))
					stored[i] = around
					if byte(value) <= sketch.MaxRegister(p) {
						if err != nil {
							t.Fatalf("precision %d: register %d of value %d among %d: %v", p, i, value, around, err)
						}
					} else if err := checkCorrupted(err, cellKey); err != nil {
						t.Fatalf("precision %d: register %d of value %d among %d: %v", p, i, value, around, err)
					}
				}
			}
		}
	}
}

func TestCellRefusesOtherPrecisions(t *testing.T) {
	payload := []byte{5, 1, 1, 1, 1}
	for _, p := range []sketch.Precision{0, 4, 13, 15, 17, 64, 255} {
		_, err := sketch.DecodeCell(cellKey, sketch.AppendFrame(nil, cellKey, sketch.KindCell, p, payload))
		checkReason(t, err, cellKey, "precision")
	}
	site := sketch.AppendCell(nil, cellKey, sketch.NewCell(sketch.SitePrecision))
	_, err := sketch.NewCell(sketch.PathPrecision).MergeEncoded(cellKey, site)
	checkReason(t, err, cellKey, "precision")
}

func TestEncodedPositionRefusesWhatIsNone(t *testing.T) {
	for name, payload := range map[string][]byte{
		"nothing":                 nil,
		"does not end":            {0x80},
		"beyond 64 bits":          bytes.Repeat([]byte{0xff}, 10),
		"longer than it needs be": {0x85, 0},
	} {
		_, err := sketch.EncodedPosition(cellKey, sketch.AppendFrame(nil, cellKey, sketch.KindCell, sketch.PathPrecision, payload))
		if err := checkCorrupted(err, cellKey); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := sketch.EncodedPosition(cellKey, sketch.AppendFrame(nil, cellKey, 2, 0, []byte{5}))
	checkReason(t, err, cellKey, "kind")
}

// The key of an error outlives the slice it came in, which belongs to the
// iterator of a store.
func TestCorruptionKeepsAKeyOfItsOwn(t *testing.T) {
	key := []byte("cell/key")
	_, err := sketch.DecodeCell(key, nil)
	clear(key)
	if err := checkCorrupted(err, cellKey); err != nil {
		t.Error(err)
	}
}

// Lengths are bounded before anything is allocated by them.
func TestCraftedLengthsDoNotAllocate(t *testing.T) {
	numbers := []byte{5, 1, 1}
	for name, set := range map[string][]byte{
		"the largest length":           binary.AppendUvarint(nil, math.MaxUint64),
		"hashes above the limit":       binary.AppendUvarint(nil, 1<<20),
		"hashes that are not there":    binary.AppendUvarint(nil, uint64(sketch.SitePrecision.ExactLimit())+1),
		"registers that are not there": {0},
	} {
		value := sketch.AppendFrame(nil, cellKey, sketch.KindCell, sketch.SitePrecision, slices.Concat(numbers, set))
		const runs, limit = 100, 4 << 10
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			if _, err := sketch.DecodeCell(cellKey, value); err == nil {
				t.Fatalf("%s: no error", name)
			}
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / runs; each > limit {
			t.Errorf("%s: %d bytes are allocated", name, each)
		}
	}
}

func checkReason(t *testing.T, err error, key []byte, reason string) {
	t.Helper()
	if err := checkCorrupted(err, key); err != nil {
		t.Error(err)
		return
	}
	var corruption *sketch.CorruptionError
	if errors.As(err, &corruption) && !strings.Contains(corruption.Reason, reason) {
		t.Errorf("the reason is %q, expected %q in it", corruption.Reason, reason)
	}
}

// reseal changes a frame and makes its checksum right again. It computes the
// sum by itself: over key, header and payload, as the format is described.
func reseal(key, frame []byte, change func([]byte)) []byte {
	frame = bytes.Clone(frame)
	change(frame)
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, part := range [][]byte{key, frame[:3], frame[7:]} {
		sum.Write(part) // a hash.Hash never fails
	}
	binary.LittleEndian.PutUint32(frame[3:], sum.Sum32())
	return frame
}
