package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"footfall/bench/exports"
	"footfall/bench/report"
	"footfall/bench/workload"
	"footfall/sketch"
)

// measureExports asks for ranges of some lengths, none of which was asked for
// before.
func measureExports(ctx context.Context, o options, s *site) error {
	for _, days := range []sketch.Day{1, 7, 30, 90} {
		ranges, err := s.windows.About(days, o.exports)
		if err != nil {
			return err
		}
		if _, err := s.export(ctx, o, fmt.Sprintf("Export/days=%d", days), ranges); err != nil {
			return err
		}
	}
	return nil
}

// export asks for ranges one after the other, holds answers against the truth, and
// reports what that took.
func (s *site) export(ctx context.Context, o options, name string, ranges []sketch.Range) (m exports.Measurement, err error) {
	peak, err := s.server.Process().Watch(func() error {
		m, err = s.ask(ctx, ranges)
		return err
	})
	if err != nil {
		return m, err
	}
	return m, s.report(o, name, m, report.Bytes("peak-anon", peak))
}

// ask asks for ranges on a connection of its own.
func (s *site) ask(ctx context.Context, ranges []sketch.Range) (exports.Measurement, error) {
	conn, err := s.server.DialExports(ctx)
	if err != nil {
		return exports.Measurement{}, err
	}
	m, err := exports.Measure(ctx, conn.Prepare, ranges)
	return m, errors.Join(err, conn.Close())
}

// checked is how many answers of a measurement are held against the truth, which
// takes longer than the answers on a large site.
const checked = 3

// report holds answers against the truth and reports a measurement.
func (s *site) report(o options, name string, m exports.Measurement, more ...report.Value) error {
	if len(m.Answers) == 0 {
		return nil // None was to be asked for.
	}
	worst, paths := 0.0, 0
	for _, answer := range m.Answers[:min(checked, len(m.Answers))] {
		totals, rows := s.truth.Count(answer.Within)
		off, err := compare(answer, totals, rows)
		if err != nil {
			return err
		}
		worst, paths = max(worst, off), max(paths, len(rows))
	}
	result := m.Result(name)
	result.Values = append(append(result.Values, more...),
		report.Value{Amount: 100 * worst, Unit: "largest-error-%"},
		report.Value{Amount: float64(paths), Unit: "paths"},
	)
	return report.Write(o.out, result)
}

// compare returns the largest relative error among the totals of the site and of
// the rows that an answer shows, against the truth of its range. A number that must
// be exact and is not is an error.
func compare(answer exports.Answer, totals workload.Count, rows []workload.Row) (float64, error) {
	exact := make(map[string]uint64)
	for _, row := range rows {
		exact[row.Path] = row.Visitors.Total
	}
	worst := 0.0
	check := func(what string, got, want uint64, limit int) error {
		if got != want && want <= uint64(limit) {
			return fmt.Errorf("%s has %d visitors in %v, must be exactly %d", what, got, answer.Within, want)
		}
		if want > 0 {
			worst = max(worst, math.Abs(float64(got)-float64(want))/float64(want))
		}
		return nil
	}
	err := check("the site", answer.Page.Totals.Total, totals.Visitors.Total, sketch.SitePrecision.ExactLimit())
	for _, row := range answer.Page.Visitors {
		err = errors.Join(err, check(row.Path, row.Total, exact[row.Path], sketch.PathPrecision.ExactLimit()))
	}
	return worst, err
}
