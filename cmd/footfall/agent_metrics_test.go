package main

import (
	"net/http"
	"testing"

	"footfall/agentjobs"
)

func TestAgentMetrics(t *testing.T) {
	s := newStage(t)
	p := s.serve("--agent-runs", "1")
	// The scripted model counts 10 tokens in and 5 out for each answer.
	job := s.post(p, "model one", "model two", "write docs/new.md hello")
	s.once(s.await(p, job.ID), 1)
	s.message(p, job.ID, "model three", "say nothing to do")
	s.once(s.await(p, job.ID), 1)
	if j := s.await(p, s.post(p, "http http://127.0.0.1:8484/elsewhere", "fail on purpose").ID); j.Status != agentjobs.Failed {
		t.Errorf("the job is %+v", j)
	}
	cancelled := s.post(p, "model hold agent")
	waiting := s.post(p, "say waits")
	s.held.await(t, "agent", p)
	want := func(values map[string]float64) {
		t.Helper()
		for name, value := range values {
			if got := metric(t, p, "footfall_agent_"+name); got != value {
				t.Errorf("%s is %v, want %v", name, got, value)
			}
		}
	}
	want(map[string]float64{
		`jobs{status="active"}`: 2, `jobs{status="completed"}`: 1, `jobs{status="failed"}`: 1,
		"queue_depth": 1, "wait_seconds_count": 4, "run_duration_seconds_count": 3,
		`tokens_total{direction="input"}`: 30, `tokens_total{direction="output"}`: 15,
		`model_requests_total{result="passed"}`: 3, `model_requests_total{result="refused"}`: 1,
	})
	if j := s.want(p, http.StatusOK, http.MethodPost, "/job/"+cancelled.ID+"/cancel", ""); j.Status != agentjobs.Failed {
		t.Errorf("the job is %+v", j)
	}
	s.held.release("agent")
	if j := s.await(p, waiting.ID); j.Status != agentjobs.Completed || j.PRLink != nil {
		t.Errorf("the job is %+v", j)
	}
	s.want(p, http.StatusOK, http.MethodPost, "/job/"+waiting.ID+"/archive", "")
	until(t, "nothing runs", func() bool { return metric(t, p, "footfall_agent_run_duration_seconds_count") == 4 })
	want(map[string]float64{
		`jobs{status="active"}`: 0, `jobs{status="completed"}`: 1, `jobs{status="failed"}`: 2, `jobs{status="archived"}`: 1,
		`runs_total{outcome="completed"}`: 3, `runs_total{outcome="failed"}`: 1, `runs_total{outcome="cancelled"}`: 1,
		"queue_depth": 0, "wait_seconds_count": 5,
	})
	if got := metric(t, p, "footfall_agent_run_duration_seconds_sum"); got <= 0 || got > 4*patience.Seconds() {
		t.Errorf("the runs took %v seconds", got)
	}
	p.stop(t)
	// What is kept is counted again by the next start.
	p = s.serve()
	want(map[string]float64{
		`jobs{status="active"}`: 0, `jobs{status="completed"}`: 1, `jobs{status="failed"}`: 2, `jobs{status="archived"}`: 1, "queue_depth": 0,
	})
	p.stop(t)
}
