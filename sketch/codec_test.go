package sketch_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

// What is stored may never change its meaning: these bytes were worked out from
// the format's description, not taken from the encoder.
func TestCellIsStoredAsTheseBytes(t *testing.T) {
	c := cellOf(sketch.PathPrecision, view{sketch.Human, 0x0123456789abcdef}, view{sketch.AI, 0})
	c.Visitors[sketch.Human].Add(0)
	c.Visitors[sketch.AI] = *sketch.NewSet(sketch.PathPrecision)
	c.Position, c.Views = 300, [2]uint64{1, 2}

	const want = "01" + "01" + "0e" + "74ac3d34" + // version, kind, precision, checksum
		"ac02" + "01" + "02" + // position, views of humans and of AI agents
		"03" + "0000000000000000" + "efcdab8967452301" + // two humans
		"01" // no AI agent
	if got := hex.EncodeToString(sketch.AppendCell(nil, []byte("cell/key"), c)); got != want {
		t.Errorf("stored as\n%s, expected\n%s", got, want)
	}
}

func TestDenseSetIsStoredAsItsRegisters(t *testing.T) {
	const p = sketch.PathPrecision
	c := sketch.NewCell(p)
	for _, h := range visitors(0, 3000) {
		c.Add(sketch.AI, h)
	}
	_, payload, err := sketch.OpenFrame(cellKey, sketch.KindCell, sketch.AppendCell(nil, cellKey, c))
	if err != nil {
		t.Fatal(err)
	}
	// Position, views, no human; then the sign of a dense set.
	want := append([]byte{0, 0, 0xb8, 0x17, 1, 0}, sketch.DenseRegisters(&c.Visitors[sketch.AI])...)
	if !bytes.Equal(payload, want) {
		t.Errorf("payload begins % x and has %d bytes", payload[:8], len(payload))
	}
}

func TestCellRoundTrip(t *testing.T) {
	for _, p := range []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision} {
		limit := p.ExactLimit()
		for _, sizes := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {limit, 3}, {limit + 1, limit}, {5, limit + 1}, {2 * limit, 3 * limit}} {
			t.Run(fmt.Sprintf("precision %d, %d and %d", p, sizes[0], sizes[1]), func(t *testing.T) {
				c := sketch.NewCell(p)
				for traffic, n := range sizes {
					for _, h := range visitors(uint32(traffic), n) {
						c.Add(sketch.Traffic(traffic), h)
					}
				}
				c.Position = math.MaxUint64
				c.Views[sketch.AI] += math.MaxUint64 / 2
				value := sketch.AppendCell(nil, cellKey, c)
				kept := bytes.Clone(value)

				decoded, err := sketch.DecodeCell(cellKey, value)
				if err != nil {
					t.Fatal(err)
				}
				clear(value) // the store's bytes die with its transaction
				if !equalCells(decoded, c) || decoded.Count() != c.Count() {
					t.Fatalf("decoded %v, expected %v", decoded.Count(), c.Count())
				}
				if again := sketch.AppendCell(nil, cellKey, decoded); !bytes.Equal(again, kept) {
					t.Fatal("the decoded cell has another encoding")
				}
				if position, err := sketch.EncodedPosition(cellKey, kept); err != nil || position != math.MaxUint64 {
					t.Fatalf("EncodedPosition is %d, %v", position, err)
				}
			})
		}
	}
}

func TestCellRoundTripOfAnyViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		c := cellOf(sketch.PathPrecision, anyViews().Draw(t, "views")...)
		c.Position = sketch.Position(rapid.Uint64().Draw(t, "position"))
		c.Views = [2]uint64{rapid.Uint64().Draw(t, "human"), rapid.Uint64().Draw(t, "ai")}
		decoded, err := sketch.DecodeCell(key, sketch.AppendCell(nil, key, c))
		if err != nil {
			t.Fatal(err)
		}
		if !equalCells(decoded, c) {
			t.Fatalf("decoded %+v, expected %+v", decoded, c)
		}
	})
}

func TestAppendKeepsWhatStandsBefore(t *testing.T) {
	c := cellOf(sketch.PathPrecision, view{sketch.Human, 1})
	alone := sketch.AppendCell(nil, cellKey, c)
	for _, dst := range [][]byte{[]byte("before"), append(make([]byte, 0, 1000), "before"...)} {
		if got := sketch.AppendCell(dst, cellKey, c); !bytes.Equal(got, append([]byte("before"), alone...)) {
			t.Errorf("AppendCell gives % x", got)
		}
	}
	frame := sketch.AppendFrame(nil, cellKey, 7, 0, []byte("payload"))
	if got := sketch.AppendFrame([]byte("before"), cellKey, 7, 0, []byte("payload")); !bytes.Equal(got, append([]byte("before"), frame...)) {
		t.Errorf("AppendFrame gives % x", got)
	}
}

func TestFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		kind := sketch.Kind(rapid.Byte().Draw(t, "kind"))
		p := sketch.Precision(rapid.Byte().Draw(t, "precision"))
		payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")

		gotPrecision, gotPayload, err := sketch.OpenFrame(key, kind, sketch.AppendFrame(nil, key, kind, p, payload))
		if err != nil {
			t.Fatal(err)
		}
		if gotPrecision != p || !bytes.Equal(gotPayload, payload) {
			t.Fatalf("opened to precision %d and % x", gotPrecision, gotPayload)
		}
	})
}

func TestEncodedPositionDoesNotReadTheSets(t *testing.T) {
	c := cellOf(sketch.PathPrecision, view{sketch.Human, 1})
	c.Position = 1 << 40
	value := sketch.AppendCell(nil, cellKey, c)
	if allocs := testing.AllocsPerRun(10, func() {
		if _, err := sketch.EncodedPosition(cellKey, value); err != nil {
			t.Fatal(err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
