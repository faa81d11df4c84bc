package sketch_test

import (
	"bytes"
	"slices"
	"testing"

	"footfall/sketch"
)

// FuzzMergeEncoded gives any bytes as a set of any count. What is taken is a set
// like any other, and its encoding is the bytes that it came from. The bytes are
// head, a number of equal ones, and tail: so small inputs reach the registers.
func FuzzMergeEncoded(f *testing.F) {
	const path, site = false, true
	for _, seed := range []struct {
		count  uint64
		head   []byte
		repeat int
		value  byte
		tail   []byte
		higher bool
	}{
		{0, nil, 0, 0, nil, path},
		{2, encodedHashes(0, 1<<63), 0, 0, nil, path},
		{3, encodedHashes(5, 6, 7), 0, 0, nil, site},
		{2, encodedHashes(7, 7), 0, 0, nil, path},                                                                // a hash twice
		{2, encodedHashes(7), 7, 0, nil, path},                                                                   // a byte is missing
		{2_049, nil, sketch.PathPrecision.Registers() - 1, 1, []byte{9}, path},                                   // dense
		{10_000, []byte{3}, sketch.SitePrecision.Registers() - 1, 2, nil, site},                                  // dense
		{2_049, nil, sketch.PathPrecision.Registers() - 1, 51, []byte{52}, path},                                 // a register too large
		{2_049, nil, sketch.PathPrecision.Registers() - 1, 1, nil, path},                                         // a register is missing
		{2_048, nil, sketch.PathPrecision.Registers(), 1, nil, path},                                             // registers as hashes
		{^uint64(0), nil, sketch.SitePrecision.Registers(), sketch.MaxRegister(sketch.SitePrecision), nil, site}, // saturated
		{1 << 61, nil, 8, 0xff, nil, site},
	} {
		f.Add(seed.count, seed.head, uint32(seed.repeat), seed.value, seed.tail, seed.higher)
	}

	f.Fuzz(func(t *testing.T, count uint64, head []byte, repeat uint32, value byte, tail []byte, higher bool) {
		p := sketch.PathPrecision
		if higher {
			p = sketch.SitePrecision
		}
		stored := slices.Concat(head, bytes.Repeat([]byte{value}, int(repeat)%(p.Registers()+1)), tail)
		dense := count > uint64(p.ExactLimit())

		s, a := sketch.NewSet(p), sketch.NewAccumulator(p)
		err := s.MergeEncoded(stored, count)
		if accumulated := a.AddEncoded(sketch.AI, stored, count); (err == nil) != (accumulated == nil) {
			t.Fatalf("MergeEncoded: %v, AddEncoded: %v", err, accumulated)
		}
		if err != nil {
			if !s.Empty() {
				t.Fatalf("what was refused is counted: %d", s.Count())
			}
			return
		}
		if s.Exact() == dense || !dense && s.Count() != count {
			t.Fatalf("%d visitors: exact %t, count %d", count, s.Exact(), s.Count())
		}
		if got, want := a.Count(), (sketch.Count{AI: s.Count(), Total: s.Count()}); got != want {
			t.Fatalf("accumulated %+v, expected %+v", got, want)
		}
		if !bytes.Equal(s.AppendEncoded(nil), stored) || !bytes.Equal(a.AppendEncoded(nil, sketch.AI), stored) {
			t.Fatalf("% x is encoded again as % x and % x", stored, s.AppendEncoded(nil), a.AppendEncoded(nil, sketch.AI))
		}
		if err := s.MergeEncoded(stored, count); err != nil || !bytes.Equal(s.AppendEncoded(nil), stored) {
			t.Fatalf("merged again: %v, other bytes", err)
		}
	})
}

// FuzzOpenFrame gives any bytes as a frame, and as the payload of one.
func FuzzOpenFrame(f *testing.F) {
	f.Add([]byte("key"), byte(anyKind), []byte(nil))
	f.Add([]byte("key"), byte(anyKind), []byte{1, 7, 14, 0, 0, 0, 0})
	f.Add([]byte("key"), byte(anyKind), sketch.AppendFrame(nil, []byte("key"), anyKind, sketch.PathPrecision, []byte("payload")))
	f.Add([]byte(nil), byte(0), sketch.AppendFrame(nil, nil, 0, 0, nil))

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
