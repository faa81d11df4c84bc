// Command load measures a footfall binary on the made-up workload: page views a
// second over HTTP, at once and sustained, lines a second of an import, the time
// of an export on sites of several sizes, after a start and while page views come,
// memory and disk. It starts the binary on a data directory of its own and checks
// what it answers against the truth. Its output is for benchstat.
//
// The client runs on the same machine and takes its share of it. It is as lean as
// package client makes it, and what is timed is rendered before the clock starts.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
)

type options struct {
	binary      string
	serveFlags  service.Flags
	runs        int
	measure     string
	workload    workload.EventsConfig // what is not 0 in it is so for every site
	batch       int
	connections int
	lines       int
	exports     int
	restarts    int
	duration    time.Duration
	rate        float64 // page views a second
	queryRate   float64 // exports a second
	phase       time.Duration
	phases      int
	curves      string
	name        string // of the file that the results go to as well
	out         io.Writer
}

// measurement is something that is measured, on servers of its own.
type measurement struct {
	name string
	run  func(context.Context, options) error
}

func measurements() []measurement {
	return []measurement{
		{"events", measureEvents},
		{"import", measureImport},
		{"sustained", measureSustained},
		{"restart", measureRestart},
		{"year", measureYear},
		{"many-paths", measureManyPaths},
		{"live", measureLive},
		{"spread", measureSpread},
		{"paths-curve", measurePathsCurve},
		{"visitors-curve", measureVisitorsCurve},
	}
}

func main() {
	var o options
	flag.StringVar(&o.binary, "footfall", "bin/footfall", "binary to measure")
	flag.Var(&o.serveFlags, "serve-flag", "flag for footfall serve, such as -serve-flag=--max-body-bytes=1048576; may be repeated")
	flag.IntVar(&o.runs, "runs", 1, "runs, each on servers and data directories of its own")
	flag.StringVar(&o.measure, "measure", "events,import", "what to measure, with commas in between: "+strings.Join(names(measurements()), ", "))
	flag.IntVar(&o.workload.Events, "events", 0, "page views of a site; 0 are as many as each measurement has by itself")
	flag.IntVar(&o.workload.Days, "days", 0, "days of a site, with the same meaning of 0")
	flag.IntVar(&o.workload.Paths, "paths", 0, "paths of a site, with the same meaning of 0")
	flag.IntVar(&o.workload.Humans, "humans", 0, "visitors of a site that are people, with the same meaning of 0")
	flag.IntVar(&o.workload.AIs, "ais", 0, "visitors of a site that are AI agents, with the same meaning of 0")
	flag.IntVar(&o.batch, "batch", 1000, "page views in a request")
	flag.IntVar(&o.connections, "connections", 8, "connections that post")
	flag.IntVar(&o.lines, "lines", 1_000_000, "lines to import")
	flag.IntVar(&o.exports, "exports", 30, "exports of each kind; 0 asks for none")
	flag.IntVar(&o.restarts, "restarts", 30, "restarts before first exports")
	flag.DurationVar(&o.duration, "duration", time.Minute, "how long sustained, live and spread page views come")
	flag.Float64Var(&o.rate, "rate", 500_000, "live and spread page views a second")
	flag.Float64Var(&o.queryRate, "query-rate", 20, "exports a second while they come")
	flag.DurationVar(&o.phase, "phase", 10*time.Second, "how long each phase takes, with exports and without, in which page views come as fast as they can")
	flag.IntVar(&o.phases, "phases", 3, "phases of each of the two kinds")
	flag.StringVar(&o.curves, "curves", "bench/results", "directory to write the points of curves to")
	flag.StringVar(&o.name, "out", "", "file to write the results to, beside standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	selected, err := selectMeasurements(o.measure)
	if err != nil {
		return err
	}
	o.out = os.Stdout
	if o.name != "" {
		file, err := os.Create(o.name)
		if err != nil {
			return fmt.Errorf("writing results: %w", err)
		}
		defer func() { _ = file.Close() }() // Every line is written as it comes, and its error returned.
		o.out = io.MultiWriter(os.Stdout, file)
	}
	if err := begin(ctx, o); err != nil {
		return err
	}
	for range o.runs {
		for _, m := range selected {
			if err := m.run(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

// begin writes what the results have in common.
func begin(ctx context.Context, o options) error {
	version, err := service.Version(ctx, o.binary)
	if err != nil {
		return err
	}
	return report.Begin(o.out, "footfall: "+version, "footfall-flags: "+o.serveFlags.String())
}

func names(of []measurement) (names []string) {
	for _, m := range of {
		names = append(names, m.name)
	}
	return names
}

// selectMeasurements returns the measurements of a list of names, in their order.
func selectMeasurements(list string) (selected []measurement, err error) {
	all := measurements()
	for name := range strings.SplitSeq(list, ",") {
		at := slices.Index(names(all), name)
		if at < 0 {
			return nil, fmt.Errorf("there is no measurement %q, only %s", name, strings.Join(names(all), ", "))
		}
		selected = append(selected, all[at])
	}
	return selected, nil
}
