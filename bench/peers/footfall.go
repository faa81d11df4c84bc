package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"footfall/bench/client"
	"footfall/bench/service"
	"footfall/bench/workload"
)

// footfallPeers is Footfall as it is meant to be used: newline-delimited JSON over
// HTTP, every request answered after the sync.
func footfallPeers() []peer {
	return []peer{{
		name:    "footfall",
		version: func(ctx context.Context, o options) (string, error) { return service.Version(ctx, o.footfall) },
		start: func(ctx context.Context, o options, dir string) (system, error) {
			server, err := service.Start(ctx, service.Options{Binary: o.footfall, Data: filepath.Join(dir, "data")})
			return &footfall{server: server}, err
		},
	}}
}

type footfall struct {
	server *service.Server
	conn   *service.ExportConn // nil until exports are asked for
}

func (f *footfall) ingest(ctx context.Context, events *workload.Events) (time.Duration, error) {
	const batch, connections = 1000, 8
	var requests [][]byte
	for b := range events.Batches(batch) {
		request, err := f.server.Events(b.Body)
		if err != nil {
			return 0, err
		}
		requests = append(requests, request)
	}
	load := client.Load{Address: f.server.Address(), Connections: connections, Expect: http.StatusAccepted, Next: client.All(requests)}
	sent, err := load.Run(ctx)
	if err == nil && load.Answered() != len(requests) {
		err = fmt.Errorf("%d requests were answered of %d", load.Answered(), len(requests))
	}
	return sent.Elapsed, err
}

// counters waits until days that are over are merged, as on a site they are.
func (f *footfall) counters(ctx context.Context) ([]counter, error) {
	if _, err := f.server.Settle(ctx); err != nil {
		return nil, err
	}
	var err error
	if f.conn, err = f.server.DialExports(ctx); err != nil {
		return nil, err
	}
	return []counter{{name: "footfall", prepare: f.conn.Prepare}}, nil
}

func (f *footfall) process() service.Process { return f.server.Process() }

func (f *footfall) stop() error {
	var err error
	if f.conn != nil {
		err = f.conn.Close()
	}
	return errors.Join(err, f.server.Stop())
}
