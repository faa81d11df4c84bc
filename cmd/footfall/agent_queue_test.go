package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"footfall/agentjobs"
)

// queuedJobs is how many jobs TestAgentQueue posts.
const queuedJobs = 1000

// A thousand jobs wait, are listed while the first of them run, and end.
func TestAgentQueue(t *testing.T) {
	s := newStage(t)
	p := s.serve("--agent-runs", "2", "--agent-runs-per-hour", "100000")
	before := metric(t, p, "process_resident_memory_bytes")
	posted := make([]string, 0, queuedJobs)
	began := time.Now()
	for n := range queuedJobs {
		if n < 2 {
			posted = append(posted, s.post(p, "model hold agent").ID)
			continue
		}
		posted = append(posted, s.post(p, fmt.Sprintf("say job %d", n)).ID)
	}
	t.Logf("%d jobs were posted in %v", queuedJobs, time.Since(began))
	if got := metric(t, p, "footfall_agent_queue_depth"); got != queuedJobs-2 {
		t.Errorf("%v jobs wait", got)
	}
	if got := metric(t, p, `footfall_agent_jobs{status="active"}`); got != queuedJobs {
		t.Errorf("%v jobs are active", got)
	}
	s.held.release("agent") // From here on they run.

	var seen []string
	for offset := 0; ; offset += 250 {
		page := s.page(p, "", offset)
		for _, j := range page.Jobs {
			seen = append(seen, j.ID)
		}
		if !page.HasMore {
			break
		}
		if len(page.Jobs) != 250 {
			t.Fatalf("offset %d: %d jobs, and there are more", offset, len(page.Jobs))
		}
	}
	if len(seen) != queuedJobs {
		t.Fatalf("%d jobs are listed", len(seen))
	}
	for i, id := range seen {
		if want := posted[queuedJobs-1-i]; id != want {
			t.Fatalf("place %d has job %s, want %s", i, id, want)
		}
	}
	until(t, "some have run", func() bool { return metric(t, p, `footfall_agent_runs_total{outcome="completed"}`) >= 6 })

	began = time.Now()
	var cancelling sync.WaitGroup
	for part := range 4 {
		cancelling.Go(func() {
			for i := part; i < queuedJobs; i += 4 {
				status, answer := s.do(p, http.MethodPost, "/job/"+posted[i]+"/cancel", "")
				if status != http.StatusOK {
					t.Errorf("status %d: %s", status, answer)
				}
			}
		})
	}
	cancelling.Wait()
	t.Logf("they were cancelled in %v", time.Since(began))
	until(t, "nothing runs", func() bool {
		ended := metric(t, p, "footfall_agent_run_duration_seconds_count")
		return metric(t, p, `footfall_agent_runs_total{outcome="completed"}`) == ended && len(s.page(p, "active", 0).Jobs) == 0
	})
	counts := make(map[agentjobs.Status]int)
	for offset := 0; offset < queuedJobs; offset += 250 {
		for _, j := range s.page(p, "", offset).Jobs {
			counts[j.Status]++
			if j.Status == agentjobs.Failed && *j.FailureReason != "the job was cancelled" {
				t.Errorf("job %s failed: %s", j.ID, *j.FailureReason)
			}
		}
	}
	if counts[agentjobs.Completed] < 6 || counts[agentjobs.Failed] == 0 || counts[agentjobs.Completed]+counts[agentjobs.Failed] != queuedJobs {
		t.Errorf("the jobs are %v", counts)
	}
	for status, count := range counts {
		if got := metric(t, p, fmt.Sprintf("footfall_agent_jobs{status=%q}", status)); got != float64(count) {
			t.Errorf("%v jobs are counted as %s, listed are %d", got, status, count)
		}
	}
	if got := metric(t, p, `footfall_agent_runs_total{outcome="cancelled"}`); got != float64(counts[agentjobs.Failed]) {
		t.Errorf("%v runs are counted as cancelled, listed are %d", got, counts[agentjobs.Failed])
	}
	if got := metric(t, p, "footfall_agent_queue_depth"); got != 0 {
		t.Errorf("%v jobs wait", got)
	}
	t.Logf("of the server's memory %.0f MiB were resident before and %.0f MiB are now; the jobs are %v",
		before/(1<<20), metric(t, p, "process_resident_memory_bytes")/(1<<20), counts)
	p.stop(t)
}

func (s *stage) page(p *process, status string, offset int) (page agentjobs.Page) {
	s.t.Helper()
	path := fmt.Sprintf("/jobs?limit=250&offset=%d", offset)
	if status != "" {
		path += "&status=" + status
	}
	code, answer := s.do(p, http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(answer), &page); code != http.StatusOK || err != nil {
		s.t.Fatalf("status %d: %s (%v)", code, answer, err)
	}
	return page
}
