package sketch_test

import (
	"bytes"
	"slices"
	"testing"

	"footfall/sketch"
)

// FuzzDecodeCell gives the decoder of the payload any bytes, under a checksum
// that is right: a fuzzer would never guess one. What decodes is a cell like any
// other, and its encoding is the bytes that it came from. The payload is head,
// a number of equal bytes, and tail: so small inputs reach the registers.
func FuzzDecodeCell(f *testing.F) {
	const path, site = false, true
	seed := func(c *sketch.Cell, higher bool) {
		_, payload, err := sketch.OpenFrame(nil, sketch.KindCell, sketch.AppendCell(nil, nil, c))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte("cell/key"), payload, uint32(0), byte(0), []byte(nil), higher)
	}
	seed(sketch.NewCell(sketch.PathPrecision), path)
	seed(sketch.NewCell(sketch.SitePrecision), site)
	seed(smallCell(), path)
	seed(cellOf(sketch.SitePrecision, view{sketch.Human, 0}, view{sketch.AI, 0}, view{sketch.AI, ^sketch.Hash(0)}), site)
	for _, test := range []struct {
		head   []byte
		repeat int
		value  byte
		tail   []byte
		higher bool
	}{
		{[]byte{5, 1, 1, 0}, sketch.PathPrecision.Registers() - 1, 1, []byte{9, 1}, path},   // dense humans
		{[]byte{5, 1, 1, 1, 0}, sketch.SitePrecision.Registers(), 3, nil, site},             // dense AI agents
		{[]byte{5, 1, 1, 0}, sketch.PathPrecision.Registers() - 1, 51, []byte{52, 1}, path}, // a register too large
		{[]byte{5, 1, 1, 0}, sketch.PathPrecision.Registers() - 1, 1, []byte{1}, path},      // registers missing
		{[]byte{5, 1, 1}, 9, 0xff, []byte{1, 1}, site},                                      // the largest length
		{[]byte{5, 1, 1, 3, 1}, 7, 0, []byte{1, 0, 0, 0, 0, 0, 0, 0, 1}, path},              // a hash twice
		{[]byte{0x85, 0, 1, 1, 1, 1}, 0, 0, nil, path},                                      // a number too long
		{[]byte{5}, 9, 0xff, []byte{1, 1, 1, 1, 9}, path},                                   // bytes that follow
	} {
		f.Add([]byte("cell/key"), test.head, uint32(test.repeat), test.value, test.tail, test.higher)
	}

	f.Fuzz(func(t *testing.T, key, head []byte, repeat uint32, value byte, tail []byte, higher bool) {
		if _, err := sketch.DecodeCell(key, head); err != nil {
			if err := checkCorrupted(err, key); err != nil {
				t.Fatalf("without a frame: %v", err)
			}
		}

		p := sketch.PathPrecision
		if higher {
			p = sketch.SitePrecision
		}
		middle := bytes.Repeat([]byte{value}, int(repeat)%(p.Registers()+1))
		payload := slices.Concat(head, middle, tail)
		stored := sketch.AppendFrame(nil, key, sketch.KindCell, p, payload)
		cell, err := sketch.DecodeCell(key, stored)
		merged := sketch.NewCell(p)
		position, mergeErr := merged.MergeEncoded(key, stored)
		if err != nil {
			if err := checkCorrupted(err, key); err != nil {
				t.Fatal(err)
			}
			if err := checkCorrupted(mergeErr, key); err != nil {
				t.Fatalf("MergeEncoded: %v", err)
			}
			return
		}
		if mergeErr != nil || position != cell.Position || !equalCells(merged, cell) {
			t.Fatalf("MergeEncoded: position %d, expected %d, %v", position, cell.Position, mergeErr)
		}
		if position, err := sketch.EncodedPosition(key, stored); err != nil || position != cell.Position {
			t.Fatalf("EncodedPosition is %d, expected %d, %v", position, cell.Position, err)
		}
		if again := sketch.AppendCell(nil, key, cell); !bytes.Equal(again, stored) {
			t.Fatalf("% x is encoded again as % x", stored, again)
		}
		if err := inBounds(cell.Count()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzOpenFrame gives any bytes as a frame, and as the payload of one.
func FuzzOpenFrame(f *testing.F) {
	f.Add([]byte("key"), byte(sketch.KindCell), []byte(nil))
	f.Add([]byte("key"), byte(sketch.KindCell), []byte{1, 1, 14, 0, 0, 0, 0})
	f.Add([]byte("key"), byte(sketch.KindCell), sketch.AppendFrame(nil, []byte("key"), sketch.KindCell, sketch.PathPrecision, []byte("payload")))
	f.Add([]byte(nil), byte(7), sketch.AppendFrame(nil, nil, 7, 0, nil))
	f.Add([]byte("cell/key"), byte(sketch.KindCell), sketch.AppendCell(nil, []byte("cell/key"), smallCell()))

	f.Fuzz(func(t *testing.T, key []byte, kind byte, value []byte) {
		p, payload, err := sketch.OpenFrame(key, sketch.Kind(kind), value)
		if err != nil {
			if err := checkCorrupted(err, key); err != nil {
				t.Fatal(err)
			}
		} else if again := sketch.AppendFrame(nil, key, sketch.Kind(kind), p, payload); !bytes.Equal(again, value) {
			t.Fatalf("% x is framed again as % x", value, again)
		}

		frame := sketch.AppendFrame(nil, key, sketch.Kind(kind), sketch.SitePrecision, value)
		p, payload, err = sketch.OpenFrame(key, sketch.Kind(kind), frame)
		if err != nil || p != sketch.SitePrecision || !bytes.Equal(payload, value) {
			t.Fatalf("framed % x opens to precision %d, % x, %v", value, p, payload, err)
		}
		if _, _, err := sketch.OpenFrame(key, sketch.Kind(kind)+1, frame); err == nil {
			t.Fatal("another kind opens")
		}
	})
}
