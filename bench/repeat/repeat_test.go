package repeat_test

import (
	"bytes"
	"testing"

	"footfall/bench/repeat"
	"footfall/bench/workload"
	"footfall/sketch"
)

// TestRepetitionsAreWorkloads compares repetitions with a workload that was made
// up on the later days.
func TestRepetitionsAreWorkloads(t *testing.T) {
	const from, days, batch = sketch.FirstDay + 50, 30, 7
	config := workload.EventsConfig{Seed: 4, From: from, Days: days, Events: 500, Paths: 20, Humans: 30, AIs: 3}
	events := newEvents(t, config)
	const head = "POST / HTTP/1.1\r\n\r\n"
	requests, err := repeat.New(events, batch, func(body []byte) ([]byte, error) { return append([]byte(head), body...), nil })
	if err != nil {
		t.Fatal(err)
	}
	for repetition := range 3 {
		later := config
		later.From += sketch.Day(repetition * days)
		for want := range newEvents(t, later).Batches(batch) {
			got := requests.Next(nil, func(n int) sketch.Day { return sketch.Day(n * days) })
			if body, found := bytes.CutPrefix(got, []byte(head)); !found || !bytes.Equal(body, want.Body) {
				t.Fatalf("repetition %d, from event %d: %s, want %s", repetition, want.First, got, want.Body)
			}
		}
	}
}

func newEvents(t *testing.T, config workload.EventsConfig) *workload.Events {
	t.Helper()
	events, err := workload.NewEvents(config)
	if err != nil {
		t.Fatal(err)
	}
	return events
}
