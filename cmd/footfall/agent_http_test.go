package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs"
)

// watching is a stream of a job's log that is open.
type watching struct {
	response *http.Response
	events   *bufio.Scanner
}

func (s *stage) watch(p *process, id string) *watching {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, p.url+"/v2/agent/docs/job/"+id+"/log", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("status %d, %v", response.StatusCode, response.Header)
	}
	return &watching{response: response, events: bufio.NewScanner(response.Body)}
}

// next returns the type and the data of the next event; nothing at the end.
func (w *watching) next(t *testing.T) (kind, data string) {
	t.Helper()
	for w.events.Scan() {
		switch name, value, _ := strings.Cut(w.events.Text(), ": "); name {
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			if data != "" {
				return kind, data
			}
		}
	}
	if err := w.events.Err(); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	return "", ""
}

// One whole job over HTTP, and who may not see it.
func TestAgentOverHTTP(t *testing.T) {
	s := newStage(t)
	must(t, "project", "create", "other", "--data", s.data)
	foreign := strings.TrimSpace(must(t, "key", "create", "--data", s.data, "--project", "other", "--scope", "admin"))
	reading := strings.TrimSpace(must(t, "key", "create", "--data", s.data, "--project", "docs", "--scope", "read"))
	p := s.serve()
	made := s.post(p, "write docs/new.md hello")
	if made.Status != agentjobs.Active || made.PRLink != nil {
		t.Errorf("a new job is %+v", made)
	}
	done := s.await(p, made.ID)
	s.once(done, 1)
	s.message(p, made.ID, "write docs/more.md more")
	done = s.await(p, made.ID)
	s.once(done, 2)
	if !strings.Contains(s.log(p, made.ID), *done.PRLink) {
		t.Error("the log does not name the pull request")
	}

	for name, c := range map[string]struct {
		key, project string
		want         int
	}{
		"no key":                    {"", "docs", http.StatusUnauthorized},
		"wrong key":                 {"ff_wrong", "docs", http.StatusUnauthorized},
		"key that may read":         {reading, "docs", http.StatusForbidden},
		"key of another project":    {foreign, "docs", http.StatusForbidden},
		"job of another project":    {foreign, "other", http.StatusNotFound},
		"the project's own key":     {s.key, "docs", http.StatusOK},
		"project that is not there": {s.key, "none", http.StatusForbidden},
	} {
		status, answer := request(t, http.MethodGet, p.url+"/v2/agent/"+c.project+"/job/"+made.ID, c.key, nil)
		if status != c.want {
			t.Errorf("%s: status %d, want %d: %s", name, status, c.want, answer)
		}
	}
	status, answer := request(t, http.MethodPost, p.url+"/v2/agent/other/job", foreign, strings.NewReader(promptBody(t, "say x")))
	if status != http.StatusBadRequest || !strings.Contains(answer, "footfall agent settings") {
		t.Errorf("without a repository: status %d: %s", status, answer)
	}
	for range 2 {
		j := s.want(p, http.StatusOK, http.MethodPost, "/job/"+made.ID+"/archive", "")
		if j.Status != agentjobs.Archived || j.ArchivedAt == nil || *j.PRLink != *done.PRLink {
			t.Errorf("archived it is %+v", j)
		}
	}
	if status, answer := s.do(p, http.MethodPost, "/job/"+made.ID+"/message", promptBody(t, "say x")); status != http.StatusConflict {
		t.Errorf("a message to an archived job: status %d: %s", status, answer)
	}
	until(t, "the working copy is removed", func() bool { return len(s.leftovers()) == 0 })
	p.stop(t)
}

// A stream outlives the time that other answers have.
func TestAgentStreamOutlivesWriteTimeout(t *testing.T) {
	s := newStage(t)
	p := s.serve("--write-timeout", "1s")
	var lines []string
	for range 10 {
		lines = append(lines, "say tick", "run sleep 0.3")
	}
	began := time.Now()
	job := s.post(p, append(lines, "write docs/new.md hello")...)
	w := s.watch(p, job.ID)
	ticks, last := 0, ""
	var first time.Duration
	for {
		kind, data := w.next(t)
		if kind == "job" {
			last = data
		}
		if data == "" {
			break
		}
		var line agentjobs.Line
		if err := json.Unmarshal([]byte(data), &line); err != nil {
			t.Fatal(err)
		}
		if line.Text == "tick" {
			if ticks++; ticks == 1 {
				first = time.Since(began)
			}
		}
	}
	if took := time.Since(began); took < 3*time.Second || first > took-2*time.Second {
		t.Errorf("the stream took %v, its first line came after %v", took, first)
	}
	if ticks != 10 || last == "" {
		t.Fatalf("%d of 10 messages came, and at the end %q", ticks, last)
	}
	s.once(jobOf(t, last), 1)
	p.stop(t)
}

