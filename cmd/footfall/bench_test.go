package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"footfall/bench/workload"
	"footfall/internal/access"
	"footfall/sketch"
)

// BenchmarkEvents takes the made-up workload in batches of 1,000 from eight
// senders, from the request's handler to the end of the last checkpoint, without
// the network: with -cpuprofile it tells where the time goes (bench/README.md).
func BenchmarkEvents(b *testing.B) {
	a, err := openApp(appOptions{data: b.TempDir(), now: time.Now, logger: discard()})
	if err != nil {
		b.Fatal(err)
	}
	closed := false
	b.Cleanup(func() {
		if !closed {
			_ = a.close() // What failed before says more.
		}
	})
	if _, err := a.registry.CreateProject("load"); err != nil {
		b.Fatal(err)
	}
	key, _, err := a.registry.CreateKey(access.KeySpec{Scope: access.Ingest, Project: "load"})
	if err != nil {
		b.Fatal(err)
	}
	const batch, senders = 1000, 8
	events, err := workload.NewEvents(workload.EventsConfig{Seed: 1, From: sketch.FirstDay + 9000, Events: max(b.N, batch)})
	if err != nil {
		b.Fatal(err)
	}
	bodies := make(chan []byte, b.N/batch+2)
	for rendered := range events.Batches(batch) {
		bodies <- rendered.Body
	}
	close(bodies)
	b.ReportAllocs()
	b.ResetTimer()
	var running sync.WaitGroup
	for range senders {
		running.Go(func() {
			for body := range bodies {
				if status := post(a.api, key, body); status != http.StatusAccepted {
					b.Errorf("status %d", status)
				}
			}
		})
	}
	running.Wait()
	closed = true
	if err := a.close(); err != nil {
		b.Error(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func post(handler http.Handler, key string, body []byte) int {
	request := httptest.NewRequest(http.MethodPost, "/v1/analytics/load/events", bytes.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/x-ndjson")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Code
}
