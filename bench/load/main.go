// Command load measures a footfall binary on the made-up workload: page views a
// second over HTTP, lines a second of an import, and the time of an export. It
// starts the binary on a data directory of its own and checks what it answers
// against the truth.
//
// The client runs on the same machine and takes its share of it; batches are
// rendered before the clock starts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"footfall/bench/workload"
	"footfall/sketch"
)

type options struct {
	binary      string
	events      int
	batch       int
	connections int
	lines       int
	exports     int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "footfall", "bin/footfall", "binary to measure")
	flag.IntVar(&o.events, "events", 2_000_000, "page views to post")
	flag.IntVar(&o.batch, "batch", 1000, "page views in a request")
	flag.IntVar(&o.connections, "connections", 8, "connections that post")
	flag.IntVar(&o.lines, "lines", 1_000_000, "lines to import")
	flag.IntVar(&o.exports, "exports", 30, "exports of each range")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "footfall-load-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is the system's temporary directory.
	s, err := startServer(ctx, o.binary, filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	if err := measure(ctx, o, s, dir); err != nil {
		_ = s.stop() // The error says more.
		return err
	}
	return s.stop()
}

func measure(ctx context.Context, o options, s *server, dir string) error {
	events, err := workload.NewEvents(workload.EventsConfig{Seed: 1, From: sketch.FirstDay + 9000, Events: o.events})
	if err != nil {
		return err
	}
	posting, err := postEvents(ctx, s, events, o.batch, o.connections)
	if err != nil {
		return err
	}
	fmt.Printf("events over HTTP, %d a request, %d connections, answered after the sync: %.0f events/s (%d in %.2f s)\n",
		o.batch, o.connections, float64(o.events)/posting.Seconds(), o.events, posting.Seconds())

	truth := events.Truth()
	for _, days := range []sketch.Day{1, 7, 30, 90} {
		within := sketch.Range{From: truth.Days().To - days, To: truth.Days().To}
		times, err := export(ctx, s, within, o.exports)
		if err != nil {
			return err
		}
		worst, err := compare(ctx, s, truth, within)
		if err != nil {
			return err
		}
		fmt.Printf("export of %2d days, top 50: p50 %.1f ms, p99 %.1f ms; largest error of a total %.2f %%\n",
			days, milliseconds(times, 50), milliseconds(times, 99), 100*worst)
	}

	importing, lines, err := importLog(ctx, s, dir, o.lines)
	if err != nil {
		return err
	}
	fmt.Printf("import of a combined access log: %.0f lines/s (%d in %.2f s)\n", float64(lines)/importing.Seconds(), lines, importing.Seconds())
	return nil
}

// milliseconds returns a percentile of sorted durations.
func milliseconds(sorted []time.Duration, percentile int) float64 {
	i := (len(sorted)*percentile + 99) / 100
	return float64(sorted[max(i, 1)-1].Microseconds()) / 1000
}
