package main

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
)

func TestCurves(t *testing.T) {
	s := samples{head: []string{"peer", "days", "p50_ns", "p99_ns"}, rows: [][]string{
		{"footfall", "1", "1000000", "2000000"}, {"redis", "1", "9000000", "0"}, {"footfall", "365", "2500000", "0"},
	}}
	curves, err := s.curves()
	if err != nil || len(curves) != 2 || curves[0].peer != "footfall" || curves[1].peer != "redis" {
		t.Fatalf("%v, %v", curves, err)
	}
	if want := (plotter.XYs{{X: 1, Y: 1}, {X: 365, Y: 2.5}}); !slices.Equal(curves[0].points, want) {
		t.Errorf("%v, want %v", curves[0].points, want)
	}
	for _, wrong := range []samples{
		{head: []string{"seconds", "rss_anon"}, rows: [][]string{{"1", "2"}}},
		{head: s.head, rows: [][]string{{"footfall", "many", "1", "1"}}},
		{head: s.head, rows: [][]string{{"footfall", "1", "long", "1"}}},
	} {
		if curves, err := wrong.curves(); err == nil {
			t.Errorf("%v is read as %v", wrong.rows, curves)
		}
	}
}

func TestDecades(t *testing.T) {
	for _, test := range []struct{ lowest, highest, below, above float64 }{
		{1, 365, 1, 1000},
		{0.4, 10, 0.1, 10},
		{99, 101, 10, 1000},
	} {
		if below, above := decades(test.lowest, test.highest); below != test.below || above != test.above {
			t.Errorf("%v to %v lie between %v and %v, want %v and %v", test.lowest, test.highest, below, above, test.below, test.above)
		}
	}
}
