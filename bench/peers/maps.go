package main

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"footfall/bench/exports"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/query"
	"footfall/sketch"
)

// mapPeers is no system but a floor without any: sets of visitors as Go maps in
// this process, by day and path. They are exact, and kept nowhere.
func mapPeers() []peer {
	return []peer{{
		name:    "go-maps",
		version: func(context.Context, options) (string, error) { return runtime.Version(), nil },
		start: func(context.Context, options, string) (system, error) {
			return &maps{days: make(map[sketch.Day]day)}, nil
		},
	}}
}

// visitors are visitors by number, each with the kinds of traffic that it came as:
// a bit for each.
type visitors map[uint32]uint8

// day is the visitors of each path on a day. Those of the site are under anyPath.
type day map[string]visitors

type maps struct {
	days map[sketch.Day]day
}

func (m *maps) ingest(_ context.Context, events *workload.Events) (time.Duration, error) {
	type numbered struct {
		view
		day     sketch.Day
		visitor uint32
	}
	var all []numbered
	numbers := make(map[string]uint32)
	for b := range events.Batches(1000) {
		for v, err := range views(b) {
			if err != nil {
				return 0, err
			}
			number, found := numbers[v.visitor]
			if !found {
				number = uint32(len(numbers))
				numbers[v.visitor] = number
			}
			all = append(all, numbered{view: v, day: sketch.DayOf(v.at), visitor: number})
		}
	}
	runtime.GC() // As for Footfall: of what rendering left behind.
	started := time.Now()
	for _, v := range all {
		traffic := sketch.Human
		if v.ai {
			traffic = sketch.AI
		}
		m.add(v.day, v.path, v.visitor, traffic)
		m.add(v.day, anyPath, v.visitor, traffic)
	}
	return time.Since(started), nil
}

func (m *maps) add(d sketch.Day, path string, visitor uint32, traffic sketch.Traffic) {
	paths := m.days[d]
	if paths == nil {
		paths = make(day)
		m.days[d] = paths
	}
	set := paths[path]
	if set == nil {
		set = make(visitors)
		paths[path] = set
	}
	set[visitor] |= 1 << traffic
}

func (m *maps) counters(context.Context) ([]counter, error) {
	return []counter{{name: "go-maps", prepare: func(within sketch.Range) (exports.Ask, error) {
		return func(context.Context) (query.Page, error) { return m.export(within), nil }, nil
	}}}, nil
}

func (m *maps) export(within sketch.Range) (page query.Page) {
	united := make(day)
	for d := within.From; d < within.To; d++ {
		for path, set := range m.days[d] {
			all := united[path]
			if all == nil {
				all = make(visitors, len(set))
				united[path] = all
			}
			for visitor, traffics := range set {
				all[visitor] |= traffics
			}
		}
	}
	for path, set := range united {
		if path == anyPath {
			page.Totals = set.count()
			continue
		}
		page.Visitors = append(page.Visitors, query.Row{Path: path, Count: set.count()})
	}
	page.Visitors = top(page.Visitors)
	return page
}

func (v visitors) count() query.Count {
	count := query.Count{Total: uint64(len(v))}
	for _, traffics := range v {
		count.Human += uint64(traffics >> sketch.Human & 1)
		count.AI += uint64(traffics >> sketch.AI & 1)
	}
	return count
}

// top sorts rows, for systems that leave it to the client, and returns the first.
func top(rows []query.Row) []query.Row {
	slices.SortFunc(rows, func(a, b query.Row) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Path, b.Path))
	})
	return rows[:min(exports.Top, len(rows))]
}

func (m *maps) process() service.Process { return 0 }

func (m *maps) stop() error { return nil }
