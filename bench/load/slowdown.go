package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/bench/client"
	"footfall/bench/report"
)

// slowdown has page views come as fast as they can, with exports beside them and
// without, in turn: which comes first changes each time, since a server that holds
// more may be slower.
func (m *mixed) slowdown(ctx context.Context) error {
	rates := make(map[bool][]float64) // by whether there are exports
	for phase := range m.options.phases {
		for _, with := range []bool{phase%2 == 1, phase%2 == 0} {
			rate, err := m.phase(ctx, with)
			if err != nil {
				return err
			}
			rates[with] = append(rates[with], rate)
		}
	}
	if len(rates) == 0 {
		return nil
	}
	alone, beside := median(rates[false]), median(rates[true])
	return report.Write(m.options.out, report.Result{
		Name: "Slowdown/events=" + m.name, Operations: 2 * m.options.phases, Elapsed: 2 * time.Duration(m.options.phases) * m.options.phase,
		Values: []report.Value{{Amount: 100 * (1 - beside/alone), Unit: "slowdown-%"}},
	})
}

// phase returns the page views a second of one phase.
func (m *mixed) phase(ctx context.Context, withQueries bool) (float64, error) {
	o := m.options
	posts := m.posts()
	posts.Next = m.events.until(time.Now().Add(o.phase))
	group, groupCtx := errgroup.WithContext(ctx)
	rate := 0.0
	if withQueries {
		queries, err := m.queries(o.phase)
		if err != nil {
			return 0, err
		}
		group.Go(func() error { _, err := queries.Run(groupCtx); return err })
		rate = o.queryRate
	}
	var posted client.Report
	group.Go(func() (err error) { posted, err = posts.Run(groupCtx); return err })
	if err := group.Wait(); err != nil {
		return 0, err
	}
	result := report.Result{Name: fmt.Sprintf("Fastest/events=%s/exports=%v", m.name, rate), Operations: posts.Answered() * o.batch, Elapsed: posted.Elapsed}
	result.Values = []report.Value{result.Rate("events/s")}
	return result.Values[0].Amount, report.Write(o.out, result)
}

// median returns the middle of some numbers, or the mean of the two in the middle.
func median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
