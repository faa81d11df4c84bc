// Command peers measures Footfall beside other systems that could count its
// visitors, on the same made-up workload in one run: how fast page views come in,
// and how long the top of an export takes. Runs alternate between the systems, so
// that a noisy machine is noisy for all of them. Its output is for benchstat:
// benchstat -col /peer FILE.
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
	"slices"
	"strconv"
	"strings"

	"footfall/bench/exports"
	"footfall/bench/report"
	"footfall/bench/workload"
	"footfall/sketch"
)

type options struct {
	footfall    string
	redisServer string
	events      int
	days        int
	runs        int
	only        string
	queries     int
	queryRuns   int
	lengths     string
	out         string
	points      string
}

func main() {
	var o options
	flag.StringVar(&o.footfall, "footfall", "../../bin/footfall", "footfall binary")
	flag.StringVar(&o.redisServer, "redis-server", "redis-server", "Redis binary")
	flag.IntVar(&o.events, "events", 2_000_000, "page views")
	flag.IntVar(&o.days, "days", 90, "days of the page views")
	flag.IntVar(&o.runs, "runs", 1, "runs of each system, in turn")
	flag.StringVar(&o.only, "only", "", "measure only these systems, with commas in between")
	flag.IntVar(&o.queries, "queries", 30, "exports of each length")
	flag.IntVar(&o.queryRuns, "query-runs", 1, "runs, of the first ones, in which systems are asked for exports; 0 measures the way in alone")
	flag.StringVar(&o.lengths, "lengths", "1,7,30,90", "lengths of exports in days, with commas in between")
	flag.StringVar(&o.out, "out", "", "file to write the results to, beside standard output")
	flag.StringVar(&o.points, "points", "", "CSV to write the times of exports to, by their lengths, as points of curves")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	peers, err := selectPeers(o.only)
	if err != nil {
		return err
	}
	events, err := workload.NewEvents(workload.EventsConfig{Seed: 1, From: sketch.FirstDay + 9000, Days: o.days, Events: o.events})
	if err != nil {
		return err
	}
	truth := events.Truth()
	questions, err := newQuestions(o, truth.Days())
	if err != nil {
		return err
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
	if err := begin(ctx, o, peers, out); err != nil {
		return err
	}
	c := &comparison{options: o, out: out, events: events, truth: exports.NewTruth(truth), questions: questions}
	for number := range o.runs {
		if number == o.queryRuns {
			c.questions = nil
		}
		for _, p := range peers {
			if err := c.measure(ctx, p); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	if o.points == "" {
		return nil
	}
	return report.WritePoints(o.points, "days", c.points)
}

func selectPeers(only string) ([]peer, error) {
	peers := slices.Concat(footfallPeers(), redisPeers(), duckdbPeers(), mapPeers())
	if only == "" {
		return peers, nil
	}
	var selected []peer
	for name := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(peers, func(p peer) bool { return p.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no peer %q", name)
		}
		selected = append(selected, peers[at])
	}
	return selected, nil
}

// begin writes what the results have in common, and which versions are measured.
func begin(ctx context.Context, o options, peers []peer, out io.Writer) error {
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
	return nil
}

// question is the ranges of one length that every system is asked for.
type question struct {
	days   sketch.Day
	ranges []sketch.Range
}

// newQuestions makes up what is asked, no range twice.
func newQuestions(o options, days sketch.Range) (questions []question, err error) {
	windows := exports.NewWindows(days, 1)
	for text := range strings.SplitSeq(o.lengths, ",") {
		length, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("-lengths: %w", err)
		}
		q := question{days: sketch.Day(length)}
		if q.ranges, err = windows.About(q.days, o.queries); err != nil {
			return nil, err
		}
		questions = append(questions, q)
	}
	return questions, nil
}
