package sketch_test

import (
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
	for _, p := range precisions {
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
	for _, p := range precisions {
		b.Run(fmt.Sprintf("precision %d", p), func(b *testing.B) {
			s := setOf(p, visitors(0, denseVisitors)...)
			for b.Loop() {
				s.Count()
			}
		})
	}
}

// 90 days of 20 visitors, half of whom came before: a usual path.
func BenchmarkUnite90SmallSets(b *testing.B) {
	const p = sketch.PathPrecision
	days := make([]*sketch.Set, 90)
	for day := range days {
		days[day] = sketch.NewSet(p)
		for i := range 20 {
			days[day].Add(mix(uint64(10*day + i)))
		}
	}
	benchmarkUnite(b, p, days)
}

// A year of a large site, from stored bytes to the count.
func BenchmarkUnite365DenseSets(b *testing.B) {
	for _, p := range precisions {
		b.Run(fmt.Sprintf("precision %d", p), func(b *testing.B) {
			days := make([]*sketch.Set, 365)
			for day := range days {
				days[day] = setOf(p, visitors(uint32(day), denseVisitors)...)
			}
			benchmarkUnite(b, p, days)
		})
	}
}

func benchmarkUnite(b *testing.B, p sketch.Precision, days []*sketch.Set) {
	stored, counts, sum := make([][]byte, len(days)), make([]uint64, len(days)), uint64(0)
	for day, s := range days {
		stored[day], counts[day] = s.AppendEncoded(nil), s.Count()
		sum += counts[day]
	}
	b.Run("set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s := sketch.NewSet(p)
			for day := range stored {
				if err := s.MergeEncoded(stored[day], counts[day]); err != nil {
					b.Fatal(err)
				}
			}
			s.Count()
		}
	})
	b.Run("accumulator", func(b *testing.B) {
		b.ReportAllocs()
		a := sketch.NewAccumulator(p)
		for b.Loop() {
			a.Reset([2]uint64{sum})
			for day := range stored {
				if err := a.AddEncoded(sketch.Human, stored[day], counts[day]); err != nil {
					b.Fatal(err)
				}
			}
			a.Count()
		}
	})
}

func BenchmarkEncoding(b *testing.B) {
	const p = sketch.PathPrecision
	for _, size := range []struct {
		name     string
		visitors int
	}{{"20 visitors", 20}, {"2,048 visitors", 2048}, {"dense", denseVisitors}} {
		s := setOf(p, visitors(0, size.visitors)...)
		stored, count := s.AppendEncoded(nil), s.Count()
		b.Run("append "+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(stored)))
			var buffer []byte
			for b.Loop() {
				buffer = s.AppendEncoded(buffer[:0])
			}
		})
		b.Run("merge "+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(stored)))
			for b.Loop() {
				if err := sketch.NewSet(p).MergeEncoded(stored, count); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
