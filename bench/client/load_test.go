package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"footfall/bench/client"
)

// TestLatenessCounts answers the first request late: those that were due meanwhile
// must have waited for it, and not the load with them.
func TestLatenessCounts(t *testing.T) {
	const every, requests, late = 10 * time.Millisecond, 20, 100 * time.Millisecond
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			return
		}
		select {
		case <-time.After(late):
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	request, err := client.Render(http.MethodGet, address, "/", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]byte, requests)
	for i := range all {
		all[i] = request
	}
	load := client.Load{Address: address, Connections: 1, Every: every, Expect: http.StatusOK, Next: client.All(all)}
	report, err := load.Run(t.Context())
	if err != nil || load.Answered() != requests || len(report.Latencies) != requests {
		t.Fatalf("%d requests were answered of %d, with %d latencies: %v", load.Answered(), requests, len(report.Latencies), err)
	}
	if report.Elapsed < (requests-1)*every {
		t.Errorf("requests that are due every %v took %v", every, report.Elapsed)
	}
	// The first one took all of it, the second one all but its 10 ms, and so on.
	var sum, least time.Duration
	for i := range late / every {
		least += late - i*every
	}
	for _, latency := range report.Latencies {
		sum += latency
	}
	if sum < least {
		t.Errorf("the requests took %v together, want %v at least", sum, least)
	}
}
