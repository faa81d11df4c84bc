package client_test

import (
	"testing"
	"time"

	"footfall/bench/client"
)

func TestPercentile(t *testing.T) {
	upTo := func(n int) (l client.Latencies) {
		for i := range n {
			l = append(l, time.Duration(i+1))
		}
		return l
	}
	for _, test := range []struct {
		requests int
		p        float64
		want     time.Duration
	}{
		{requests: 0, p: 50, want: 0},
		{requests: 1, p: 0, want: 1},
		{requests: 1, p: 99.9, want: 1},
		{requests: 2, p: 50, want: 1},
		{requests: 3, p: 50, want: 2},
		{requests: 30, p: 50, want: 15},
		{requests: 30, p: 99, want: 30},
		{requests: 1200, p: 99, want: 1188},
		{requests: 1200, p: 100, want: 1200},
	} {
		if got := upTo(test.requests).Percentile(test.p); got != test.want {
			t.Errorf("p%v of 1 to %d is %d, want %d", test.p, test.requests, got, test.want)
		}
	}
}
