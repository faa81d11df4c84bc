package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/internal/store"
	"footfall/sketch"
)

// rounds is how often a test of crashes or faults repeats itself: FOOTFALL_ROUNDS
// where that is set.
func rounds(t *testing.T, preset int) int {
	t.Helper()
	text := os.Getenv("FOOTFALL_ROUNDS")
	if text == "" {
		return preset
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ledger sends batches and knows which were acknowledged, to compare with what is
// found later. Each batch has pages of its own, each seen by the same visitors
// twice, and a view of a page that all batches share by a visitor that all share.
type ledger struct {
	pages    int    // of each batch
	visitors int    // of each page; an even number, human and AI in turn
	pad      string // what each page's path ends with

	mu       sync.Mutex
	acks     []bool // by the number of the batch
	answers  map[int]int
	acked    int
	changed  chan struct{}
	problems []string
}

func newLedger() *ledger { return &ledger{pages: 1, visitors: 20} }

func (l *ledger) begin() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, false)
	return len(l.acks) - 1
}

func (l *ledger) answered(n, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if status == http.StatusAccepted {
		l.acks[n] = true
		l.acked++
	}
	if l.answers == nil {
		l.answers = make(map[int]int)
	}
	l.answers[status]++
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

func (l *ledger) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// count returns how many batches were sent, how many of them were acknowledged,
// and how many requests were answered with a status.
func (l *ledger) count(status int) (sent, acked, answers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acks), l.acked, l.answers[status]
}

// watch returns how many requests were answered with a status, and a channel that
// is closed with the next answer.
func (l *ledger) watch(status int) (changed <-chan struct{}, answers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed, l.answers[status]
}

// await waits until so many requests were answered with a status.
func (l *ledger) await(t *testing.T, status, enough int) {
	t.Helper()
	timeout := time.After(patience)
	for {
		changed, answers := l.watch(status)
		if answers >= enough {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%d requests were answered with %d in time, want %d", answers, status, enough)
		}
	}
}

// body returns a batch as it is sent.
func (l *ledger) body(n int) string {
	var body strings.Builder
	body.WriteString(`{"path":"/shared","visitorId":"shared","traffic":"human","timestamp":"2026-01-01T00:00:00Z"}` + "\n")
	for page := range l.pages {
		for visitor := range l.visitors {
			traffic := [2]string{"human", "ai"}[visitor%2]
			for range 2 {
				fmt.Fprintf(&body, `{"path":%q,"visitorId":"%d","traffic":%q,"timestamp":"2026-01-%02dT00:00:00Z"}`+"\n",
					l.path(n, page), visitor, traffic, 1+n%28)
			}
		}
	}
	return body.String()
}

func (l *ledger) path(n, page int) string { return fmt.Sprintf("/batch/%d/%d%s", n, page, l.pad) }

// send sends a batch and returns the status of the answer, 0 where there is none.
func (l *ledger) send(ctx context.Context, client *http.Client, url, key string) int {
	n := l.begin()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/analytics/docs/events", strings.NewReader(l.body(n)))
	if err != nil {
		l.problem("%v", err)
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/x-ndjson")
	response, err := client.Do(r)
	if err != nil {
		return 0
	}
	l.answered(n, response.StatusCode)
	_ = response.Body.Close()
	return response.StatusCode
}

// load sends batches over several connections until there is no answer or the
// context ends. What it returns waits for them to end.
func (l *ledger) load(ctx context.Context, url, key string, connections int) (wait func()) {
	var clients sync.WaitGroup
	for range connections {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for ctx.Err() == nil && l.send(ctx, client, url, key) != 0 {
			}
		})
	}
	return clients.Wait
}

// check opens the data directory as a start after the crash would, and compares:
// every acknowledged batch is there whole, with exact visitors and views; one
// that was not acknowledged is there whole or not at all; nothing else is there.
func (l *ledger) check(t *testing.T, data string) {
	t.Helper()
	a := openTest(t, data)
	project, _ := a.registry.Project("docs")
	ranking, err := store.Rank(t.Context(), a.store, project.Number, sketch.AllDays())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	l.compare(t, ranking)
}

func (l *ledger) compare(t *testing.T, ranking *sketch.Ranking) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, problem := range l.problems {
		t.Error(problem)
	}
	found := make(map[string]sketch.Row)
	for _, row := range ranking.Rows {
		found[row.Path] = row
	}
	shared := found["/shared"]
	delete(found, "/shared")
	var kept uint64
	for n, acknowledged := range l.acks {
		switch there := l.take(t, n, found); {
		case there > 0 && there < l.pages:
			t.Errorf("batch %d is there with %d of its %d pages", n, there, l.pages)
		case there > 0:
			kept++
		case acknowledged:
			t.Errorf("batch %d was acknowledged and is lost", n)
		}
	}
	if len(found) > 0 {
		t.Errorf("there are pages that nobody sent: %.200v", slices.Collect(maps.Keys(found)))
	}
	visitors := uint64(l.visitors) + 1
	if kept == 0 {
		visitors = 0
	}
	if ranking.Totals.Total != visitors {
		t.Errorf("the site has %d visitors, want %d", ranking.Totals.Total, visitors)
	}
	if shared.Count.Total != min(kept, 1) || shared.Views[sketch.Human] != kept {
		t.Errorf("the shared page has %+v, want one visitor and %d views", shared, kept)
	}
}

// take takes the pages of a batch out of what was found and returns their number.
func (l *ledger) take(t *testing.T, n int, found map[string]sketch.Row) (there int) {
	t.Helper()
	for page := range l.pages {
		path := l.path(n, page)
		row, ok := found[path]
		if !ok {
			continue
		}
		there++
		delete(found, path)
		half, all := uint64(l.visitors/2), uint64(l.visitors)
		want := sketch.Row{Path: path, Count: sketch.Count{Human: half, AI: half, Total: all}, Views: [2]uint64{all, all}}
		if row != want {
			t.Errorf("batch %d has %+v, want %+v", n, row, want)
		}
	}
	return there
}

// openTest opens the same app that main opens, within the test.
func openTest(t *testing.T, data string) *app {
	t.Helper()
	a, err := openApp(appOptions{data: data, now: time.Now, logger: discard()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
