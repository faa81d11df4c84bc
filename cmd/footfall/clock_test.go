package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// clock is a clock that the test sets.
type clock struct{ time atomic.Pointer[time.Time] }

func (c *clock) set(day string) {
	t, err := time.Parse(time.DateTime, day+" 12:00:00")
	if err != nil {
		panic(err)
	}
	c.time.Store(&t)
}

func (c *clock) now() time.Time { return *c.time.Load() }

// within runs a server on a data directory in this process, since the binary takes
// the time from the system, and ends it when fn returns.
func within(t *testing.T, data string, c *clock, fn func(url string)) {
	t.Helper()
	s, err := openServer(serverOptions{
		data: data, listen: "127.0.0.1:0", limits: defaultHTTPLimits(), now: c.now, logger: discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	fn("http://" + s.client.Addr().String())
}

// TestClock: a clock that jumps back or ahead, while the server runs and between
// two runs, loses nothing. An event without a timestamp takes the day that the
// clock says, and one that comes months late its own day, also when that was
// written to a checkpoint long ago.
func TestClock(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	var c clock
	want := make(map[string]map[string]bool) // visitors by day
	sent := 0
	send := func(url, timestamp, day string) {
		t.Helper()
		// Two visitors, of whom one comes every time.
		for _, visitor := range []string{"regular", fmt.Sprint(sent)} {
			event := fmt.Sprintf(`{"path":"/","visitorId":%q,"traffic":"human"%s}`, visitor, timestamp)
			status, body := request(t, "POST", url+"/v1/analytics/docs/events", key, strings.NewReader(event))
			if status != http.StatusAccepted || !strings.Contains(body, `"accepted":1`) {
				t.Fatalf("status %d: %s", status, body)
			}
			if want[day] == nil {
				want[day] = make(map[string]bool)
			}
			want[day][visitor] = true
		}
		sent++
	}
	check := func(url string) {
		t.Helper()
		all := make(map[string]bool)
		for day, visitors := range want {
			end, err := time.Parse(time.DateOnly, day)
			if err != nil {
				t.Fatal(err)
			}
			wantCount(t, url, key, "?dateFrom="+day+"&dateTo="+end.AddDate(0, 0, 1).Format(time.DateOnly), len(visitors))
			for visitor := range visitors {
				all[visitor] = true
			}
		}
		wantCount(t, url, key, "?dateFrom=2025-01-01&dateTo=2027-01-01", len(all))
	}
	// Each run ends with a checkpoint and begins at the day that follows here.
	for _, days := range [][]string{
		{"2026-06-10", "2026-06-11"},
		{"2026-06-09", "2026-06-11", "2026-06-10"}, // back between two runs, and ahead and back while one lasts
		{"2025-12-31", "2026-07-01"},               // back over the year
		{"2026-06-10"},
	} {
		c.set(days[0])
		within(t, data, &c, func(url string) {
			for _, day := range days {
				c.set(day)
				send(url, "", day)
				late := c.now().AddDate(0, -5, 0)
				send(url, fmt.Sprintf(`,"timestamp":%q`, late.Format(time.RFC3339)), late.Format(time.DateOnly))
				check(url)
			}
		})
	}
	c.set("2026-06-10")
	within(t, data, &c, check)
}

func wantCount(t *testing.T, url, key, within string, visitors int) {
	t.Helper()
	status, body := request(t, "GET", url+"/v1/analytics/docs/visitors"+within, key, nil)
	want := fmt.Sprintf(`{"totals":{"human":%[1]d,"ai":0,"total":%[1]d}`, visitors)
	if status != http.StatusOK || !strings.HasPrefix(body, want) {
		t.Errorf("%s: status %d: %s, want %s", within, status, body, want)
	}
}
