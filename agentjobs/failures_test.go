package agentjobs_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/sandbox"
)

// failure is a run that must not end well.
type failure struct {
	prompt  string                    // else a change that would be pushed
	options func(*agentjobs.Options)  // may be nil
	setup   func(*bench)              // may be nil
	set     func(*agentjobs.Settings) // may be nil
	says    []string                  // what the reason holds
	pushed  bool                      // the branch was pushed before the failure
}

func forgeAnswers(method string, status int, body string) func(*bench) {
	return func(b *bench) { b.forge.Inject(forgehost.Answer{Method: method, Status: status, Body: body}) }
}

func agentArgv(t *testing.T, argv ...string) func(*agentjobs.Settings) {
	t.Helper()
	text, err := json.Marshal(argv)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *agentjobs.Settings) { s.Agent = string(text) }
}

func limits(l sandbox.Limits) func(*agentjobs.Options) {
	return func(o *agentjobs.Options) {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		if o.Sandbox, err = sandbox.New(sandbox.Options{Mode: sandbox.Bubblewrap, Self: self, Limits: l}); err != nil {
			panic(err)
		}
	}
}

func short(o *agentjobs.Options) { o.IdleTimeout = 300 * time.Millisecond }

func failures(t *testing.T) map[string]failure {
	t.Helper()
	return map[string]failure{
		// The forge. What it quotes may hold what it was sent.
		"forge 401": {setup: forgeAnswers(http.MethodPost, 401, `{"message":"Bad credentials `+forgeToken+`"}`), says: []string{"token"}, pushed: true},
		"forge 403": {setup: forgeAnswers(http.MethodPost, 403, `{"message":"Resource not accessible with `+forgeToken+`"}`), says: []string{"token", "pull requests"}, pushed: true},
		"forge 404": {setup: forgeAnswers("", 404, `{"message":"Not Found"}`), says: []string{"no repository " + repository}, pushed: true},
		"forge 422": {setup: forgeAnswers(http.MethodPost, 422, `{"message":"Validation Failed","errors":[{"message":"not today, `+forgeToken+`"}]}`), says: []string{"refuses", "not today"}, pushed: true},
		"forge 500": {setup: forgeAnswers("", 500, `{"message":"`+forgeToken+`"}`), says: []string{"fault of its own", "500"}, pushed: true},

		// The repository.
		"push refused": {setup: func(b *bench) { b.git.Refuse(repository, "protected, says "+forgeToken) }, says: []string{"rejected the push"}},
		"repository gone": {set: func(s *agentjobs.Settings) {
			s.Repository = strings.Replace(s.Repository, repository, "example/gone", 1)
		},
			says: []string{"repository", "not found"}},
		"branch gone": {set: func(s *agentjobs.Settings) { s.Ref = "gone" }, says: []string{"branch", "not found"}},
		"repository moved": {setup: func(b *bench) {
			b.git.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "https://elsewhere.example.org"+r.URL.Path, http.StatusMovedPermanently)
				return true
			})
		}, says: []string{"another address"}},
		"repository broken": {setup: func(b *bench) {
			b.git.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, "down, "+forgeToken, http.StatusBadGateway)
				return true
			})
		}, says: []string{"can not be reached"}},
		"wrong token": {setup: func(b *bench) { b.secret("token", "another-token") }, says: []string{"refuses access"}},

		// Secrets.
		"token readable by others": {setup: func(b *bench) { b.chmod("token", 0o644) }, says: []string{"--forge-token-file", "can not be read"}},
		"no token":                 {setup: func(b *bench) { b.remove("token") }, says: []string{"--forge-token-file"}},
		"no model key":             {setup: func(b *bench) { b.remove("key") }, says: []string{"--model-key-file"}},
		"model key empty":          {setup: func(b *bench) { b.secret("key", "") }, says: []string{"--model-key-file"}},

		// The agent.
		"agent fails":          {prompt: "write docs/new.md x\nfail on purpose", says: []string{"the agent failed", "on purpose"}},
		"agent exits":          {prompt: "write docs/new.md x\nexit 0", says: []string{"ended before it answered"}},
		"agent exits badly":    {prompt: "write docs/new.md x\nexit 3", says: []string{"ended before it answered"}},
		"agent refuses":        {prompt: "write docs/new.md x\nrefuse", says: []string{"refused"}},
		"agent out of tokens":  {prompt: "write docs/new.md x\nstop max_tokens", says: []string{"token limit"}},
		"agent at an end":      {prompt: "write docs/new.md x\nstop max_turn_requests", says: []string{"model requests"}},
		"agent cancels itself": {prompt: "write docs/new.md x\nstop cancelled", says: []string{"stopped before"}},
		"agent goes silent":    {prompt: "write docs/new.md x\nwait-cancel", options: short, says: []string{"silent"}},
		"agent never ends": {prompt: "write docs/new.md x\n" + strings.Repeat("shell sleep 0.2\n", 1000),
			options: func(o *agentjobs.Options) { o.RunTimeout = 2 * time.Second }, says: []string{"longer than it may"}},
		"agent writes 1 GB":     {prompt: "write docs/new.md x\nstdout-bytes 1073741824", says: []string{"wrote too much"}},
		"agent writes one line": {prompt: "write docs/new.md x\nlong-line 1073741824", says: []string{"wrote too much"}},
		"agent fills the disk": {prompt: "write docs/new.md x\nshell head -c 1G /dev/zero > docs/large.md\nshell sleep 60", says: []string{"disk", "allowed"},
			options: limits(sandbox.Limits{DiskBytes: 16 << 20})},
		"agent without protocol": {set: agentArgv(t, "/bin/echo", "hello"), says: []string{"agent"}},
		"agent speaks garbage":   {set: agentArgv(t, "/bin/sh", "-c", "echo '}{'; echo 1; exec cat /dev/zero"), says: []string{"agent"}},
		"agent is not there":     {set: agentArgv(t, "/nowhere/agent"), says: []string{"agent"}},
		"agent of the future":    {set: agentArgv(t, testAgent, "-protocol", "7"), says: []string{"session"}},
		"agent wants a login":    {set: agentArgv(t, testAgent, "-auth"), says: []string{"Authentication required"}},

		// What it leaves behind.
		"workflow":         {prompt: "write .github/workflows/evil.yml on: push", says: []string{".github/workflows/evil.yml", "continuous integration"}},
		"workflow changed": {prompt: "append .github/workflows/ci.yml steps", says: []string{".github/workflows/ci.yml", "continuous integration"}},
		"workflow deleted": {prompt: "delete .github", says: []string{".github", "continuous integration"}},
		"link out":         {prompt: "link docs/out /etc/passwd", says: []string{"docs/out", "link"}},
		"link up and out":  {prompt: "link docs/out ../../../x", says: []string{"docs/out", "link"}},
		".git planted":     {prompt: "write docs/new.md x\nwrite .git/config [core]", says: []string{".git"}},
		"nested .git":      {prompt: "write docs/new.md x\nwrite docs/sub/.git/config [filter]\nwrite docs/.gitattributes * filter=x", says: []string{"docs/sub/.git"}},
		"submodule":        {prompt: "write docs/new.md x\nwrite .gitmodules [submodule]", says: []string{".gitmodules"}},
		"outside": {prompt: "write docs/new.md x\nwrite README.md x", set: func(s *agentjobs.Settings) { s.DocsPath = "docs" },
			says: []string{"README.md", "docs"}},
	}
}

