package main

import (
	"context"
	"slices"

	"footfall/bench/workload"
)

// measureYear measures a large site: ranges of about a year, and the first export
// of a process.
func measureYear(ctx context.Context, o options) error {
	events, err := newEvents(o, workload.EventsConfig{
		From: firstDay, Days: 365, Events: 20_000_000, Paths: 10_000, Humans: 2_000_000, AIs: 50_000,
	})
	if err != nil {
		return err
	}
	return onSite(ctx, o, plan{name: "year", events: events}, func(s *site) error {
		days := s.truth.Days().To - s.truth.Days().From
		longest, err := s.windows.About(days, o.exports)
		if err != nil {
			return err
		}
		if _, err := s.export(ctx, o, "Year/days=365", longest); err != nil {
			return err
		}
		const shortest = 300
		mixed, err := s.windows.Between(min(shortest, days), days, o.exports)
		if err != nil {
			return err
		}
		if _, err := s.export(ctx, o, "Year/days=300-365", mixed); err != nil {
			return err
		}
		return s.restart(ctx, o, "Year/days=365/process=new")
	})
}

// measureManyPaths measures a site as wide as the limits of a project let it be.
// There are twice as many days as a range has, so that no range comes twice.
func measureManyPaths(ctx context.Context, o options) error {
	const days = 30
	events, err := newEvents(o, workload.EventsConfig{From: firstDay, Days: 2 * days, Events: 12_000_000, Paths: 200_000})
	if err != nil {
		return err
	}
	o = withManyPaths(o)
	return onSite(ctx, o, plan{name: "many-paths", events: events}, func(s *site) error {
		ranges, err := s.windows.About(days, o.exports)
		if err != nil {
			return err
		}
		_, err = s.export(ctx, o, "ManyPaths/days=30", ranges)
		return err
	})
}

// withManyPaths lifts the limit of a day's paths as high as the one of a project's.
func withManyPaths(o options) options {
	o.serveFlags = append(slices.Clone(o.serveFlags), "--max-paths-per-day=200000")
	return o
}