// A server that stops does not wait for who follows a log, nor for the agent.
func TestAgentStreamAtStop(t *testing.T) {
	s := newStage(t)
	p := s.serve()
	job := s.post(p, "say hello", "model hold agent", "write docs/new.md hello")
	w := s.watch(p, job.ID)
	s.held.await(t, "agent", p)
	command, out := s.running("run", "say another\nmodel hold agent")
	out.find(t, "another", command.done)
	began := time.Now()
	p.stop(t)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the server took %v to stop", took)
	}
	if strings.Contains(p.log.String(), "cut off") {
		t.Errorf("the server said %s", p.log)
	}
	for {
		kind, data := w.next(t)
		if kind == "job" {
			t.Errorf("the stream ended with %s", data)
		}
		if data == "" {
			break
		}
	}
	command.wait(t, errStatus1)
	s.held.release("agent")
	p = s.serve()
	s.once(s.await(p, job.ID), 1)
	p.stop(t)
}

// A server that stops does not wait for a check, which takes as long as the model.
func TestAgentCheckAtStop(t *testing.T) {
	s := newStage(t)
	wait := inGit("/git-upload-pack")(s)
	p := s.serve()
	check, _ := s.running("check")
	wait(p)
	began := time.Now()
	p.terminate(t)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the server took %v to stop", took)
	}
	check.wait(t, errStatus1)
	if left := s.leftovers(); len(left) > 0 {
		t.Errorf("the check left %v", left)
	}
}

// A project goes with its jobs, also with one that runs.
func TestAgentProjectDeleted(t *testing.T) {
	s := newStage(t)
	canary := canary()
	p := s.serve("--agent-runs", "1")
	running := s.post(p, "shell sleep "+canary+" >/dev/null 2>&1 & true", "model hold agent", "write docs/new.md hello")
	s.post(p, "write docs/new.md hello")
	w := s.watch(p, running.ID)
	s.held.await(t, "agent", p)
	if len(withArgument(t, canary)) == 0 {
		t.Error("the agent started nothing")
	}
	must(t, "project", "delete", "docs", "--yes", "--data", s.data)
	deleted := time.Now()
	if left := withArgument(t, canary); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	for _, data := w.next(t); data != ""; _, data = w.next(t) {
		if strings.Contains(data, "Pull request") {
			t.Errorf("the log says %s", data)
		}
	}
	if took := time.Since(deleted); took > 10*time.Second {
		t.Errorf("the stream went on for %v", took)
	}
	until(t, "the working copies are removed", func() bool { return len(s.leftovers()) == 0 })
	if len(s.forge.Pulls()) > 0 || len(s.git.Branches(docsRepository)) != 1 {
		t.Error("a job went on")
	}
	for _, status := range []string{"active", "failed", "completed", "archived"} {
		if got := metric(t, p, `footfall_agent_jobs{status="`+status+`"}`); got != 0 {
			t.Errorf("%v jobs are %s", got, status)
		}
	}
	if got := metric(t, p, "footfall_agent_queue_depth"); got != 0 {
		t.Errorf("%v jobs wait", got)
	}
	s.held.release("agent")
	// Another one of the same name begins with nothing.
	s.key = newDocs(t, s.data)
	if status, answer := s.do(p, http.MethodGet, "/jobs", ""); status != http.StatusOK || !strings.Contains(answer, `"jobs":[]`) {
		t.Errorf("status %d: %s", status, answer)
	}
	if _, said, code := s.agentCommand("settings"); code != 1 || !strings.Contains(said, "no settings") {
		t.Errorf("the settings: %s", said)
	}
	p.stop(t)
	p = s.serve()
	if status, answer := s.do(p, http.MethodGet, "/jobs", ""); status != http.StatusOK || !strings.Contains(answer, `"jobs":[]`) {
		t.Errorf("status %d: %s", status, answer)
	}
	p.stop(t)
}