func (b *bench) chmod(name string, mode os.FileMode) {
	b.t.Helper()
	if err := os.Chmod(filepath.Join(b.dir, name), mode); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) remove(name string) {
	b.t.Helper()
	if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) tips() map[string]string {
	tips := make(map[string]string)
	for _, name := range b.git.Branches(repository) {
		tips[name] = b.git.Tip(repository, name)
	}
	return tips
}

// Whatever goes wrong, a job fails, says why, and pushes nothing; and nobody learns
// a secret.
func TestFailures(t *testing.T) {
	t.Parallel()
	places := make(chan struct{}, 2)
	for name, f := range failures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			t.Cleanup(func() { <-places })
			b := newBench(t, f.options)
			b.set(f.set)
			if f.setup != nil {
				f.setup(b)
			}
			if f.prompt == "" {
				f.prompt = "write docs/new.md hello"
			}
			before := b.tips()
			j := b.await(b.post(f.prompt).ID)
			if j.Status != agentjobs.Failed || j.PRLink != nil {
				t.Errorf("the job ended as %+v", j)
			}
			b.until("the run has ended", func() bool { return b.said(j.ID, "The run failed: ") })
			for _, text := range f.says {
				if !strings.Contains(reason(j), text) {
					t.Errorf("the reason does not hold %q: %s", text, reason(j))
				}
			}
			lines := b.do(http.MethodGet, "/job/"+j.ID+"/log", "").text
			for _, hidden := range []string{forgeToken, modelKey, "another-token", b.dir} {
				if strings.Contains(reason(j)+lines, hidden) {
					t.Errorf("the job tells %q: %s\n%s", hidden, reason(j), lines)
				}
			}
			if len(reason(j)) > 2000 || strings.Contains(reason(j), "internal error") {
				t.Errorf("nobody understands %q", reason(j))
			}
			after := b.tips()
			if f.pushed {
				delete(after, j.Source.Ref)
			}
			if !maps.Equal(before, after) {
				t.Errorf("the branches were %v and are %v", before, after)
			}
			if len(b.forge.Pulls()) > 0 {
				t.Errorf("there are the pull requests %+v", b.forge.Pulls())
			}
		})
	}
}
