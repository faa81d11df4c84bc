package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/query"
)

const (
	walkPaths = 5_000
	walkLimit = 250
	walkRate  = 100_000 // page views a second
)

// A client walks the pages of an export while page views pour into its range: each
// path comes once, all pages have one set of totals, and the order goes on from
// page to page. What is acknowledged before a first page is in it.
func TestWalkWhileViewsComeIn(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	p := serve(t, data)
	events := p.url + "/v1/analytics/docs/events"
	now := time.Now().UTC()
	random := rand.New(rand.NewPCG(1, 2))

	// Every path has a view on one of the last days, some have many.
	var all strings.Builder
	for path := range walkPaths {
		for range 1 + 300/(path+1) {
			writeView(&all, path, random, now)
		}
	}
	if status, answer := request(t, http.MethodPost, events, key, strings.NewReader(all.String())); status != http.StatusAccepted {
		t.Fatalf("status %d: %s", status, answer)
	}

	pouring, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var poured atomic.Int64
	running.Go(func() { pour(t, pouring, events, key, now, &poured) })
	defer running.Wait()
	defer stop()

	walks := 0
	for walk := 0; walk < 4 || poured.Load() < 4*walkRate && walk < 200; walk++ {
		walks++
		path := fmt.Sprintf("/new/%d", walk)
		var fresh strings.Builder
		for visitor := range 3 {
			fmt.Fprintf(&fresh, `{"path":%q,"visitorId":"new-%d","traffic":"human","timestamp":%q}`+"\n", path, visitor, now.AddDate(0, 0, -1).Format(time.RFC3339))
		}
		if status, answer := request(t, http.MethodPost, events, key, strings.NewReader(fresh.String())); status != http.StatusAccepted {
			t.Fatalf("status %d: %s", status, answer)
		}
		// As connectors do: to now, to the microsecond. The range has the days
		// before today, into which the page views come.
		query := url.Values{"dateTo": {time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00")}, "limit": {fmt.Sprint(walkLimit)}}
		rows := walkPages(t, p.url+"/v1/analytics/docs/visitors?"+query.Encode(), key)
		if got := rows[path]; got.Human != 3 || got.Total != 3 {
			t.Errorf("walk %d: %s has %+v, acknowledged were 3 visitors", walk, path, got)
		}
		if len(rows) != walkPaths+walk+1 {
			t.Errorf("walk %d has %d paths, want %d", walk, len(rows), walkPaths+walk+1)
		}
	}
	stop()
	running.Wait()
	t.Logf("%d page views came in during %d walks", poured.Load(), walks)
	p.stop(t)
}

// walkPages reads all pages and returns the rows by their paths.
func walkPages(t *testing.T, first, key string) map[string]query.Count {
	t.Helper()
	rows := make(map[string]query.Count)
	var totals query.Count
	last, lastPath := ^uint64(0), ""
	for offset := 0; ; offset += walkLimit {
		status, answer := request(t, http.MethodGet, fmt.Sprintf("%s&offset=%d", first, offset), key, nil)
		var page query.Page
		if err := json.Unmarshal([]byte(answer), &page); status != http.StatusOK || err != nil {
			t.Fatalf("offset %d: status %d: %s (%v)", offset, status, answer, err)
		}
		if offset == 0 {
			totals = page.Totals
		} else if page.Totals != totals {
			t.Fatalf("offset %d: the totals are %+v, on the first page %+v", offset, page.Totals, totals)
		}
		for _, row := range page.Visitors {
			if _, twice := rows[row.Path]; twice {
				t.Fatalf("offset %d: %s comes again", offset, row.Path)
			}
			if row.Total > last || row.Total == last && row.Path <= lastPath {
				t.Fatalf("offset %d: %s with %d comes behind %s with %d", offset, row.Path, row.Total, lastPath, last)
			}
			if row.Total > totals.Total {
				t.Fatalf("%s has %d visitors, the site %d", row.Path, row.Total, totals.Total)
			}
			rows[row.Path], last, lastPath = row.Count, row.Total, row.Path
		}
		if !page.HasMore {
			return rows
		}
		if len(page.Visitors) != walkLimit {
			t.Fatalf("offset %d: %d rows, and there are more", offset, len(page.Visitors))
		}
	}
}

// pour sends page views at walkRate, as far as the machine keeps up, until the
// context ends.
func pour(t *testing.T, ctx context.Context, events, key string, now time.Time, poured *atomic.Int64) {
	const batch = 1000
	tick := time.NewTicker(time.Second * batch / walkRate)
	defer tick.Stop()
	random := rand.New(rand.NewPCG(3, 4))
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var body strings.Builder
		for range batch {
			writeView(&body, random.IntN(walkPaths), random, now)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, events, strings.NewReader(body.String()))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+key)
		response, err := http.DefaultClient.Do(r)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			t.Errorf("sending page views: %v", err)
			return
		case response.StatusCode == http.StatusAccepted:
			poured.Add(batch)
		case response.StatusCode != http.StatusServiceUnavailable:
			t.Errorf("sending page views: status %d", response.StatusCode)
			return
		}
		if err == nil {
			_ = response.Body.Close() // Only its status matters.
		}
	}
}

// writeView writes a page view on one of the last 20 days before today.
func writeView(b *strings.Builder, path int, random *rand.Rand, now time.Time) {
	traffic := "human"
	if random.IntN(4) == 0 {
		traffic = "ai"
	}
	at := now.AddDate(0, 0, -1-random.IntN(20))
	fmt.Fprintf(b, `{"path":"/page/%d","visitorId":"v%d","traffic":%q,"timestamp":%q}`+"\n",
		path, random.IntN(50_000), traffic, at.Format(time.RFC3339))
}
