package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/forgehost"
)

// moment holds a run up somewhere and returns what waits until it is there.
type moment func(s *stage) (wait func(p *process))

// inGit is where a request to the git host has a path and query that end in a text.
func inGit(suffix string) moment {
	return func(s *stage) func(*process) {
		reached := make(chan struct{})
		var once sync.Once
		s.git.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.RequestURI(), suffix) {
				return false
			}
			once.Do(func() { close(reached) })
			// A server sees that a client is gone only after it has read the body.
			<-s.t.Context().Done()
			return true
		})
		return func(p *process) {
			s.t.Helper()
			select {
			case <-reached:
			case <-time.After(patience):
				s.t.Fatalf("git did not ask for %s in time:\n%s", suffix, p.log)
			}
		}
	}
}

// inForge is where the forge leaves a request for pull requests without an answer.
func inForge(method string, done bool) moment {
	return func(s *stage) func(*process) {
		s.forge.Inject(forgehost.Answer{Method: method, Path: "/pulls", Times: 1, Hang: true, Done: done})
		return func(p *process) {
			s.t.Helper()
			until(s.t, "the forge is asked", func() bool {
				for _, r := range s.forge.Requests() {
					if r.Method == method && strings.HasSuffix(r.Path, "/pulls") {
						return !done || len(s.forge.Pulls()) > 0
					}
				}
				return false
			})
		}
	}
}

// inAgent is where the agent asks the model.
func inAgent(s *stage) func(*process) {
	return func(p *process) { s.t.Helper(); s.held.await(s.t, "agent", p) }
}

// kill kills the server and waits for what it started.
func (s *stage) kill(p *process) (started []other) {
	s.t.Helper()
	started = below(s.t, p.cmd.Process.Pid)
	p.kill(s.t)
	gone(s.t, started)
	s.git.Intercept(nil)
	return started
}

// The service is killed wherever a run can be. The next start takes the job up, and it
// ends with one commit and one pull request.
func TestAgentKill(t *testing.T) {
	for name, c := range map[string]struct {
		at      moment
		started int // processes that the service has then, at least
	}{
		"clone":                   {inGit("/info/refs?service=git-upload-pack"), 1},
		"fetch":                   {inGit("/git-upload-pack"), 1},
		"agent":                   {inAgent, 2},
		"push":                    {inGit("/info/refs?service=git-receive-pack"), 1},
		"push of the commit":      {inGit("/git-receive-pack"), 1},
		"look for a pull request": {inForge(http.MethodGet, false), 0},
		"pull request":            {inForge(http.MethodPost, false), 0},
		"answer of the forge":     {inForge(http.MethodPost, true), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			wait := c.at(s)
			if name != "agent" {
				s.held.release("agent")
			}
			p := s.serve()
			job := s.post(p, "write docs/lost.md x", "model hold agent", "delete docs/lost.md", "write docs/new.md hello")
			wait(p)
			if started := s.kill(p); len(started) < c.started {
				t.Errorf("the service had started %v", started)
			}
			s.held.release("agent")

			p = s.serve()
			s.once(s.await(p, job.ID), 1)
			if files := strings.Join(s.git.Files(docsRepository, job.Source.Ref), " "); strings.Contains(files, "lost") || !strings.Contains(files, "docs/new.md") {
				t.Errorf("the branch has %s", files)
			}
			p.stop(t)
			if left := strings.Join(s.leftovers(), " "); left != job.ID {
				t.Errorf("left are %s", left)
			}
		})
	}
}

// A run that is killed twice has failed, whether or not it had committed.
func TestAgentKillTwice(t *testing.T) {
	for name, at := range map[string]moment{"agent": inAgent, "push": inGit("/info/refs?service=git-receive-pack")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if name != "agent" {
				s.held.release("agent")
			}
			canary := canary()
			var job agentjobs.Job
			for round := range 2 {
				wait := at(s)
				p := s.serve()
				if round == 0 {
					job = s.post(p, "write docs/new.md hello", "shell [ -e $HOME/first ] || { touch $HOME/first; sleep "+canary+" >/dev/null 2>&1 & }", "model hold agent")
					s.message(p, job.ID, "say this waits")
				}
				wait(p)
				if round == 0 && name == "agent" && len(withArgument(t, canary)) != 1 {
					t.Error("the agent started nothing")
				}
				s.kill(p)
				if name == "agent" {
					s.held = newHeldAfter(t, s.held)
				}
			}
			p := s.serve()
			j := s.await(p, job.ID)
			if j.Status != agentjobs.Failed || j.FailureReason == nil || *j.FailureReason != "interrupted" || j.PRLink != nil {
				t.Errorf("the job is %+v", j)
			}
			if pulls, branches := s.forge.Pulls(), s.git.Branches(docsRepository); len(pulls) > 0 || len(branches) != 1 {
				t.Errorf("there are %v and %v", pulls, branches)
			}
			if got := metric(t, p, `footfall_agent_runs_total{outcome="interrupted"}`); got != 1 {
				t.Errorf("%v runs are counted as interrupted", got)
			}
			// It is no dead end: another message runs.
			s.held.release("agent")
			s.message(p, job.ID, "write docs/new.md again")
			s.once(s.await(p, job.ID), 1)
			p.stop(t)
		})
	}
}

