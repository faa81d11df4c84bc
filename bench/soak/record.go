package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"footfall/bench/service"
)

// recorder writes samples as CSV.
type recorder struct {
	server *service.Server
	feed   *feed
	data   string // the server's data directory
	file   *os.File
	csv    *csv.Writer
}

// columns are the head of the CSV. Amounts of memory and disk are in bytes.
var columns = []string{
	"seconds", "rss_anon", "open_fds", "goroutines", "heap", "queue", "overlay", "log", "expected_events", "acknowledged_events",
	"data_directory", "cpu_seconds",
}

func newRecorder(name string, server *service.Server, feed *feed, data string) (*recorder, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("writing samples: %w", err)
	}
	r := &recorder{server: server, feed: feed, data: data, file: file, csv: csv.NewWriter(file)}
	if err := r.csv.Write(columns); err != nil {
		return nil, errors.Join(fmt.Errorf("writing samples: %w", err), file.Close())
	}
	return r, nil
}

// run takes a sample every second until ctx ends.
func (r *recorder) run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if err := r.sample(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *recorder) sample(ctx context.Context) error {
	at := time.Since(r.feed.started)
	metrics, err := r.server.Metrics(ctx)
	if err != nil {
		return err
	}
	usage, err := r.server.Process().Usage()
	if err != nil {
		return err
	}
	disk, err := service.DiskBytes(r.data)
	if err != nil {
		return err
	}
	row := []float64{
		at.Seconds(), float64(usage.Anonymous), float64(usage.Files), metrics["go_goroutines"], metrics["go_memstats_heap_alloc_bytes"],
		metrics["footfall_queue_bytes"], metrics["footfall_overlay_bytes"], metrics["footfall_log_bytes"],
		float64(r.feed.expected()), float64(r.feed.acknowledged()), float64(disk), usage.CPU.Seconds(),
	}
	cells := make([]string, len(row))
	for i, value := range row {
		precision := 0
		if columns[i] == "seconds" || columns[i] == "cpu_seconds" {
			precision = 2
		}
		cells[i] = strconv.FormatFloat(value, 'f', precision, 64)
	}
	if err := r.csv.Write(cells); err != nil {
		return fmt.Errorf("writing samples: %w", err)
	}
	r.csv.Flush() // So that it can be watched.
	return r.csv.Error()
}

func (r *recorder) close() error {
	r.csv.Flush()
	if err := errors.Join(r.csv.Error(), r.file.Close()); err != nil {
		return fmt.Errorf("writing samples: %w", err)
	}
	return nil
}
