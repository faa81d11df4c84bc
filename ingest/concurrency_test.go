package ingest_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"footfall/ingest"
	"footfall/internal/store"
	"footfall/sketch"
)

// slow is a store that looks at each batch, lets others run, and looks again.
type slow struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[string]int // views by path
}

func (s *slow) Commit(_ context.Context, b sketch.Batch) error {
	var before []sketch.PageView
	for view := range b.Views() {
		before = append(before, view)
	}
	for range 10 {
		runtime.Gosched()
	}
	i := 0
	for view := range b.Views() {
		if i >= len(before) || view != before[i] {
			s.t.Errorf("view %d was %+v and is %+v", i, before[i], view)
		}
		i++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	visitors := make(map[sketch.Hash]bool)
	for _, view := range before {
		s.seen[view.Path]++
		visitors[view.Visitor] = true
		if owner, first := owner(view.Path), owner(before[0].Path); owner != first {
			s.t.Errorf("the batch of %s holds a path of %s", first, owner)
		}
	}
	if len(visitors) != 1 {
		s.t.Errorf("the batch of %s has %d visitors", owner(before[0].Path), len(visitors))
	}
	return nil
}

func (s *slow) FindReceipt(context.Context, sketch.ProjectNumber, [32]byte) (sketch.Receipt, bool, error) {
	return sketch.Receipt{}, false, nil
}

func owner(path string) string { return strings.Split(path, "/")[1] }

// TestConcurrentRequestsDoNotMix: each request has a visitor and paths of its own,
// and so has each batch, while it is committed and not only when it begins.
func TestConcurrentRequestsDoNotMix(t *testing.T) {
	s := &slow{t: t, seen: make(map[string]int)}
	c := newCounted(t, store.Limits{}, func(opts *ingest.Options) { opts.Store = s })
	const clients, requests = 16, 40
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for n := range requests {
				var body strings.Builder
				for line := range 1 + (7*n+client)%60 {
					path := fmt.Sprintf("/%d-%d/%d", client, n, line%13)
					if line%5 == 0 {
						path = strings.Replace(path, "-", "%2D", 1) // Has to be normalised.
					}
					body.WriteString(event(map[string]any{"path": path, "visitorId": fmt.Sprint(client, n)}) + "\n")
					if line%7 == 3 {
						body.WriteString("nonsense\n")
					}
				}
				header := http.Header{}
				text := body.String()
				if encoding := []string{"", "gzip", "zstd"}[n%3]; encoding != "" {
					header.Set("Content-Encoding", encoding)
					text = string(encode(t, encoding, text))
				}
				if got := c.post("docs", text, header); got.Code != http.StatusAccepted {
					t.Errorf("status %d: %s", got.Code, got.Body)
				}
			}
		})
	}
	running.Wait()
	for client := range clients {
		for n := range requests {
			for page := range 13 {
				path, want := fmt.Sprintf("/%d-%d/%d", client, n, page), 0
				for line := range 1 + (7*n+client)%60 {
					if line%13 == page {
						want++
					}
				}
				if s.seen[path] != want {
					t.Errorf("%s has %d views, want %d", path, s.seen[path], want)
				}
			}
		}
	}
	if n := c.pipeline.BodyBytes(); n != 0 {
		t.Errorf("%d bytes stay taken", n)
	}
}
