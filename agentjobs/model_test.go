package agentjobs_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"footfall/agentjobs"
)

// modelJob is what a job is to be, by the table of states alone.
type modelJob struct {
	status   agentjobs.Status
	messages uint32
	waiting  []uint32 // the messages that run or wait
}

// modelled compares a service with the model, step by step.
type modelled struct {
	*rapid.T
	b    *bench
	jobs map[string]*modelJob
}

// send posts a message that works until it is let go on, and then fails or not.
func (m *modelled) send(path string, number uint32) answer {
	end := "say done"
	if m.fails(number) {
		end = "fail on purpose"
	}
	return m.b.do(http.MethodPost, path, prompt(fmt.Sprintf("shell until test -e $HOME/go-%d; do sleep 0.01; done\n%s", number, end)))
}

// fails says of a message by its number whether its run is to fail.
func (m *modelled) fails(number uint32) bool { return number%3 == 2 }

// pick draws one of the jobs that there are.
func (m *modelled) pick() (string, *modelJob) {
	if len(m.jobs) == 0 {
		m.Skip("there is no job")
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.jobs))).Draw(m.T, "job")
	return id, m.jobs[id]
}

func (m *modelled) expect(a answer, status int) {
	if a.status != status {
		m.Fatalf("status %d, want %d: %s", a.status, status, a.text)
	}
}

func (m *modelled) create(*rapid.T) {
	if len(m.jobs) == 4 {
		m.Skip("there are enough")
	}
	a := m.send("/job", 0)
	m.jobs[m.b.want(a, http.StatusCreated).ID] = &modelJob{status: agentjobs.Active, messages: 1, waiting: []uint32{0}}
}

func (m *modelled) message(*rapid.T) {
	id, j := m.pick()
	a := m.send("/job/"+id+"/message", j.messages)
	if j.status == agentjobs.Archived {
		m.expect(a, http.StatusConflict)
		return
	}
	m.expect(a, http.StatusOK)
	j.status = agentjobs.Active
	j.waiting = append(j.waiting, j.messages)
	j.messages++
}

func (m *modelled) cancel(*rapid.T) {
	id, j := m.pick()
	m.expect(m.b.do(http.MethodPost, "/job/"+id+"/cancel", ""), http.StatusOK)
	if j.status == agentjobs.Active {
		j.status, j.waiting = agentjobs.Failed, nil
	}
}

func (m *modelled) archive(*rapid.T) {
	id, j := m.pick()
	a := m.b.do(http.MethodPost, "/job/"+id+"/archive", "")
	if j.status == agentjobs.Active {
		m.expect(a, http.StatusConflict)
		return
	}
	m.expect(a, http.StatusOK)
	j.status = agentjobs.Archived
}

// finish lets the message of a job that runs, or runs next, go on to its end.
func (m *modelled) finish(*rapid.T) {
	id, j := m.pick()
	if j.status != agentjobs.Active {
		m.Skip("it does not run")
	}
	number := j.waiting[0]
	home := filepath.Join(m.b.options.Dir, id, "home")
	m.b.until("the run has begun", func() bool { return m.b.said(id, fmt.Sprintf("The run begins: message %d ", number+1)) })
	if err := os.MkdirAll(home, 0o700); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, fmt.Sprintf("go-%d", number)), nil, 0o600); err != nil {
		m.Fatal(err)
	}
	switch j.waiting = j.waiting[1:]; {
	case m.fails(number):
		j.status, j.waiting = agentjobs.Failed, nil
	case len(j.waiting) == 0:
		j.status = agentjobs.Completed
	default:
		m.b.until("the next run begins", func() bool { return m.b.said(id, fmt.Sprintf("The run begins: message %d ", j.waiting[0]+1)) })
		return
	}
	m.b.until("the run ends", func() bool { return m.b.job(id).Status == j.status })
}

// check compares all jobs with the model.
func (m *modelled) check(*rapid.T) {
	page := m.b.page(m.b.do(http.MethodGet, "/jobs?limit=250", ""))
	for _, is := range page.Jobs {
		want, ours := m.jobs[is.ID]
		if !ours {
			continue // of an earlier sequence
		}
		if is.Status != want.status || is.Messages != want.messages {
			m.Fatalf("job %s is %s with %d messages, want %+v", is.ID, is.Status, is.Messages, *want)
		}
		m.b.holds(is)
		running := false
		for _, l := range m.b.lines(is.ID) {
			begins := strings.HasPrefix(l.Text, "The run begins")
			ends := strings.HasPrefix(l.Text, "The run failed") || strings.HasPrefix(l.Text, "The run ended")
			if begins && running { // One that is cancelled early ends without having begun.
				m.Fatalf("two runs of job %s at once: %+v", is.ID, m.b.lines(is.ID))
			}
			running = begins || running && !ends
		}
	}
	if m.b.t.Failed() {
		m.FailNow()
	}
}

// Whatever clients do in whatever order, jobs are as the table of states has it.
func TestSequences(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		// A sequence takes seconds, and not the microseconds that the default is for.
		if err := flag.Set("rapid.checks", "4"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set("rapid.checks", checks.DefValue) }) // It was valid before.
	}
	b := newBench(t, func(o *agentjobs.Options) { o.Concurrent, o.RunsPerHour = 4, 1_000_000 })
	rapid.Check(t, func(rt *rapid.T) {
		m := &modelled{T: rt, b: b, jobs: make(map[string]*modelJob)}
		rt.Repeat(map[string]func(*rapid.T){
			"create": m.create, "message": m.message, "cancel": m.cancel, "archive": m.archive, "finish": m.finish, "": m.check,
		})
		for id := range m.jobs { // They would hold up those of the next sequence.
			b.do(http.MethodPost, "/job/"+id+"/cancel", "")
		}
	})
}
