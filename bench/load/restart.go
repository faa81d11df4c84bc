package main

import (
	"context"
	"slices"

	"footfall/bench/client"
	"footfall/bench/exports"
	"footfall/bench/report"
	"footfall/bench/workload"
	"footfall/sketch"
)

// measureRestart asks for all days of a site, as the first export of a process.
func measureRestart(ctx context.Context, o options) error {
	events, err := newEvents(o, workload.EventsConfig{From: firstDay})
	if err != nil {
		return err
	}
	return onSite(ctx, o, plan{name: "restart", events: events}, func(s *site) error {
		return s.restart(ctx, o, "Restart/days=90")
	})
}

// restart asks for all days after each of some restarts. What the machine keeps of
// files in memory stays there.
func (s *site) restart(ctx context.Context, o options, name string) error {
	var (
		first   exports.Measurement
		starts  client.Latencies
		highest int64
	)
	for range o.restarts {
		took, err := s.server.Restart(ctx)
		if err != nil {
			return err
		}
		starts = append(starts, took)
		peak, err := s.server.Process().Watch(func() error {
			m, err := s.ask(ctx, []sketch.Range{s.truth.Days()})
			if err == nil {
				first.Add(s.truth.Days(), m.Answers[0].Page, m.Elapsed)
			}
			return err
		})
		if err != nil {
			return err
		}
		highest = max(highest, peak)
	}
	slices.Sort(starts)
	return s.report(o, name, first, report.Bytes("peak-anon", highest), report.Duration("start-p50", starts.Percentile(50)))
}
