package main

import (
	"slices"
	"testing"
)

func TestSelectMeasurements(t *testing.T) {
	for _, test := range []struct {
		list string
		want []string // nil is an error
	}{
		{list: "events,import", want: []string{"events", "import"}},
		{list: "year,events", want: []string{"year", "events"}},
		{list: "yearly"},
		{list: ""},
	} {
		selected, err := selectMeasurements(test.list)
		if (err == nil) != (test.want != nil) || !slices.Equal(names(selected), test.want) && err == nil {
			t.Errorf("%q selects %v, %v; want %v", test.list, names(selected), err, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		numbers []float64
		want    float64
	}{
		{numbers: []float64{7}, want: 7},
		{numbers: []float64{7, 1, 3}, want: 3},
		{numbers: []float64{7, 1, 3, 5}, want: 4},
	} {
		if got := median(test.numbers); got != test.want {
			t.Errorf("the median of %v is %v, want %v", test.numbers, got, test.want)
		}
	}
}
