// Command peers measures Footfall beside other systems that could count its
// visitors, on the same made-up workload in one run. Runs alternate between the
// systems, so that a noisy machine is noisy for all of them. Its output is for
// benchstat: benchstat -col /peer FILE.
//
// What a system is given is rendered in its own protocol before the clock starts,
// for all alike. All share the processors with this client.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"footfall/bench/report"
	"footfall/bench/workload"
	"footfall/sketch"
)

type options struct {
	footfall    string
	redisServer string
	events      int
	runs        int
	only        string
	out         string
}

func main() {
	var o options
	flag.StringVar(&o.footfall, "footfall", "../../bin/footfall", "footfall binary")
	flag.StringVar(&o.redisServer, "redis-server", "redis-server", "Redis binary")
	flag.IntVar(&o.events, "events", 2_000_000, "page views")
	flag.IntVar(&o.runs, "runs", 1, "runs of each system, in turn")
	flag.StringVar(&o.only, "only", "", "measure only these systems, with commas in between")
	flag.StringVar(&o.out, "out", "", "file to write the results to, beside standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// peer is a system that is measured.
type peer struct {
	name string
	// version says what is measured.
	version func(context.Context, options) (string, error)
	// ingest gives all events to the system, which keeps its files in dir, and
	// returns what that took.
	ingest func(ctx context.Context, o options, events *workload.Events, dir string) (report.Result, error)
}

func run(ctx context.Context, o options) error {
	peers := slices.Concat(footfallPeers(), redisPeers(), duckdbPeers())
	if o.only != "" {
		names := strings.Split(o.only, ",")
		peers = slices.DeleteFunc(peers, func(p peer) bool { return !slices.Contains(names, p.name) })
	}
	var out io.Writer = os.Stdout
	if o.out != "" {
		file, err := os.Create(o.out)
		if err != nil {
			return fmt.Errorf("writing results: %w", err)
		}
		defer func() { _ = file.Close() }() // Every line is written as it comes, and its error returned.
		out = io.MultiWriter(out, file)
	}
	var versions []string
	for _, p := range peers {
		version, err := p.version(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		versions = append(versions, p.name+": "+version)
	}
	if err := report.Begin(out, versions...); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	events, err := workload.NewEvents(workload.EventsConfig{Seed: 1, From: sketch.FirstDay + 9000, Events: o.events})
	if err != nil {
		return err
	}
	for range o.runs {
		for _, p := range peers {
			result, err := inDirectory(func(dir string) (report.Result, error) { return p.ingest(ctx, o, events, dir) })
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			result.Name = "Ingest/peer=" + p.name
			if err := report.Write(out, result); err != nil {
				return fmt.Errorf("writing results: %w", err)
			}
		}
	}
	return nil
}

// inDirectory measures with a directory that is removed afterwards.
func inDirectory(measure func(dir string) (report.Result, error)) (report.Result, error) {
	dir, err := os.MkdirTemp("", "footfall-peers-")
	if err != nil {
		return report.Result{}, fmt.Errorf("making a data directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is the system's temporary directory.
	return measure(filepath.Clean(dir))
}
