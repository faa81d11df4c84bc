package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"

	"footfall/bench/client"
	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
)

// footfallPeers is Footfall as it is meant to be used: newline-delimited JSON over
// HTTP, every request answered after the sync.
func footfallPeers() []peer {
	return []peer{{name: "footfall", version: footfallVersion, ingest: ingestFootfall}}
}

func footfallVersion(ctx context.Context, o options) (string, error) {
	out, err := exec.CommandContext(ctx, o.footfall, "version").Output()
	return strings.Join(strings.Fields(string(out)), " "), err
}

func ingestFootfall(ctx context.Context, o options, events *workload.Events, dir string) (report.Result, error) {
	const batch, connections = 1000, 8
	var result report.Result
	data := filepath.Join(dir, "data")
	server, err := service.Start(ctx, service.Options{Binary: o.footfall, Data: data})
	if err != nil {
		return result, err
	}
	var requests [][]byte
	for b := range events.Batches(batch) {
		request, err := server.Events(b.Body)
		if err != nil {
			return result, stopped(err, server.Stop)
		}
		requests = append(requests, request)
	}
	load := client.Load{Address: server.Address(), Connections: connections, Expect: http.StatusAccepted, Next: client.All(requests)}
	peak, err := server.Process().Watch(func() error {
		sent, err := load.Run(ctx)
		result.Elapsed = sent.Elapsed
		return err
	})
	if err == nil && load.Answered() != len(requests) {
		err = fmt.Errorf("%d requests were answered of %d", load.Answered(), len(requests))
	}
	if err := stopped(err, server.Stop); err != nil {
		return result, err
	}
	result.Operations = o.events
	return withSizes(result, peak, data)
}

// withSizes adds the rate, the peak of memory, in bytes, and the size of a
// directory to a result.
func withSizes(result report.Result, peak int64, dir string) (report.Result, error) {
	disk, err := service.DiskBytes(dir)
	if err != nil {
		return result, err
	}
	result.Values = append(result.Values, result.Rate("events/s"), report.Bytes("disk", disk))
	if peak > 0 {
		result.Values = append(result.Values, report.Bytes("peak-anon", peak))
	}
	return result, nil
}

// stopped stops a system, and returns the error before that, if any: it says more.
func stopped(before error, stop func() error) error {
	if err := stop(); before == nil {
		return err
	}
	return before
}
