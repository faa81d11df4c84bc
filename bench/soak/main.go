// Command soak runs a footfall binary for a long time at a steady rate, as a site
// that never rests: page views come whether or not earlier ones were answered,
// exports are asked for a few times a minute, and days pass. It writes once a
// second what the server takes of the machine, and at the end compares what is
// stored with what was acknowledged.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/bench/service"
)

type options struct {
	binary      string
	serveFlags  service.Flags
	duration    time.Duration
	rate        float64 // page views a second
	day         time.Duration
	events      int
	batch       int
	connections int
	exportEvery time.Duration
	out         string
}

func main() {
	var o options
	flag.StringVar(&o.binary, "footfall", "bin/footfall", "binary to run")
	flag.Var(&o.serveFlags, "serve-flag", "flag for footfall serve, such as -serve-flag=--max-body-bytes=1048576; may be repeated")
	flag.DurationVar(&o.duration, "duration", 30*time.Minute, "how long page views come")
	flag.Float64Var(&o.rate, "rate", 800_000, "page views a second")
	flag.DurationVar(&o.day, "day", 5*time.Minute, "how long a day takes")
	flag.IntVar(&o.events, "events", 2_000_000, "page views of the workload that is repeated, a multiple of -batch")
	flag.IntVar(&o.batch, "batch", 1000, "page views in a request")
	flag.IntVar(&o.connections, "connections", 8, "connections that post")
	flag.DurationVar(&o.exportEvery, "export-every", 15*time.Second, "time from one export to the next")
	flag.StringVar(&o.out, "out", "soak.csv", "file to write the samples to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.events%o.batch != 0 {
		return errors.New("-events must be a multiple of -batch")
	}
	dir, err := os.MkdirTemp("", "footfall-soak-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is the system's temporary directory.
	data := filepath.Join(dir, "data")
	server, err := service.Start(ctx, service.Options{Binary: o.binary, Data: data, Flags: o.serveFlags, Log: os.Stderr})
	if err != nil {
		return err
	}
	feed, err := soak(ctx, o, server, data)
	if err != nil {
		_ = server.Stop() // The error says more.
		return err
	}
	if err := server.Stop(); err != nil {
		return err
	}
	views, err := server.StoredViews(ctx)
	if err != nil {
		return err
	}
	if acknowledged := feed.acknowledged(); views != uint64(acknowledged) {
		return fmt.Errorf("%d views are stored, and %d were acknowledged", views, acknowledged)
	}
	fmt.Printf("%d page views were acknowledged in %v, and as many are stored.\n", views, o.duration)
	return nil
}

// soak feeds the server, asks for exports and samples, all at once. It ends with
// the feed.
func soak(ctx context.Context, o options, server *service.Server, data string) (*feed, error) {
	feed, err := newFeed(o, server)
	if err != nil {
		return nil, err
	}
	recorder, err := newRecorder(o.out, server, feed, data)
	if err != nil {
		return nil, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	beside, stop := context.WithCancel(groupCtx)
	group.Go(func() error {
		defer stop()
		return feed.run(groupCtx)
	})
	group.Go(func() error { return recorder.run(beside) })
	group.Go(func() error { return ask(beside, o, server, feed) })
	if err := errors.Join(group.Wait(), recorder.close()); err != nil {
		return nil, err
	}
	return feed, feed.check(ctx)
}
