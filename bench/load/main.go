// Command load measures a footfall binary on the made-up workload: page views a
// second over HTTP, at once and sustained, lines a second of an import, the time
// of an export, memory and disk. It starts the binary on a data directory of its
// own and checks what it answers against the truth. Its output is for benchstat.
//
// The client runs on the same machine and takes its share of it. It is as lean as
// package client makes it, and requests are rendered before the clock starts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/sketch"
)

type options struct {
	binary      string
	serveFlags  service.Flags
	runs        int
	events      int
	batch       int
	connections int
	sustain     time.Duration
	lines       int
	exports     int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "footfall", "bin/footfall", "binary to measure")
	flag.Var(&o.serveFlags, "serve-flag", "flag for footfall serve, such as -serve-flag=--max-body-bytes=1048576; may be repeated")
	flag.IntVar(&o.runs, "runs", 1, "runs, each on a server and a data directory of its own")
	flag.IntVar(&o.events, "events", 2_000_000, "page views to post")
	flag.IntVar(&o.batch, "batch", 1000, "page views in a request")
	flag.IntVar(&o.connections, "connections", 8, "connections that post")
	flag.DurationVar(&o.sustain, "sustain", 0, "instead of all else, repeat the page views on later days for so long")
	flag.IntVar(&o.lines, "lines", 1_000_000, "lines to import; 0 leaves the import out")
	flag.IntVar(&o.exports, "exports", 30, "exports of each range; 0 leaves exports and their check against the truth out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	config := workload.EventsConfig{Seed: 1, From: sketch.FirstDay + 9000, Events: o.events}
	if o.sustain > 0 {
		config.From = sketch.FirstDay // There are more days after it.
	}
	events, err := workload.NewEvents(config)
	if err != nil {
		return err
	}
	if err := report.Begin(os.Stdout, "footfall-flags: "+o.serveFlags.String()); err != nil {
		return err
	}
	measurements := []func(context.Context, options, *service.Server, *workload.Events) error{measureEvents, measureExports}
	if o.sustain > 0 {
		measurements = measurements[:0]
		measurements = append(measurements, measureSustained)
	}
	for range o.runs {
		if err := onServer(ctx, o, "events", func(s *service.Server, _ string) error {
			for _, measure := range measurements {
				if err := measure(ctx, o, s, events); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if o.lines == 0 || o.sustain > 0 {
			continue
		}
		if err := onServer(ctx, o, "import", func(s *service.Server, dir string) error { return measureImport(ctx, o, s, dir) }); err != nil {
			return err
		}
	}
	return nil
}

// onServer starts a server, measures what is named, stops it cleanly and tells what it leaves
// on disk. measure is also given a directory for files of its own.
func onServer(ctx context.Context, o options, what string, measure func(s *service.Server, dir string) error) error {
	dir, err := os.MkdirTemp("", "footfall-load-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is the system's temporary directory.
	data := filepath.Join(dir, "data")
	s, err := service.Start(ctx, service.Options{Binary: o.binary, Data: data, Flags: o.serveFlags, Log: os.Stderr})
	if err != nil {
		return err
	}
	if err := measure(s, dir); err != nil {
		_ = s.Stop() // The error says more.
		return err
	}
	started := time.Now()
	if err := s.Stop(); err != nil {
		return err
	}
	stopped := report.Result{Name: "Stop/after=" + what, Operations: 1, Elapsed: time.Since(started)}
	bytes, err := service.DiskBytes(data)
	if err != nil {
		return err
	}
	stopped.Values = []report.Value{report.Bytes("disk", bytes)}
	return report.Write(os.Stdout, stopped)
}
