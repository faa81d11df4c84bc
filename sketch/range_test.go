package sketch_test

import (
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

func TestRangeIsHalfOpen(t *testing.T) {
	tests := []struct {
		name  string
		r     sketch.Range
		holds []sketch.Day
		not   []sketch.Day
		empty bool
	}{
		{"several days", sketch.Range{From: 10, To: 13}, []sketch.Day{10, 11, 12}, []sketch.Day{9, 13}, false},
		{"one day", sketch.Range{From: 10, To: 11}, []sketch.Day{10}, []sketch.Day{9, 11}, false},
		{"across 1970", sketch.Range{From: -1, To: 1}, []sketch.Day{-1, 0}, []sketch.Day{-2, 1}, false},
		{"no day", sketch.Range{From: 10, To: 10}, nil, []sketch.Day{9, 10, 11}, true},
		{"backwards", sketch.Range{From: 13, To: 10}, nil, []sketch.Day{9, 10, 11, 12, 13}, true},
		{"zero", sketch.Range{}, nil, []sketch.Day{-1, 0, 1}, true},
		{"all days", sketch.AllDays(), []sketch.Day{sketch.FirstDay, sketch.LastDay}, []sketch.Day{sketch.FirstDay - 1, sketch.LastDay + 1}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.r.Empty(); got != test.empty {
				t.Errorf("%v: Empty is %t", test.r, got)
			}
			for _, day := range test.holds {
				if !test.r.Contains(day) {
					t.Errorf("%v does not hold %v", test.r, day)
				}
			}
			for _, day := range test.not {
				if test.r.Contains(day) {
					t.Errorf("%v holds %v", test.r, day)
				}
			}
		})
	}
}

func TestRangeString(t *testing.T) {
	r := sketch.Range{From: 19782, To: 19783}
	if got, want := r.String(), "[2024-02-29, 2024-03-01)"; got != want {
		t.Errorf("written %s, expected %s", got, want)
	}
}

func TestIntersectionHoldsTheDaysOfBoth(t *testing.T) {
	bound := rapid.Map(rapid.Int32Range(-20, 20), func(i int32) sketch.Day { return sketch.Day(i) })
	rapid.Check(t, func(t *rapid.T) {
		a := sketch.Range{From: bound.Draw(t, "a from"), To: bound.Draw(t, "a to")}
		b := sketch.Range{From: bound.Draw(t, "b from"), To: bound.Draw(t, "b to")}
		both := a.Intersect(b)
		shared := false
		for day := sketch.Day(-21); day <= 21; day++ {
			want := a.Contains(day) && b.Contains(day)
			shared = shared || want
			if both.Contains(day) != want {
				t.Fatalf("%v and %v: the intersection %v is wrong about %v", a, b, both, day)
			}
		}
		if both.Empty() == shared {
			t.Fatalf("%v and %v: Empty of %v is %t", a, b, both, both.Empty())
		}
	})
}
