package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/bench/client"
	"footfall/bench/exports"
	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/sketch"
)

// historyDays are the days of a site before page views and exports come at once.
const historyDays = 90

// mixed is a site on which page views and exports come at once.
type mixed struct {
	server  *service.Server
	windows *exports.Windows
	days    sketch.Range // that are asked for
	options options
	name    string
	events  *loop // of the page views that come
	random  *rand.Rand
}

// measureLive measures exports while page views of today come, as on a site that is
// read.
func measureLive(ctx context.Context, o options) error {
	return measureMixed(ctx, o, "live", func(today sketch.Day) workload.EventsConfig {
		return workload.EventsConfig{From: today, Days: 1}
	})
}

// measureSpread measures exports while page views of all days before today come,
// as when a site's history is sent. They belong to days that were closed.
func measureSpread(ctx context.Context, o options) error {
	return measureMixed(ctx, o, "spread", func(today sketch.Day) workload.EventsConfig {
		return workload.EventsConfig{From: today - historyDays, Days: historyDays}
	})
}

func measureMixed(ctx context.Context, o options, name string, daysOf func(today sketch.Day) workload.EventsConfig) error {
	o.workload.Days = 0 // Which days there are is what is measured.
	today := sketch.DayOf(time.Now())
	history, err := newEvents(o, workload.EventsConfig{From: today - historyDays, Days: historyDays})
	if err != nil {
		return err
	}
	config := daysOf(today)
	coming, err := newEvents(o, config)
	if err != nil {
		return err
	}
	return onSite(ctx, o, plan{name: name, events: history}, func(s *site) error {
		// Exports are of the days that page views come for, and of those before.
		days := sketch.Range{From: today - historyDays, To: config.From + sketch.Day(config.Days)}
		requests, _, err := render(coming, o.batch, s.server.Events)
		if err != nil {
			return err
		}
		m := &mixed{server: s.server, windows: exports.NewWindows(days, 1), days: days, options: o, name: name, random: rand.New(rand.NewPCG(1, 0))}
		// In any order, so that at no time they are of one day.
		m.random.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		m.events = &loop{requests: requests}
		if err := m.steady(ctx); err != nil {
			return err
		}
		return m.slowdown(ctx)
	})
}

// steady has page views and exports come at steady rates, whether or not those
// before were answered.
func (m *mixed) steady(ctx context.Context) error {
	o := m.options
	queries, err := m.queries(o.duration)
	if err != nil {
		return err
	}
	posts := m.posts()
	posts.Every = time.Duration(float64(o.batch) / o.rate * float64(time.Second))
	posts.Next = m.events.times(int(o.duration / posts.Every))
	var posted, asked client.Report
	peak, err := m.server.Process().Watch(func() error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() (err error) { posted, err = posts.Run(ctx); return err })
		group.Go(func() (err error) { asked, err = queries.Run(ctx); return err })
		return group.Wait()
	})
	if err != nil {
		return err
	}
	return report.Write(o.out, report.Result{
		Name: "Mixed/events=" + m.name, Operations: queries.Answered(), Elapsed: asked.Elapsed, Values: []report.Value{
			report.Duration("p50", asked.Latencies.Percentile(50)),
			report.Duration("p99", asked.Latencies.Percentile(99)),
			report.Duration("p100", asked.Latencies.Percentile(100)),
			{Amount: float64(posts.Answered()*o.batch) / posted.Elapsed.Seconds(), Unit: "events/s"},
			report.Duration("events-p99", posted.Latencies.Percentile(99)),
			{Amount: float64(posted.Refused), Unit: "refused"},
			report.Bytes("peak-anon", peak),
		},
	})
}

// posts is a load of page views that lacks a Next.
func (m *mixed) posts() *client.Load {
	return &client.Load{Address: m.server.Address(), Connections: m.options.connections, Expect: http.StatusAccepted}
}

// queries is a load of exports at their rate, for a time.
func (m *mixed) queries(d time.Duration) (*client.Load, error) {
	const connections = 16
	every := time.Duration(float64(time.Second) / m.options.queryRate)
	ranges, err := m.ranges(int(d / every))
	if err != nil {
		return nil, err
	}
	requests := make([][]byte, len(ranges))
	for i, within := range ranges {
		if requests[i], err = m.server.Export(within, exports.Top); err != nil {
			return nil, err
		}
	}
	return &client.Load{
		Address: m.server.Address(), Connections: connections, Every: every, Expect: http.StatusOK, Next: client.All(requests),
	}, nil
}

// ranges are what is asked for: in turn any range that was never asked for, and one
// that ends with the newest day.
func (m *mixed) ranges(n int) ([]sketch.Range, error) {
	length := m.days.To - m.days.From
	anywhere, err := m.windows.Between(1, length, (n+1)/2)
	if err != nil {
		return nil, err
	}
	var ranges []sketch.Range
	for _, within := range anywhere {
		newest := sketch.Range{From: m.days.From + sketch.Day(m.random.IntN(int(length))), To: m.days.To}
		ranges = append(ranges, within, newest)
	}
	return ranges[:n], nil
}
