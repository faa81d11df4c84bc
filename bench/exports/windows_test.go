package exports_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"footfall/bench/exports"
	"footfall/sketch"
)

const from sketch.Day = 20000

func lengths(ranges []sketch.Range) map[sketch.Day]int {
	counts := make(map[sketch.Day]int)
	for _, r := range ranges {
		counts[r.To-r.From]++
	}
	return counts
}

func TestWindows(t *testing.T) {
	days := sketch.Range{From: from, To: from + 90}
	windows := exports.NewWindows(days, 1)
	asked := make(map[sketch.Range]bool)
	for _, test := range []struct {
		name              string
		take              func() ([]sketch.Range, error)
		shortest, longest sketch.Day
		want              int
	}{
		{name: "one day", take: func() ([]sketch.Range, error) { return windows.About(1, 30) }, shortest: 1, longest: 1, want: 30},
		{name: "the other days", take: func() ([]sketch.Range, error) { return windows.About(1, 60) }, shortest: 1, longest: 1, want: 60},
		{name: "a month", take: func() ([]sketch.Range, error) { return windows.About(30, 61) }, shortest: 30, longest: 30, want: 61},
		{name: "all of it and what is a little shorter", take: func() ([]sketch.Range, error) { return windows.About(90, 36) }, shortest: 83, longest: 90, want: 36},
		{name: "what is left below that", take: func() ([]sketch.Range, error) { return windows.About(90, 9) }, shortest: 82, longest: 82, want: 9},
		{name: "between", take: func() ([]sketch.Range, error) { return windows.Between(40, 60, 100) }, shortest: 40, longest: 60, want: 100},
		{name: "none", take: func() ([]sketch.Range, error) { return windows.Between(5, 6, 0) }, want: 0},
	} {
		got, err := test.take()
		if err != nil || len(got) != test.want {
			t.Fatalf("%s: %d windows, %v; want %d", test.name, len(got), err, test.want)
		}
		for _, window := range got {
			if length := window.To - window.From; length < test.shortest || length > test.longest || window.Intersect(days) != window {
				t.Errorf("%s: %v", test.name, window)
			}
			if asked[window] {
				t.Errorf("%s: %v comes twice", test.name, window)
			}
			asked[window] = true
		}
	}
	if got := lengths(slices.Collect(maps.Keys(asked))); got[1] != 90 || got[90] != 1 || got[83] != 8 {
		t.Errorf("%d windows of one day, %d of 90, %d of 83; want all of them", got[1], got[90], got[83])
	}
}

func TestWindowsRunOut(t *testing.T) {
	windows := exports.NewWindows(sketch.Range{From: from, To: from + 3}, 1)
	if _, err := windows.Between(2, 3, 4); !errors.Is(err, exports.ErrWindows) {
		t.Errorf("four windows of two or three days among three days: %v", err)
	}
	if got, err := windows.About(3, 6); err != nil || len(got) != 6 {
		t.Errorf("all windows of three days: %v, %v", got, err)
	}
	if _, err := windows.About(3, 1); !errors.Is(err, exports.ErrWindows) {
		t.Errorf("one more: %v", err)
	}
}

func TestWindowsOfOneSeed(t *testing.T) {
	take := func(seed uint64) []sketch.Range {
		t.Helper()
		got, err := exports.NewWindows(sketch.Range{From: from, To: from + 90}, seed).About(7, 30)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if !slices.Equal(take(1), take(1)) {
		t.Error("one seed took two orders")
	}
	if slices.Equal(take(1), take(2)) {
		t.Error("another seed took the same order")
	}
}
