package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"footfall/bench/client"
	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/sketch"
)

// measureExports asks for exports of some ranges, and holds them against the
// truth.
func measureExports(ctx context.Context, o options, s *service.Server, events *workload.Events) error {
	if o.exports == 0 {
		return nil
	}
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
		result := report.Result{Name: fmt.Sprintf("Export/days=%d", days), Operations: o.exports}
		for _, t := range times {
			result.Elapsed += t
		}
		sorted := client.Report{Latencies: times}
		result.Values = []report.Value{
			report.Duration("p50", sorted.Percentile(50)),
			report.Duration("p99", sorted.Percentile(99)),
			{Amount: 100 * worst, Unit: "largest-error-%"},
		}
		if err := report.Write(os.Stdout, result); err != nil {
			return err
		}
	}
	return nil
}

// export asks for a range some times and returns the durations, sorted.
func export(ctx context.Context, s *service.Server, within sketch.Range, times int) ([]time.Duration, error) {
	durations := make([]time.Duration, times)
	for i := range durations {
		started := time.Now()
		if _, err := s.Visitors(ctx, within); err != nil {
			return nil, err
		}
		durations[i] = time.Since(started)
	}
	slices.Sort(durations)
	return durations, nil
}

// compare returns the largest relative error among the totals of the site and of
// the rows that an export shows. A number that must be exact and is not is an
// error.
func compare(ctx context.Context, s *service.Server, truth *workload.Truth, within sketch.Range) (float64, error) {
	got, err := s.Visitors(ctx, within)
	if err != nil {
		return 0, err
	}
	totals, rows := truth.Count(within)
	exact := make(map[string]uint64)
	for _, row := range rows {
		exact[row.Path] = row.Visitors.Total
	}
	worst := 0.0
	check := func(what string, got, want uint64, limit int) error {
		if got != want && want <= uint64(limit) {
			return fmt.Errorf("%s has %d visitors in %v, must be exactly %d", what, got, within, want)
		}
		if want > 0 {
			worst = max(worst, math.Abs(float64(got)-float64(want))/float64(want))
		}
		return nil
	}
	err = check("the site", got.Totals.Total, totals.Visitors.Total, sketch.SitePrecision.ExactLimit())
	for _, row := range got.Visitors {
		err = errors.Join(err, check(row.Path, row.Total, exact[row.Path], sketch.PathPrecision.ExactLimit()))
	}
	return worst, err
}
