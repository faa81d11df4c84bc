package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
)

// measureImport imports a made-up access log. The time is that of the whole
// command, from its start to its end.
func measureImport(ctx context.Context, o options) error {
	return onServer(ctx, o, "import", func(s *service.Server, dir string) error { return importLog(ctx, o, s, dir) })
}

func importLog(ctx context.Context, o options, s *service.Server, dir string) error {
	log, err := workload.NewAccessLog(workload.AccessLogConfig{Seed: 1, From: firstDay, Lines: o.lines})
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "access.log")
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing an access log: %w", err)
	}
	truth, err := log.Write(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing an access log: %w", err)
	}
	var elapsed time.Duration
	peak, err := s.Process().Watch(func() error {
		started := time.Now()
		err := s.Import(ctx, name)
		elapsed = time.Since(started)
		return err
	})
	if err != nil {
		return err
	}
	result := report.Result{Name: "Import/format=combined", Operations: truth.Lines, Elapsed: elapsed}
	result.Values = []report.Value{result.Rate("lines/s"), report.Bytes("peak-anon", peak)}
	return report.Write(o.out, result)
}
