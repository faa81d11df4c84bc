package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"footfall/bench/client"
	"footfall/bench/exports"
	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/sketch"
)

// firstDay is the first day of most sites: long ago, so that all their days are
// closed.
const firstDay = sketch.FirstDay + 9000

// newEvents makes up the page views of a site, of which flags may say more.
func newEvents(o options, config workload.EventsConfig) (*workload.Events, error) {
	config.Seed = 1
	config.Events = cmp.Or(o.workload.Events, config.Events)
	config.Days = cmp.Or(o.workload.Days, config.Days)
	config.Paths = cmp.Or(o.workload.Paths, config.Paths)
	config.Humans = cmp.Or(o.workload.Humans, config.Humans)
	config.AIs = cmp.Or(o.workload.AIs, config.AIs)
	return workload.NewEvents(config)
}

// site is a server that holds a workload.
type site struct {
	name    string
	server  *service.Server
	truth   *workload.Truth
	windows *exports.Windows
}

func newSite(name string, server *service.Server, truth *workload.Truth) *site {
	return &site{name: name, server: server, truth: truth, windows: exports.NewWindows(truth.Days(), 1)}
}

// plan is a site that is to be.
type plan struct {
	name   string
	events *workload.Events
}

// onSite measures on a server that holds what is planned, and has merged it.
func onSite(ctx context.Context, o options, p plan, measure func(*site) error) error {
	return onSites(ctx, o, []plan{p}, func(sites []*site) error { return measure(sites[0]) })
}

// onSites is onSite for several servers that run at once, so that what each waits
// before it merges, all wait together. A server that nobody asks does nothing.
func onSites(ctx context.Context, o options, plans []plan, measure func([]*site) error) error {
	var sites []*site
	var next func() error
	next = func() error {
		if len(sites) == len(plans) {
			if err := settle(ctx, o, sites); err != nil {
				return err
			}
			return measure(sites)
		}
		p := plans[len(sites)]
		return onServer(ctx, o, p.name, func(server *service.Server, _ string) error {
			if err := fill(ctx, o, p, server); err != nil {
				return err
			}
			sites = append(sites, newSite(p.name, server, p.events.Truth()))
			return next()
		})
	}
	return next()
}

// settle waits until all sites are merged.
func settle(ctx context.Context, o options, sites []*site) error {
	for _, s := range sites {
		took, err := s.server.Settle(ctx)
		if err != nil {
			return err
		}
		if err := report.Write(o.out, report.Result{Name: "Settle/site=" + s.name, Operations: 1, Elapsed: took}); err != nil {
			return err
		}
	}
	return nil
}

// onServer starts a server, measures what is named, stops it cleanly and tells
// what it leaves on disk. measure is also given a directory for files of its own.
func onServer(ctx context.Context, o options, what string, measure func(s *service.Server, dir string) error) error {
	dir, err := os.MkdirTemp("", "footfall-load-")
	if err != nil {
		return fmt.Errorf("making a data directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is the system's temporary directory.
	data := filepath.Join(dir, "data")
	s, err := service.Start(ctx, service.Options{Binary: o.binary, Data: data, Flags: o.serveFlags, Log: os.Stderr})
	if err != nil {
		return err
	}
	if err := measure(s, dir); err != nil {
		_ = s.Stop() // The error says more.
		return err
	}
	started := time.Now()
	if err := s.Stop(); err != nil {
		return err
	}
	stopped := report.Result{Name: "Stop/after=" + what, Operations: 1, Elapsed: time.Since(started)}
	bytes, err := service.DiskBytes(data)
	if err != nil {
		return err
	}
	stopped.Values = []report.Value{report.Bytes("disk", bytes)}
	return report.Write(o.out, stopped)
}

// fill posts the events of a plan, rendered while they are sent, so that there may
// be any number of them.
func fill(ctx context.Context, o options, p plan, s *service.Server) error {
	before, err := newSnapshot(ctx, s)
	if err != nil {
		return err
	}
	rendering := newRendering(p.events.Batches(o.batch), s.Events)
	defer rendering.stop()
	load := client.Load{Address: s.Address(), Connections: o.connections, Expect: http.StatusAccepted, Next: rendering.next}
	var posted client.Report
	peak, err := s.Process().Watch(func() (err error) {
		posted, err = load.Run(ctx)
		return err
	})
	if err := cmp.Or(err, rendering.failure); err != nil {
		return err
	}
	after, err := newSnapshot(ctx, s)
	if err != nil {
		return err
	}
	result := report.Result{Name: "Fill/site=" + p.name, Operations: int(after.accepted() - before.accepted()), Elapsed: posted.Elapsed}
	result.Values = []report.Value{result.Rate("events/s"), report.Bytes("peak-anon", peak)}
	return report.Write(o.out, result)
}

// rendering renders batches as requests when they are asked for.
type rendering struct {
	mu      sync.Mutex
	pull    func() (workload.Batch, bool)
	stop    func() // must be called
	render  func(body []byte) ([]byte, error)
	failure error // to be read when no connection asks anymore
}

func newRendering(batches iter.Seq[workload.Batch], render func(body []byte) ([]byte, error)) *rendering {
	r := &rendering{render: render}
	r.pull, r.stop = iter.Pull(batches)
	return r
}

// next is for a client.Load. It ends at a failure.
func (r *rendering) next(ctx context.Context, _ *[]byte) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch, ok := r.pull()
	if !ok || r.failure != nil || ctx.Err() != nil {
		return nil, false
	}
	request, err := r.render(batch.Body)
	r.failure = err
	return request, err == nil
}
