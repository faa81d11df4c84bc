package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"footfall/bench/client"
	"footfall/bench/repeat"
	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/sketch"
)

// measureEvents posts all events once.
func measureEvents(ctx context.Context, o options, s *service.Server, events *workload.Events) error {
	var requests [][]byte
	for b := range events.Batches(o.batch) {
		request, err := s.Events(b.Body)
		if err != nil {
			return err
		}
		requests = append(requests, request)
	}
	name := fmt.Sprintf("Events/batch=%d/connections=%d", o.batch, o.connections)
	return post(ctx, o, s, name, client.All(requests))
}

// measureSustained repeats the events for a time, on later days each time.
func measureSustained(ctx context.Context, o options, s *service.Server, events *workload.Events) error {
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
	deadline := time.Now().Add(o.sustain)
	return post(ctx, o, s, name, func(ctx context.Context, scratch *[]byte) ([]byte, bool) {
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return nil, false
		}
		*scratch = requests.Next((*scratch)[:0], later)
		return *scratch, true
	})
}

// post sends requests of events and reports what that took.
func post(ctx context.Context, o options, s *service.Server, name string, next func(context.Context, *[]byte) ([]byte, bool)) error {
	before, err := newSnapshot(ctx, s)
	if err != nil {
		return err
	}
	load := client.Load{Address: s.Address(), Connections: o.connections, Expect: http.StatusAccepted, Next: next}
	var posted client.Report
	peak, err := s.Process().Watch(func() (err error) {
		posted, err = load.Run(ctx)
		return err
	})
	if err != nil {
		return err
	}
	after, err := newSnapshot(ctx, s)
	if err != nil {
		return err
	}
	// An answered request may hold fewer events than a whole batch, so the server is
	// asked; it counts events when they are durable.
	result := report.Result{Name: name, Operations: int(after.accepted() - before.accepted()), Elapsed: posted.Elapsed}
	if o.sustain == 0 && result.Operations != o.events {
		return fmt.Errorf("%d events were accepted of %d", result.Operations, o.events)
	}
	result.Values = []report.Value{
		result.Rate("events/s"),
		{Amount: float64(load.Answered()) / posted.Elapsed.Seconds(), Unit: "requests/s"},
		report.Duration("p50", posted.Percentile(50)),
		report.Duration("p99", posted.Percentile(99)),
		report.Duration("p99.9", posted.Percentile(99.9)),
		report.Bytes("peak-anon", peak),
		result.Each("server-cpu", after.usage.CPU-before.usage.CPU),
		result.Each("client-cpu", after.client-before.client),
		{Amount: after.metrics[syncs] - before.metrics[syncs], Unit: "syncs"},
		{Amount: after.metrics[checkpoints+"_count"] - before.metrics[checkpoints+"_count"], Unit: "checkpoints"},
		{Amount: after.metrics[checkpoints+"_sum"] - before.metrics[checkpoints+"_sum"], Unit: "checkpoint-sec"},
		{Amount: float64(posted.Refused), Unit: "refused"},
	}
	return report.Write(os.Stdout, result)
}
