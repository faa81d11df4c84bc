package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"footfall/bench/client"
	"footfall/bench/repeat"
	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/sketch"
)

// measureEvents posts all events of a site once, and then asks for exports.
func measureEvents(ctx context.Context, o options) error {
	events, err := newEvents(o, workload.EventsConfig{From: firstDay})
	if err != nil {
		return err
	}
	return onServer(ctx, o, "events", func(s *service.Server, _ string) error {
		requests, number, err := render(events, o.batch, s.Events)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("Events/batch=%d/connections=%d", o.batch, o.connections)
		accepted, err := post(ctx, o, s, name, client.All(requests))
		if err != nil {
			return err
		}
		if accepted != number {
			return fmt.Errorf("%d events were accepted of %d", accepted, number)
		}
		if o.exports == 0 {
			return nil // Nor is anything to be merged for them.
		}
		full := newSite("events", s, events.Truth())
		if err := settle(ctx, o, []*site{full}); err != nil {
			return err
		}
		return measureExports(ctx, o, full)
	})
}

// render renders all events ahead, and returns how many there are.
func render(events *workload.Events, batch int, render func([]byte) ([]byte, error)) (requests [][]byte, number int, err error) {
	for b := range events.Batches(batch) {
		request, err := render(b.Body)
		if err != nil {
			return nil, 0, err
		}
		requests = append(requests, request)
		number += b.Events
	}
	return requests, number, nil
}

// measureSustained repeats the events for a time, on later days each time.
func measureSustained(ctx context.Context, o options) error {
	events, err := newEvents(o, workload.EventsConfig{From: sketch.FirstDay}) // There are more days after it.
	if err != nil {
		return err
	}
	return onServer(ctx, o, "sustained", func(s *service.Server, _ string) error {
		requests, err := repeat.New(events, o.batch, s.Events)
		if err != nil {
			return err
		}
		days := events.Truth().Days()
		length := days.To - days.From
		// The days come round before they reach the future, which is refused.
		rounds := int((sketch.DayOf(time.Now()) - days.From) / length)
		later := func(repetition int) sketch.Day { return length * sketch.Day(repetition%rounds) }
		name := fmt.Sprintf("Sustained/batch=%d/connections=%d", o.batch, o.connections)
		deadline := time.Now().Add(o.duration)
		_, err = post(ctx, o, s, name, func(ctx context.Context, scratch *[]byte) ([]byte, bool) {
			if ctx.Err() != nil || !time.Now().Before(deadline) {
				return nil, false
			}
			*scratch = requests.Next((*scratch)[:0], later)
			return *scratch, true
		})
		return err
	})
}

// post sends requests of events, reports what that took, and returns how many
// events the server accepted.
func post(ctx context.Context, o options, s *service.Server, name string, next func(context.Context, *[]byte) ([]byte, bool)) (accepted int, err error) {
	before, err := newSnapshot(ctx, s)
	if err != nil {
		return 0, err
	}
	load := client.Load{Address: s.Address(), Connections: o.connections, Expect: http.StatusAccepted, Next: next}
	var posted client.Report
	peak, err := s.Process().Watch(func() (err error) {
		posted, err = load.Run(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	after, err := newSnapshot(ctx, s)
	if err != nil {
		return 0, err
	}
	// An answered request may hold fewer events than a whole batch, so the server is
	// asked; it counts events when they are durable.
	result := report.Result{Name: name, Operations: int(after.accepted() - before.accepted()), Elapsed: posted.Elapsed}
	result.Values = []report.Value{
		result.Rate("events/s"),
		{Amount: float64(load.Answered()) / posted.Elapsed.Seconds(), Unit: "requests/s"},
		report.Duration("p50", posted.Latencies.Percentile(50)),
		report.Duration("p99", posted.Latencies.Percentile(99)),
		report.Duration("p99.9", posted.Latencies.Percentile(99.9)),
		report.Bytes("peak-anon", peak),
		result.Each("server-cpu", after.usage.CPU-before.usage.CPU),
		result.Each("client-cpu", after.client-before.client),
		{Amount: after.metrics[syncs] - before.metrics[syncs], Unit: "syncs"},
		{Amount: after.metrics[checkpoints+"_count"] - before.metrics[checkpoints+"_count"], Unit: "checkpoints"},
		{Amount: after.metrics[checkpoints+"_sum"] - before.metrics[checkpoints+"_sum"], Unit: "checkpoint-sec"},
		{Amount: float64(posted.Refused), Unit: "refused"},
	}
	return result.Operations, report.Write(o.out, result)
}
