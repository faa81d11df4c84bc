package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/agenttest/githost"
	"footfall/agentjobs/agenttest/model"
)

const (
	docsRepository = "example/docs"
	scriptedModel  = "scripted-1"
)

// testAgent is agenttest/acpagent as a program, made at its first use.
var testAgent = sync.OnceValues(func() (string, error) {
	name := filepath.Join(filepath.Dir(binary), "acpagent")
	build := exec.Command("go", "build", "-o", name, "../../agentjobs/agenttest/acpagent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the test agent: %w\n%s", err, out)
	}
	return name, nil
})

// stage is a data directory with everything around it that agent jobs talk to.
type stage struct {
	t          *testing.T
	data, key  string
	secrets    string // directory of the files that hold the secrets
	forgeToken string
	modelKey   string
	agent      string // path of the test agent

	git   *githost.Host
	forge *forgehost.Host
	model *model.Server
	held  *held
}

// newStage makes a data directory whose project docs has settings that work.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := newBareStage(t)
	p := s.serve()
	s.set()
	p.stop(t)
	return s
}

// newBareStage makes one whose project has no settings.
func newBareStage(t *testing.T) *stage {
	t.Helper()
	agent, err := testAgent()
	if err != nil {
		t.Fatal(err)
	}
	// The secrets are new each time, so that no other process can hold them by chance.
	s := &stage{
		t: t, data: t.TempDir(), secrets: t.TempDir(), agent: agent,
		forgeToken: "forge-" + rand.Text(), modelKey: "model-" + rand.Text(), held: newHeld(),
	}
	s.git = githost.Start(t, githost.Options{Token: s.forgeToken})
	s.git.Create(docsRepository, map[string]string{
		"docs/index.md":            "# Docs\n",
		"README.md":                "A repository.\n",
		".github/workflows/ci.yml": "on: push\n",
	})
	s.forge = forgehost.Start(t, forgehost.Options{Token: s.forgeToken, Branches: func(string) map[string]string {
		tips := make(map[string]string)
		for _, name := range s.git.Branches(docsRepository) {
			tips[name] = s.git.Tip(docsRepository, name)
		}
		return tips
	}})
	s.model = model.Start(t, s.script, model.RequireKey(s.modelKey), model.Models(scriptedModel))
	t.Cleanup(s.held.end) // The model waits for what it is asked.
	s.secret("token", s.forgeToken)
	s.secret("key", s.modelKey)
	s.key = newDocs(t, s.data)
	return s
}

func (s *stage) secret(name, text string) string {
	s.t.Helper()
	name = filepath.Join(s.secrets, name)
	if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// serve starts a server that takes what is on this machine.
func (s *stage) serve(args ...string) *process {
	s.t.Helper()
	return serve(s.t, s.data, append([]string{"--agent-insecure"}, args...)...)
}

// settings are the arguments that set what works, and others behind them.
func (s *stage) settings(others ...string) []string {
	argv, err := json.Marshal([]string{s.agent})
	if err != nil {
		s.t.Fatal(err)
	}
	return append([]string{
		"agent", "settings", "--data", s.data, "--project", "docs",
		"--repo", s.git.URL(docsRepository), "--forge-url", s.forge.APIURL, "--forge-token-file", filepath.Join(s.secrets, "token"),
		"--agent", string(argv), "--model", scriptedModel, "--model-url", s.model.URL + "/v1", "--model-key-file", filepath.Join(s.secrets, "key"),
	}, others...)
}

// set sets settings that work, or others. A server with --agent-insecure runs.
func (s *stage) set(others ...string) {
	s.t.Helper()
	must(s.t, s.settings(others...)...)
}

// do sends a request to a server's path of the project's agent jobs.
func (s *stage) do(p *process, method, path, body string) (status int, answer string) {
	s.t.Helper()
	return request(s.t, method, p.url+"/v2/agent/docs"+path, s.key, strings.NewReader(body))
}

func (s *stage) want(p *process, want int, method, path, body string) agentjobs.Job {
	s.t.Helper()
	status, answer := s.do(p, method, path, body)
	if status != want {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, status, want, answer)
	}
	return jobOf(s.t, answer)
}

func jobOf(t *testing.T, text string) (j agentjobs.Job) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&j); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return j
}

func promptBody(t *testing.T, text string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"prompt": text})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// post posts a job whose prompt has some lines.
func (s *stage) post(p *process, lines ...string) agentjobs.Job {
	s.t.Helper()
	return s.want(p, http.StatusCreated, http.MethodPost, "/job", promptBody(s.t, strings.Join(lines, "\n")))
}

func (s *stage) message(p *process, id string, lines ...string) agentjobs.Job {
	s.t.Helper()
	return s.want(p, http.StatusOK, http.MethodPost, "/job/"+id+"/message", promptBody(s.t, strings.Join(lines, "\n")))
}

func (s *stage) job(p *process, id string) agentjobs.Job {
	s.t.Helper()
	return s.want(p, http.StatusOK, http.MethodGet, "/job/"+id, "")
}

// await waits until a job is no longer active.
func (s *stage) await(p *process, id string) (j agentjobs.Job) {
	s.t.Helper()
	defer func() {
		if j.Status == agentjobs.Active { // It did not in time.
			s.t.Logf("job %s: %+v\n%s\nthe server:\n%s", id, j, s.log(p, id), p.log)
		}
	}()
	j.Status = agentjobs.Active
	until(s.t, "job "+id+" ends", func() bool {
		j = s.job(p, id)
		return j.Status != agentjobs.Active
	})
	return j
}

func (s *stage) log(p *process, id string) string {
	s.t.Helper()
	status, answer := s.do(p, http.MethodGet, "/job/"+id+"/log", "")
	if status != http.StatusOK {
		s.t.Fatalf("status %d: %s", status, answer)
	}
	return answer
}

// until waits for a condition of another process, for which nobody sends a signal.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	timeout := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-timeout:
			t.Fatalf("waited for %v until %s", patience, what)
		case <-tick.C:
		}
	}
}

// once checks that a job ended well with one pull request and so many commits, each
// of which is its own.
func (s *stage) once(j agentjobs.Job, commits int) {
	s.t.Helper()
	if j.Status != agentjobs.Completed || j.PRLink == nil {
		reason := ""
		if j.FailureReason != nil {
			reason = *j.FailureReason
		}
		s.t.Errorf("the job ended as %+v: %s", j, reason)
		return
	}
	pulls := 0
	for _, pull := range s.forge.Pulls() {
		if pull.Head == j.Source.Ref {
			pulls++
		}
	}
	if pulls != 1 {
		s.t.Errorf("branch %s has %d pull requests", j.Source.Ref, pulls)
	}
	log := s.git.Log(docsRepository, j.Source.Ref)
	if len(log) != commits+1 {
		s.t.Errorf("branch %s has the commits %+v, want %d and the first one", j.Source.Ref, log, commits)
	}
	for _, commit := range log[:len(log)-1] {
		if !strings.Contains(commit.Message, "Footfall-Job: "+j.ID) {
			s.t.Errorf("commit %q does not name the job", commit.Message)
		}
	}
}

// leftovers are what lies in the directory of working copies.
func (s *stage) leftovers() (names []string) {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.data, "agentjobs"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// metric returns the value of a metric with its labels; 0 where it is not there.
func metric(t *testing.T, p *process, name string) float64 {
	t.Helper()
	_, text := request(t, http.MethodGet, p.metrics+"/metrics", "", nil)
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); {
		if value, ok := strings.CutPrefix(scanner.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// errStatus1 is how a command ends that has failed.
var errStatus1 = errors.New("exit status 1")