// newHeldAfter replaces gates that somebody was at.
func newHeldAfter(t *testing.T, old *held) *held {
	old.end()
	h := newHeld()
	t.Cleanup(h.end)
	return h
}

// What is queued when the service is killed, and what waits in a job, runs after it.
func TestAgentKillWithQueue(t *testing.T) {
	s := newStage(t)
	p := s.serve("--agent-runs", "1")
	busy := s.post(p, "model hold agent", "write docs/0.md x")
	for n := range 3 {
		s.message(p, busy.ID, fmt.Sprintf("write docs/%d.md x", n+1))
	}
	var queued []agentjobs.Job
	for range 3 {
		queued = append(queued, s.post(p, "write docs/new.md hello"))
	}
	s.held.await(t, "agent", p)
	if got := metric(t, p, "footfall_agent_queue_depth"); got != 3 {
		t.Errorf("%v jobs are queued", got)
	}
	s.kill(p)
	s.held.release("agent")
	p = s.serve()
	s.once(s.await(p, busy.ID), 4)
	for _, j := range queued {
		s.once(s.await(p, j.ID), 1)
	}
	if j := s.job(p, busy.ID); j.Messages != 4 || j.DiffStat.Files != 4 {
		t.Errorf("the job with messages is %+v", j)
	}
	p.stop(t)
}

// A working copy whose removal was cut off is removed by the next start; so is what a
// check left.
func TestAgentKillRemoval(t *testing.T) {
	s := newStage(t)
	p := s.serve()
	job := s.post(p, "write docs/new.md hello", "shell mkdir $HOME/many && cd $HOME/many && seq 30000 | xargs touch && mkdir locked && touch locked/x && chmod 0 locked")
	s.once(s.await(p, job.ID), 1)
	if j := s.want(p, http.StatusOK, http.MethodPost, "/job/"+job.ID+"/archive", ""); j.Status != agentjobs.Archived {
		t.Errorf("the job is %+v", j)
	}
	p.kill(t)
	t.Logf("the kill left %v", s.leftovers())
	p = s.serve()
	until(t, "the start has removed what was left", func() bool { return len(s.leftovers()) == 0 })
	if j := s.job(p, job.ID); j.Status != agentjobs.Archived || j.ArchivedAt == nil {
		t.Errorf("the job is %+v", j)
	}

	wait := inGit("/git-upload-pack")(s)
	check, _ := s.running("check")
	wait(p)
	s.kill(p)
	check.wait(t, errStatus1)
	if left := s.leftovers(); len(left) == 0 {
		t.Error("the check had no directory")
	}
	p = s.serve()
	until(t, "the start has removed what the check left", func() bool { return len(s.leftovers()) == 0 })
	p.stop(t)
}

// TestAgentKillAnywhere kills the service at random moments of a run, again in the run
// of a follow-up. FOOTFALL_ROUNDS sets the number of rounds.
func TestAgentKillAnywhere(t *testing.T) {
	s := newStage(t)
	n := rounds(t, 4)
	random := rand.New(rand.NewPCG(5, uint64(n)))
	p := s.serve()
	began := time.Now()
	s.once(s.await(p, s.post(p, "write docs/new.md hello").ID), 1)
	took := time.Since(began)
	for round := range n {
		job := s.post(p, "write docs/new.md hello")
		for commits := 1; commits <= 2; commits++ {
			if commits == 2 {
				s.message(p, job.ID, "write docs/more.md more")
			}
			<-time.After(time.Duration(random.Int64N(int64(took))))
			s.kill(p)
			p = s.serve()
			s.once(s.await(p, job.ID), commits)
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	p.stop(t)
}

// A command that runs a job by itself is killed as a server is.
func TestAgentKillCommand(t *testing.T) {
	s := newStage(t)
	canary := canary()
	p, _ := s.running("run", "shell sleep "+canary+" >/dev/null 2>&1 & true\nmodel hold agent\nwrite docs/new.md hello")
	id := p.log.find(t, `Job (\S+)`, p.done)[1]
	s.held.await(t, "agent", p)
	if len(withArgument(t, canary)) != 1 {
		t.Error("the agent started nothing")
	}
	s.kill(p)
	s.held.release("agent")
	if j := jobOf(t, first(s.agentCommand("show", id))); j.Status != agentjobs.Active {
		t.Errorf("the job is %+v", j)
	}
	server := s.serve()
	s.once(s.await(server, id), 1)
	server.stop(t)
}
