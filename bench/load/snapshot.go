package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"footfall/bench/service"
)

// The series of /metrics that are reported.
const (
	acceptedHuman = `footfall_events_total{result="accepted",traffic="human"}`
	acceptedAI    = `footfall_events_total{result="accepted",traffic="ai"}`
	syncs         = "footfall_log_append_duration_seconds_count"
	checkpoints   = "footfall_checkpoint_duration_seconds"
)

// snapshot is what server and client have done and taken so far.
type snapshot struct {
	metrics map[string]float64
	usage   service.Usage
	client  time.Duration // the time that this process has run
}

func newSnapshot(ctx context.Context, s *service.Server) (shot snapshot, err error) {
	if shot.metrics, err = s.Metrics(ctx); err != nil {
		return shot, err
	}
	if shot.usage, err = s.Process().Usage(); err != nil {
		return shot, err
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return shot, fmt.Errorf("reading the time of this process: %w", err)
	}
	shot.client = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	return shot, nil
}

func (s snapshot) accepted() float64 { return s.metrics[acceptedHuman] + s.metrics[acceptedAI] }
