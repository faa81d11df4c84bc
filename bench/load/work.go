package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/bench/workload"
	"footfall/sketch"
)

// postEvents posts all events and returns how long that took.
func postEvents(ctx context.Context, s *server, events *workload.Events, batch, connections int) (time.Duration, error) {
	var rendered [][]byte
	for b := range events.Batches(batch) {
		rendered = append(rendered, b.Body)
	}
	bodies := make(chan []byte, len(rendered))
	for _, body := range rendered {
		bodies <- body
	}
	close(bodies)
	started := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range connections {
		group.Go(func() error {
			for body := range bodies {
				status, answer, err := s.do(ctx, http.MethodPost, "/events", body)
				if err != nil {
					return err
				}
				if status != http.StatusAccepted {
					return fmt.Errorf("posting events: status %d: %s", status, answer)
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return time.Since(started), err
}

func (s *server) do(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	request.Header.Set("Content-Type", "application/x-ndjson")
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("asking the server: %w", err)
	}
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}

// page is an answer of the export.
type page struct {
	Totals   count
	Visitors []struct {
		Path string
		count
	}
}

type count struct{ Human, AI, Total uint64 }

func (s *server) visitors(ctx context.Context, within sketch.Range) (page, error) {
	var p page
	status, answer, err := s.do(ctx, http.MethodGet, fmt.Sprintf("/visitors?dateFrom=%v&dateTo=%v", within.From, within.To), nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("exporting: status %d: %s", status, answer)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(answer, &p)
}

// export asks for a range some times and returns the durations, sorted.
func export(ctx context.Context, s *server, within sketch.Range, times int) ([]time.Duration, error) {
	durations := make([]time.Duration, times)
	for i := range durations {
		started := time.Now()
		if _, err := s.visitors(ctx, within); err != nil {
			return nil, err
		}
		durations[i] = time.Since(started)
	}
	slices.Sort(durations)
	return durations, nil
}

// compare returns the largest relative error among the totals of the site and of
// the rows that an export shows. A number that must be exact and is not is an
// error.
func compare(ctx context.Context, s *server, truth *workload.Truth, within sketch.Range) (float64, error) {
	got, err := s.visitors(ctx, within)
	if err != nil {
		return 0, err
	}
	totals, rows := truth.Count(within)
	exact := make(map[string]uint64)
	for _, row := range rows {
		exact[row.Path] = row.Visitors.Total
	}
	worst := 0.0
	check := func(what string, got, want uint64, limit int) error {
		if got != want && want <= uint64(limit) {
			return fmt.Errorf("%s has %d visitors in %v, must be exactly %d", what, got, within, want)
		}
		worst = max(worst, math.Abs(float64(got)-float64(want))/float64(want))
		return nil
	}
	err = check("the site", got.Totals.Total, totals.Visitors.Total, sketch.SitePrecision.ExactLimit())
	for _, row := range got.Visitors {
		err = errors.Join(err, check(row.Path, row.Total, exact[row.Path], sketch.PathPrecision.ExactLimit()))
	}
	return worst, err
}

// importLog imports a made-up access log and returns how long that took and how
// many lines it had.
func importLog(ctx context.Context, s *server, dir string, lines int) (time.Duration, int, error) {
	log, err := workload.NewAccessLog(workload.AccessLogConfig{Seed: 1, From: sketch.FirstDay + 9000, Lines: lines})
	if err != nil {
		return 0, 0, err
	}
	name := filepath.Join(dir, "access.log")
	file, err := os.Create(name)
	if err != nil {
		return 0, 0, fmt.Errorf("writing an access log: %w", err)
	}
	truth, err := log.Write(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return 0, 0, fmt.Errorf("writing an access log: %w", err)
	}
	started := time.Now()
	if _, err := s.command(ctx, "import", "--project", project, name); err != nil {
		return 0, 0, err
	}
	return time.Since(started), truth.Lines, nil
}
