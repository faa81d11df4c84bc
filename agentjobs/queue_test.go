package agentjobs_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"footfall/agentjobs"
)

// Jobs run in the order in which they came, as many at once as may.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, concurrent := range []int{1, 3} {
		t.Run(fmt.Sprint(concurrent), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(o *agentjobs.Options) { o.Concurrent = concurrent })
			release := b.hold()
			var jobs []string
			for range 5 {
				jobs = append(jobs, b.post("say hello").ID)
			}
			for _, id := range jobs[:concurrent] {
				b.until("the first run", func() bool { return b.said(id, "The run begins") })
			}
			for _, id := range jobs[concurrent:] {
				if b.said(id, "The run begins") {
					t.Errorf("job %s runs before it may", id)
				}
			}
			release()
			var last time.Time
			for i, id := range jobs {
				b.await(id)
				began := b.lines(id)[0].Time
				if concurrent == 1 && began.Before(last) {
					t.Errorf("job %d began before the one that came before it", i)
				}
				last = began
			}
		})
	}
}

// A project may post so many messages an hour, the first ones of jobs and others; the
// window moves with the clock, and a start does not begin a new one.
func TestMessagesAnHour(t *testing.T) {
	b := newBench(t, func(o *agentjobs.Options) { o.RunsPerHour = 3 })
	b.hold()
	begin := time.Date(2026, 3, 1, 12, 0, 0, 123_400_000, time.UTC)
	b.setClock(begin)
	j := b.post("say hello")
	b.setClock(begin.Add(10 * time.Minute))
	b.message(j.ID, "say more")
	b.setClock(begin.Add(20*time.Minute + 300*time.Millisecond))
	b.post("say hello")
	for _, path := range []string{"/job", "/job/" + j.ID + "/message"} {
		b.refused(b.do(http.MethodPost, path, prompt("say too much")), http.StatusTooManyRequests)
	}
	if got := b.page(b.do(http.MethodGet, "/jobs", "")); len(got.Jobs) != 2 {
		t.Errorf("there are %d jobs", len(got.Jobs))
	}
	b.Close()
	b.open()
	// Whoever waits as long as it says is taken then, and not a second earlier.
	for range 3 {
		a := b.do(http.MethodPost, "/job", prompt("say too much"))
		b.refused(a, http.StatusTooManyRequests)
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil || wait < 1 || wait > 3600 {
			t.Fatalf("Retry-After %q", a.header.Get("Retry-After"))
		}
		now := b.Clock()
		b.setClock(now.Add(time.Duration(wait-2) * time.Second))
		b.refused(b.do(http.MethodPost, "/job", prompt("say too much")), http.StatusTooManyRequests)
		b.setClock(now.Add(time.Duration(wait) * time.Second))
		b.want(b.do(http.MethodPost, "/job", prompt("say hello")), http.StatusCreated)
	}
	// Another project has an hour of its own.
	b.addOther()
	b.refused(b.do(http.MethodPost, "/job", prompt("say too much")), http.StatusTooManyRequests)
	if a := b.send(http.MethodPost, "/v2/agent/other/job", prompt("say hello"), bearer(b.newKey("admin", "other"))); a.status != http.StatusCreated {
		t.Errorf("another project: status %d: %s", a.status, a.text)
	}
}

// However many post at once, no more are taken than may be.
func TestPostsAtOnce(t *testing.T) {
	b := newBench(t, func(o *agentjobs.Options) { o.RunsPerHour = 10 })
	b.hold()
	var mu sync.Mutex
	got := make(map[int]int)
	var posts sync.WaitGroup
	for range 40 {
		posts.Go(func() {
			a := b.do(http.MethodPost, "/job", prompt("say hello"))
			mu.Lock()
			defer mu.Unlock()
			got[a.status]++
		})
	}
	posts.Wait()
	if len(got) != 2 || got[http.StatusCreated] != 10 || got[http.StatusTooManyRequests] != 30 {
		t.Errorf("the answers were %v", got)
	}
	if page := b.page(b.do(http.MethodGet, "/jobs", "")); len(page.Jobs) != 10 {
		t.Errorf("there are %d jobs", len(page.Jobs))
	}
}

// A thousand jobs wait, and a start takes all of them up again.
func TestThousandJobs(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *agentjobs.Options) { o.RunsPerHour = 2000 })
	b.hold()
	for range 1000 {
		b.post("say hello")
	}
	b.Close()
	began := time.Now()
	b.open()
	t.Logf("the start took %v", time.Since(began))
	seen := make(map[string]bool)
	for offset := 0; ; offset += 250 {
		page := b.page(b.do(http.MethodGet, fmt.Sprintf("/jobs?status=active&limit=250&offset=%d", offset), ""))
		for _, j := range page.Jobs {
			seen[j.ID] = true
		}
		if !page.HasMore {
			break
		}
	}
	if len(seen) != 1000 {
		t.Errorf("%d jobs are active", len(seen))
	}
	b.want(b.do(http.MethodPost, "/job", prompt("say hello")), http.StatusCreated)
}
