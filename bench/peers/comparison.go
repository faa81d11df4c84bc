package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"footfall/bench/exports"
	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
)

// peer is a system that is measured.
type peer struct {
	name string
	// version says what is measured.
	version func(context.Context, options) (string, error)
	// start starts the system, which keeps its files in dir.
	start func(ctx context.Context, o options, dir string) (system, error)
}

// system is a system that runs, with nothing in it.
type system interface {
	// ingest gives it all events, and returns how long that took from the first of
	// them, once they are rendered, to the last answer.
	ingest(context.Context, *workload.Events) (time.Duration, error)
	// counters are the ways in which it is asked for exports, after ingest. A system
	// of which another variant is asked has none.
	counters(context.Context) ([]counter, error)
	// process is the system's, and 0 where it runs in this one.
	process() service.Process
	// stop stops it cleanly.
	stop() error
}

// counter is a way to ask a system for exports.
type counter struct {
	name    string
	prepare exports.Prepare
}

// comparison measures one system after the other on one workload.
type comparison struct {
	options   options
	out       io.Writer
	events    *workload.Events
	truth     *exports.Truth
	questions []question
	points    []report.Point
}

// measure measures a system, in a directory that is removed afterwards.
func (c *comparison) measure(ctx context.Context, p peer) error {
	dir, err := os.MkdirTemp("", "footfall-peers-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is the system's temporary directory.
	s, err := p.start(ctx, c.options, dir)
	if err != nil {
		return err
	}
	result := report.Result{Name: "Ingest/peer=" + p.name, Operations: c.options.events}
	peak, err := watch(s, func() (err error) {
		result.Elapsed, err = s.ingest(ctx, c.events)
		return err
	})
	if err == nil && len(c.questions) > 0 {
		err = c.query(ctx, s)
	}
	if stopped := s.stop(); err == nil {
		err = stopped // Else the error before says more.
	}
	if err != nil {
		return err
	}
	disk, err := service.DiskBytes(dir)
	if err != nil {
		return err
	}
	result.Values = append([]report.Value{result.Rate("events/s"), report.Bytes("disk", disk)}, peak...)
	return c.write(result)
}

// query asks a system in all its ways.
func (c *comparison) query(ctx context.Context, s system) error {
	counters, err := s.counters(ctx)
	if err != nil {
		return err
	}
	for _, counter := range counters {
		for _, q := range c.questions {
			var m exports.Measurement
			peak, err := watch(s, func() (err error) {
				m, err = exports.Measure(ctx, counter.prepare, q.ranges)
				return err
			})
			if err != nil {
				return err
			}
			off, err := c.truth.Errors(m.Answers)
			if err != nil {
				return err
			}
			result := m.Result(fmt.Sprintf("Query/peer=%s/days=%d", counter.name, q.days))
			result.Values = append(append(result.Values, off.Values()...), peak...)
			if err := c.write(result); err != nil {
				return err
			}
			c.points = append(c.points, report.Point{
				Peer: counter.name, Amount: int(q.days), P50: m.Latencies.Percentile(50), P99: m.Latencies.Percentile(99),
			})
		}
	}
	return nil
}

// watch returns the peak of a system's memory meanwhile, where it is a process of
// its own.
func watch(s system, do func() error) ([]report.Value, error) {
	process := s.process()
	if process == 0 {
		return nil, do()
	}
	peak, err := process.Watch(do)
	return []report.Value{report.Bytes("peak-anon", peak)}, err
}

func (c *comparison) write(result report.Result) error {
	if err := report.Write(c.out, result); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return nil
}
