package workload_test

import (
	"io"
	"testing"

	"footfall/bench/workload"
	"footfall/sketch"
)

func BenchmarkEvents(b *testing.B) {
	const n = 100_000
	events := newEvents(b, workload.EventsConfig{Seed: 1, From: firstDay, Events: n})
	report := func(b *testing.B) {
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			if _, err := events.WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		report(b)
	})
	b.Run("batches of 1000", func(b *testing.B) {
		for b.Loop() {
			for range events.Batches(1_000) {
			}
		}
		report(b)
	})
	b.Run("truth", func(b *testing.B) {
		for b.Loop() {
			events.Truth()
		}
		report(b)
	})
	b.Run("count", func(b *testing.B) {
		truth := events.Truth()
		for b.Loop() {
			truth.Count(sketch.AllDays())
		}
		report(b)
	})
}

func BenchmarkAccessLog(b *testing.B) {
	log := newAccessLog(b, workload.AccessLogConfig{Seed: 1, From: firstDay})
	lines := 0
	for b.Loop() {
		truth, err := log.Write(io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		lines += truth.Lines
		b.SetBytes(truth.Bytes)
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}
