package main

import (
	"context"
	"fmt"
	"path/filepath"

	"footfall/bench/report"
	"footfall/bench/workload"
	"footfall/sketch"
)

// measurePathsCurve measures exports of 30 days on sites of more and more paths.
// Not all paths of a site are viewed: the curve is over those that are.
func measurePathsCurve(ctx context.Context, o options) error {
	var plans []plan
	for _, paths := range []int{200, 600, 2_000, 6_000, 20_000, 60_000, 200_000} {
		events, err := newEvents(o, workload.EventsConfig{From: firstDay, Paths: paths})
		if err != nil {
			return err
		}
		plans = append(plans, plan{name: fmt.Sprintf("paths-%d", paths), events: events})
	}
	return measureCurve(ctx, withManyPaths(o), "paths", plans, 30, func(_ workload.Count, rows []workload.Row) int { return len(rows) })
}

// measureVisitorsCurve measures exports of 90 days on sites of more and more
// visitors. Not all visitors of a site come: the curve is over those that do.
func measureVisitorsCurve(ctx context.Context, o options) error {
	const humansAnAI = 40
	var plans []plan
	for _, humans := range []int{1_000, 4_000, 16_000, 60_000, 200_000, 600_000, 2_000_000} {
		events, err := newEvents(o, workload.EventsConfig{From: firstDay, Humans: humans, AIs: humans / humansAnAI})
		if err != nil {
			return err
		}
		plans = append(plans, plan{name: fmt.Sprintf("visitors-%d", humans), events: events})
	}
	return measureCurve(ctx, o, "visitors", plans, 90, func(totals workload.Count, _ []workload.Row) int { return int(totals.Visitors.Total) })
}

// measureCurve measures exports of some days on each site, and writes the points.
// amount makes of the truth of such a range what the curve is over.
func measureCurve(
	ctx context.Context, o options, axis string, plans []plan, days sketch.Day, amount func(totals workload.Count, rows []workload.Row) int,
) error {
	if o.exports == 0 {
		return nil // There are no points.
	}
	return onSites(ctx, o, plans, func(sites []*site) error {
		var points []report.Point
		for _, s := range sites {
			ranges, err := s.windows.About(days, o.exports)
			if err != nil {
				return err
			}
			m, err := s.export(ctx, o, "Curve/site="+s.name, ranges)
			if err != nil {
				return err
			}
			totals, rows := s.truth.Count(ranges[0])
			points = append(points, report.Point{
				Peer: "footfall", Amount: amount(totals, rows),
				P50: m.Latencies.Percentile(50), P99: m.Latencies.Percentile(99),
			})
		}
		return report.WritePoints(filepath.Join(o.curves, "curve-"+axis+".csv"), axis, points)
	})
}
