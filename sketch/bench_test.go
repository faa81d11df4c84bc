package sketch_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"footfall/sketch"
)

// denseVisitors is how many visitors the dense sets of the benchmarks hold.
const denseVisitors = 10_000

func BenchmarkSetAdd(b *testing.B) {
	const p = sketch.PathPrecision
	b.Run("exact", func(b *testing.B) {
		hashes := visitors(0, p.ExactLimit())
		s, i := sketch.NewSet(p), 0
		b.ReportAllocs()
		for b.Loop() {
			if i == len(hashes) {
				s, i = sketch.NewSet(p), 0
			}
			s.Add(hashes[i])
			i++
		}
	})
	b.Run("exact, again", func(b *testing.B) {
		hashes := visitors(0, p.ExactLimit())
		s, i := setOf(p, hashes...), 0
		for b.Loop() {
			s.Add(hashes[i%len(hashes)])
			i++
		}
	})
	b.Run("dense", func(b *testing.B) {
		hashes := visitors(0, 1<<16)
		s, i := setOf(p, hashes[:denseVisitors]...), 0
		for b.Loop() {
			s.Add(hashes[i%len(hashes)])
			i++
		}
	})
}

func BenchmarkMergeDense(b *testing.B) {
	for _, p := range []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision} {
		b.Run(fmt.Sprintf("precision %d", p), func(b *testing.B) {
			into, from := setOf(p, visitors(0, denseVisitors)...), setOf(p, visitors(1, denseVisitors)...)
			b.SetBytes(int64(p.Registers()))
			for b.Loop() {
				into.Merge(from)
			}
		})
	}
}

func BenchmarkMergeExact(b *testing.B) {
	const p = sketch.PathPrecision
	from := setOf(p, visitors(0, p.ExactLimit())...)
	b.ReportAllocs()
	for b.Loop() {
		sketch.NewSet(p).Merge(from)
	}
}

func BenchmarkCountDense(b *testing.B) {
	for _, p := range []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision} {
		b.Run(fmt.Sprintf("precision %d", p), func(b *testing.B) {
			s := setOf(p, visitors(0, denseVisitors)...)
			for b.Loop() {
				s.Count()
			}
		})
	}
}

// 90 days of 20 visitors, half of whom came before: a usual path.
func BenchmarkUnite90SmallCells(b *testing.B) {
	const p = sketch.PathPrecision
	values := make([][]byte, 90)
	for day := range values {
		c := sketch.NewCell(p)
		for i := range 20 {
			c.Add(sketch.Human, mix(uint64(10*day+i)))
		}
		values[day] = sketch.AppendCell(nil, dayKey(day), c)
	}
	uniteStored(b, p, values)
}

// A year of a large site, from stored bytes to the count.
func BenchmarkUnite365DenseCells(b *testing.B) {
	for _, p := range []sketch.Precision{sketch.PathPrecision, sketch.SitePrecision} {
		b.Run(fmt.Sprintf("precision %d", p), func(b *testing.B) {
			values := make([][]byte, 365)
			for day := range values {
				c := sketch.NewCell(p)
				for _, h := range visitors(uint32(day), denseVisitors) {
					c.Add(sketch.Human, h)
				}
				values[day] = sketch.AppendCell(nil, dayKey(day), c)
			}
			uniteStored(b, p, values)
		})
	}
}

func uniteStored(b *testing.B, p sketch.Precision, values [][]byte) {
	keys := make([][]byte, len(values))
	for day := range keys {
		keys[day] = dayKey(day)
	}
	b.ReportAllocs()
	for b.Loop() {
		c := sketch.NewCell(p)
		for day, value := range values {
			if _, err := c.MergeEncoded(keys[day], value); err != nil {
				b.Fatal(err)
			}
		}
		c.Count()
	}
}

func dayKey(day int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(day)) }

func BenchmarkCodec(b *testing.B) {
	for _, size := range []struct {
		name     string
		visitors int
	}{{"20 visitors", 20}, {"2,048 visitors", 2048}, {"dense", denseVisitors}} {
		c := sketch.NewCell(sketch.PathPrecision)
		for _, h := range visitors(0, size.visitors) {
			c.Add(sketch.Human, h)
		}
		value := sketch.AppendCell(nil, cellKey, c)
		b.Run("append "+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(value)))
			var buffer []byte
			for b.Loop() {
				buffer = sketch.AppendCell(buffer[:0], cellKey, c)
			}
		})
		b.Run("decode "+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				if _, err := sketch.DecodeCell(cellKey, value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
