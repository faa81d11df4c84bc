package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/sketch"
)

// TestKill posts to the real binary from several clients, kills it at a random
// moment, starts it again, and does so for some rounds on one data directory.
// Every acknowledged batch must be there whole, with exact visitors and views;
// one that was not answered must be there whole or not at all. FOOTFALL_ROUNDS
// sets the number of rounds.
func TestKill(t *testing.T) {
	rounds := 5
	if text := os.Getenv("FOOTFALL_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	data := t.TempDir()
	key := newDocs(t, data)
	random := rand.New(rand.NewPCG(1, uint64(rounds)))
	sent := &ledger{batches: make(map[int]batchState)}
	for round := range rounds {
		p := serve(t, data)
		enough := sent.acked() + 1 + random.IntN(400)
		var clients sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for range 4 {
			clients.Go(func() { post(ctx, p.url, key, sent) })
		}
		sent.await(t, enough)
		p.kill(t)
		cancel()
		clients.Wait()
		sent.check(t, data)
		t.Logf("round %d: %d batches sent, %d acknowledged", round, len(sent.batches), sent.acked())
	}
}

type batchState int

const (
	unanswered batchState = iota
	acknowledged
)

// Each batch has a page of its own, seen by eventsPerBatch visitors twice each,
// and a visitor that all batches share on a page that all share.
const eventsPerBatch = 20

// ledger knows which batches were sent and which were acknowledged.
type ledger struct {
	mu      sync.Mutex
	batches map[int]batchState
	count   atomic.Int64
	changed chan struct{}
}

func (l *ledger) begin() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.batches)
	l.batches[n] = unanswered
	return n
}

func (l *ledger) acknowledge(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches[n] = acknowledged
	l.count.Add(1)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

func (l *ledger) acked() int { return int(l.count.Load()) }

func (l *ledger) await(t *testing.T, enough int) {
	t.Helper()
	timeout := time.After(patience)
	for l.acked() < enough {
		l.mu.Lock()
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if l.acked() >= enough {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%d batches were acknowledged in time, want %d", l.acked(), enough)
		}
	}
}

func post(ctx context.Context, url, key string, sent *ledger) {
	for ctx.Err() == nil {
		n := sent.begin()
		var body strings.Builder
		body.WriteString(`{"path":"/shared","visitorId":"shared","traffic":"human","timestamp":"2026-01-01T00:00:00Z"}` + "\n")
		for i := range eventsPerBatch {
			traffic := [2]string{"human", "ai"}[i%2]
			for range 2 {
				fmt.Fprintf(&body, `{"path":"/batch/%d","visitorId":"%d","traffic":%q,"timestamp":"2026-01-%02dT00:00:00Z"}`+"\n", n, i, traffic, 1+n%28)
			}
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/analytics/docs/events", strings.NewReader(body.String()))
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/x-ndjson")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return // Killed.
		}
		if response.StatusCode == http.StatusAccepted {
			sent.acknowledge(n)
		}
		_ = response.Body.Close()
	}
}

// check opens the data directory as a start after the crash would, and compares.
func (l *ledger) check(t *testing.T, data string) {
	t.Helper()
	a := openTest(t, data)
	project, _ := a.registry.Project("docs")
	ranking, err := a.store.Rank(t.Context(), project.Number, sketch.AllDays())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]sketch.Row)
	for _, row := range ranking.Rows {
		found[row.Path] = row
	}
	var kept uint64
	for n, state := range l.batches {
		path := fmt.Sprintf("/batch/%d", n)
		row, there := found[path]
		if !there && state == acknowledged {
			t.Errorf("batch %d was acknowledged and is lost", n)
			continue
		}
		if !there {
			continue
		}
		kept++
		want := sketch.Row{
			Path:  path,
			Count: sketch.Count{Human: eventsPerBatch / 2, AI: eventsPerBatch / 2, Total: eventsPerBatch},
			Views: [2]uint64{eventsPerBatch, eventsPerBatch},
		}
		if row != want {
			t.Errorf("batch %d is %+v, want %+v", n, row, want)
		}
	}
	if shared := found["/shared"]; shared.Count.Total != 1 || shared.Views[sketch.Human] != kept {
		t.Errorf("the shared page has %+v, want one visitor and %d views", shared, kept)
	}
	if ranking.Totals.Total != eventsPerBatch+1 {
		t.Errorf("the site has %d visitors, want %d", ranking.Totals.Total, eventsPerBatch+1)
	}
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
