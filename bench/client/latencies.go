package client

import (
	"math"
	"time"
)

// Latencies are the times that requests took, in ascending order.
type Latencies []time.Duration

// Percentile returns the smallest latency that p percent of the requests, at
// least, did not exceed, and 0 without requests.
func (l Latencies) Percentile(p float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(l))))
	return l[min(max(rank, 1), len(l))-1]
}
