package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"footfall/bench/client"
	"footfall/bench/repeat"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/sketch"
)

// feed is the page views that come: those of one workload over a week, again and
// again. What is today for it moves on by a day every o.day, and the week with it,
// so that most views fall in days that have some, and all paths and visitors have
// been seen before.
type feed struct {
	options  options
	server   *service.Server
	requests *repeat.Requests
	truth    *workload.Truth
	load     client.Load
	started  time.Time
	due      atomic.Int64 // batches that were due so far
}

// week is how many days the page views of one instant spread over.
const week = 7

func newFeed(o options, server *service.Server) (*feed, error) {
	passing := sketch.Day(o.duration/o.day) + 1
	events, err := workload.NewEvents(workload.EventsConfig{
		Seed: 1, From: sketch.DayOf(time.Now()) - week - passing, Days: week, Events: o.events,
	})
	if err != nil {
		return nil, err
	}
	f := &feed{options: o, server: server, truth: events.Truth()}
	if f.requests, err = repeat.New(events, o.batch, server.Events); err != nil {
		return nil, err
	}
	f.load = client.Load{Address: server.Address(), Connections: o.connections, Expect: http.StatusAccepted, Next: f.next}
	f.started = time.Now()
	return f, nil
}

// run sends page views until their time is over.
func (f *feed) run(ctx context.Context) error {
	_, err := f.load.Run(ctx)
	return err
}

// next waits until the next batch is due. Batches that are late because the
// server was slow are sent at once: their number does not depend on the server.
func (f *feed) next(ctx context.Context, scratch *[]byte) ([]byte, bool) {
	number := f.due.Add(1) - 1
	due := time.Duration(float64(number) * float64(f.options.batch) / f.options.rate * float64(time.Second))
	if due >= f.options.duration {
		f.due.Add(-1)
		return nil, false
	}
	if err := client.Wait(ctx, due-time.Since(f.started)); err != nil {
		return nil, false
	}
	*scratch = f.requests.Next((*scratch)[:0], func(int) sketch.Day { return sketch.Day(due / f.options.day) })
	return *scratch, true
}

// acknowledged returns the page views whose requests were answered so far.
func (f *feed) acknowledged() int { return f.load.Answered() * f.options.batch }

// expected returns the page views that should have come so far.
func (f *feed) expected() int {
	elapsed := min(time.Since(f.started), f.options.duration)
	return int(elapsed.Seconds() * f.options.rate)
}

// today returns the last day that has page views.
func (f *feed) today() sketch.Day {
	return f.truth.Days().To - 1 + sketch.Day(time.Since(f.started)/f.options.day)
}

// check compares what the server counts at the end with the truth.
func (f *feed) check(ctx context.Context) error {
	metrics, err := f.server.Metrics(ctx)
	if err != nil {
		return err
	}
	accepted := metrics[`footfall_events_total{result="accepted",traffic="human"}`] + metrics[`footfall_events_total{result="accepted",traffic="ai"}`]
	if int(accepted) != f.acknowledged() {
		return fmt.Errorf("the server counts %.0f accepted page views, and %d were acknowledged", accepted, f.acknowledged())
	}
	if f.acknowledged() < f.options.events {
		return nil // Not all visitors have come.
	}
	page, err := f.server.Visitors(ctx, sketch.Range{From: f.truth.Days().From, To: f.today() + 1})
	if err != nil {
		return err
	}
	truth, _ := f.truth.Count(f.truth.Days())
	// Five standard errors of the site's sketch, of 2^16 registers.
	const tolerance = 5 * 1.04 / 256
	got, want := float64(page.Totals.Total), float64(truth.Visitors.Total)
	if math.Abs(got-want) > tolerance*want {
		return fmt.Errorf("the site has %.0f visitors, the truth is %.0f", got, want)
	}
	return nil
}

// ask asks for exports now and then: of the week and of all days in turn.
func ask(ctx context.Context, o options, server *service.Server, f *feed) error {
	for number := 0; client.Wait(ctx, o.exportEvery) == nil; number++ {
		within := sketch.Range{From: f.today() - week + 1, To: f.today() + 1}
		if number%2 == 1 {
			within.From = f.truth.Days().From
		}
		if _, err := server.Visitors(ctx, within); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
