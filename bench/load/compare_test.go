package main

import (
	"math"
	"testing"

	"footfall/bench/exports"
	"footfall/bench/workload"
	"footfall/query"
	"footfall/sketch"
)

func TestCompare(t *testing.T) {
	count := func(total uint64) workload.Count { return workload.Count{Visitors: sketch.Count{Total: total}} }
	totals := count(20_000)
	rows := []workload.Row{{Path: "/", Count: count(10_000)}, {Path: "/few", Count: count(2_048)}}
	for _, test := range []struct {
		name            string
		site, most, few uint64
		want            float64 // negative is an error
	}{
		{name: "exact", site: 20_000, most: 10_000, few: 2_048, want: 0},
		{name: "an estimate of the site", site: 19_800, most: 10_000, few: 2_048, want: 0.01},
		{name: "a worse one of a path", site: 19_800, most: 10_200, few: 2_048, want: 0.02},
		{name: "few visitors, not exact", site: 20_000, most: 10_000, few: 2_047, want: -1},
	} {
		page := query.Page{Totals: query.Count{Total: test.site}, Visitors: []query.Row{
			{Path: "/", Count: query.Count{Total: test.most}}, {Path: "/few", Count: query.Count{Total: test.few}},
		}}
		got, err := compare(exports.Answer{Page: page}, totals, rows)
		if test.want < 0 && err == nil || test.want >= 0 && (err != nil || math.Abs(got-test.want) > 1e-9) {
			t.Errorf("%s: %v, %v; want %v", test.name, got, err, test.want)
		}
	}
}
