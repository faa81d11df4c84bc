package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"footfall/agentjobs"
)

// agentCommand runs a command of agent jobs to its end and returns what it wrote and
// its exit code.
func (s *stage) agentCommand(name string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	stdout, stderr, err := command(s.t, nil, append([]string{"agent", name, "--data", s.data, "--project", "docs"}, args...)...)
	return stdout, stderr, exitCode(s.t, err)
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err == nil {
		return 0
	}
	return exit.ExitCode()
}

// running starts a command of agent jobs that runs in the background, and returns what
// it writes to standard output; its standard error is the process's log.
func (s *stage) running(name string, args ...string) (*process, *lines) {
	s.t.Helper()
	cmd := exec.Command(binary, append([]string{"agent", name, "--data", s.data, "--project", "docs", "--agent-insecure"}, args...)...)
	out := &lines{changed: make(chan struct{})}
	cmd.Stdout = out
	return launch(s.t, cmd), out
}

func TestAgentSettings(t *testing.T) {
	s := newBareStage(t)
	refuse := func(args []string, want ...string) {
		t.Helper()
		_, faults, err := command(t, nil, args...)
		if code := exitCode(t, err); code != 1 {
			t.Errorf("%q exits with %d: %s", args, code, faults)
		}
		for _, text := range want {
			if !strings.Contains(faults, text) {
				t.Errorf("%q does not say %q: %s", args, text, faults)
			}
		}
	}
	base := []string{"agent", "settings", "--data", s.data, "--project", "docs"}
	with := func(args ...string) []string { return append(base[:len(base):len(base)], args...) }

	refuse(base, "no settings")
	refuse(with("--ref", "main"), "--repo", "--forge-token-file", "--model ", "--model-url")
	refuse([]string{"agent", "settings", "--data", s.data, "--project", "other"}, "other")
	refuse([]string{"agent", "settings", "--data", filepath.Join(s.data, "none"), "--project", "docs"}, "no data directory")
	// On this machine, without the flag for tests.
	refuse(s.settings(), "--repo", "--forge-url", "--model-url", "https")
	p := s.serve()
	refuse(s.settings("--repo", "https://user:"+s.forgeToken+"@example.com/a/b"), "--repo", "no user and no password")
	refuse(s.settings("--model-url", "https://key@example.com/v1"), "--model-url", "no user and no password")
	refuse(s.settings("--docs-path", "../x"), "--docs-path")
	refuse(s.settings("--agent", "two words"), "--agent")
	refuse(s.settings("--forge", "svn"), "--forge")
	refuse(s.settings("--ref", "-x"), "--ref")
	refuse(base, "no settings") // Nothing of these was kept.

	shown := must(t, s.settings("--docs-path", "docs", "--draft")...)
	if again := must(t, base...); again != shown {
		t.Errorf("set were %s, shown are %s", shown, again)
	}
	p.stop(t)
	if again := must(t, base...); again != shown {
		t.Errorf("after a stop shown are %s", again)
	}
	// A change leaves the rest; a relative path is the command's.
	public := with("--repo", "https://example.com/a/b.git", "--forge-url", "https://example.com/api", "--model-url", "https://example.com/v1")
	must(t, public...)
	cmd := exec.Command(binary, with("--forge-token-file", "token")...)
	cmd.Dir = s.secrets
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got agentjobs.Settings
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(got.ForgeTokenFile) || filepath.Base(got.ForgeTokenFile) != "token" || got.DocsPath != "docs" || !got.Draft ||
		got.Repository != "https://example.com/a/b.git" || got.Ref != "main" || got.Forge != "github" {
		t.Errorf("the settings are %+v", got)
	}
	if _, err := os.Stat(got.ForgeTokenFile); err != nil {
		t.Error(err)
	}
	if strings.Contains(shown+string(out), s.forgeToken) || strings.Contains(shown+string(out), s.modelKey) {
		t.Error("the settings show a secret")
	}
	if file, text := holdsAny(t, s.data, s.forgeToken, s.modelKey); file != "" {
		t.Errorf("%s holds %s", file, text)
	}
}

// The commands do the same through a server and without one.
func TestAgentCommands(t *testing.T) {
	for name, withServer := range map[string]bool{"through a server": true, "without a server": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var server *process
			if withServer {
				server = s.serve()
			}
			canary := canary()
			p, out := s.running("run", "say first words\nrun true "+canary+"\nshell sleep "+canary+" >/dev/null 2>&1 & true\nmodel hold here\nwrite docs/new.md hello\nsay last words")
			// The log is printed while the job runs.
			id := p.log.find(t, `Job (\S+)`, p.done)[1]
			out.find(t, `first words`, p.done)
			s.held.await(t, "here", p)
			if strings.Contains(out.String(), "last words") {
				t.Error("the agent went on")
			}
			s.held.release("here")
			p.wait(t, nil)
			link := s.forge.URL + "/" + docsRepository + "/pull/1"
			if !strings.Contains(p.log.String(), "Pull request "+link+"\n") {
				t.Errorf("the end of a run says %s", p.log)
			}
			if !strings.Contains(out.String(), "last words") {
				t.Errorf("the log is %s", out)
			}
			if left := withArgument(t, canary); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}

			shown, _, code := s.agentCommand("show", id)
			if j := jobOf(t, shown); code != 0 || j.ID != id || j.Status != agentjobs.Completed || *j.PRLink != link {
				t.Errorf("shown is %s", shown)
			}
			if log, _, _ := s.agentCommand("show", "--log", id); log != out.String() {
				t.Errorf("the log was printed as\n%s\nand is shown as\n%s", out, log)
			}

			// A follow-up, from standard input.
			cmd := exec.Command(binary, "agent", "message", "--agent-insecure", "--data", s.data, "--project", "docs", id, "-")
			cmd.Stdin = strings.NewReader("write docs/more.md more\n")
			if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "Pull request "+link) {
				t.Errorf("a follow-up: %v: %s", err, said)
			}
			s.once(jobOf(t, first(s.agentCommand("show", id))), 2)

			// A failure.
			_, said, code := s.agentCommand("run", "--agent-insecure", "fail on purpose")
			if code != 1 || !strings.Contains(said, "the job failed: ") {
				t.Errorf("a run that fails exits with %d: %s", code, said)
			}
			_, said, code = s.agentCommand("run", "--agent-insecure", "write .github/workflows/ci.yml evil")
			if code != 1 || !strings.Contains(said, "the job failed: ") || !strings.Contains(said, ".github") {
				t.Errorf("a run that may not be exits with %d: %s", code, said)
			}

			list, _, _ := s.agentCommand("list", "--limit", "1", "--status", "completed")
			if !strings.Contains(list, id) || !strings.Contains(list, link) || strings.Count(list, "\n") != 2 {
				t.Errorf("listed is\n%s", list)
			}
			if list, _, _ := s.agentCommand("list"); strings.Count(list, "\n") != 4 || strings.Count(list, "failed") < 2 {
				t.Errorf("listed is\n%s", list)
			}
			if shown, _, _ := s.agentCommand("cancel", id); jobOf(t, shown).Status != agentjobs.Completed {
				t.Errorf("cancelled is %s", shown)
			}
			for range 2 {
				if shown, _, _ := s.agentCommand("archive", id); jobOf(t, shown).Status != agentjobs.Archived {
					t.Errorf("archived is %s", shown)
				}
			}
			if _, said, code := s.agentCommand("message", "--agent-insecure", id, "say more"); code != 1 || !strings.Contains(said, "archived") {
				t.Errorf("a message to an archived job exits with %d: %s", code, said)
			}
			for _, name := range []string{"show", "cancel", "archive"} {
				if _, said, code := s.agentCommand(name, "018f0000-0000-7000-8000-000000000000"); code != 1 || !strings.Contains(said, "no such job") {
					t.Errorf("%s of no job exits with %d: %s", name, code, said)
				}
			}
			if server != nil {
				server.stop(t)
			}
			if names := s.leftovers(); len(names) != 2 {
				t.Errorf("there are %v, want the copies of two jobs", names)
			}
		})
	}
}

func first(stdout, _ string, _ int) string { return stdout }

// A command that runs a job by itself and is interrupted leaves it to the next server.
func TestAgentRunInterrupted(t *testing.T) {
	s := newStage(t)
	canary := canary()
	p, _ := s.running("run", "shell [ -e $HOME/once ] || { touch $HOME/once; exec sleep "+canary+"; }\nwrite docs/new.md hello")
	id := p.log.find(t, `Job (\S+)`, p.done)[1]
	until(t, "the agent works", func() bool { return len(withArgument(t, canary)) > 0 })
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.wait(t, errors.New("exit status 130"))
	if !strings.Contains(p.log.String(), "not cancelled") || !strings.Contains(p.log.String(), id) {
		t.Errorf("it said %s", p.log)
	}
	if left := withArgument(t, canary); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if j := jobOf(t, first(s.agentCommand("show", id))); j.Status != agentjobs.Active {
		t.Errorf("the job is %+v", j)
	}
	server := s.serve()
	s.once(s.await(server, id), 1)
	server.stop(t)
}

func TestAgentCheck(t *testing.T) {
	s := newStage(t)
	check := func(change func(*exec.Cmd)) (string, int) {
		t.Helper()
		cmd := exec.Command(binary, "agent", "check", "--data", s.data, "--project", "docs", "--agent-insecure")
		if change != nil {
			change(cmd)
		}
		var out, faults bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &faults
		code := exitCode(t, cmd.Run())
		if strings.Contains(out.String()+faults.String(), s.forgeToken) || strings.Contains(out.String()+faults.String(), s.modelKey) {
			t.Error("a check shows a secret")
		}
		return out.String(), code
	}
	const good = "forge token: ok\nforge: ok\nclone: ok\nsandbox: ok\nagent and model: ok\n"
	if out, code := check(nil); code != 0 || out != good {
		t.Errorf("a check of what works exits with %d: %s", code, out)
	}
	server := s.serve()
	if out, code := check(nil); code != 0 || out != good {
		t.Errorf("through a server it exits with %d: %s", code, out)
	}
	broken := func(part, want string) {
		t.Helper()
		out, code := check(nil)
		found := ""
		for line := range strings.Lines(out) {
			if text, ok := strings.CutPrefix(line, part+": "); ok {
				found = text
			}
		}
		if code != 1 || !strings.Contains(found, want) {
			t.Errorf("want %q of %s, got exit code %d: %s", want, part, code, out)
		}
	}
	token := filepath.Join(s.secrets, "token")
	if err := os.Chmod(token, 0o644); err != nil {
		t.Fatal(err)
	}
	broken("forge token", "only its owner may")
	if err := os.Chmod(token, 0o600); err != nil {
		t.Fatal(err)
	}
	s.secret("token", "wrong")
	broken("forge", "does not accept the token")
	broken("clone", "401")
	s.secret("token", s.forgeToken)
	key := filepath.Join(s.secrets, "key")
	if err := os.Chmod(key, 0o640); err != nil {
		t.Fatal(err)
	}
	broken("agent and model", "only its owner may")
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	s.set("--ref", "nowhere")
	broken("forge", "nowhere")
	broken("clone", "nowhere")
	s.set("--ref", "main", "--agent", filepath.Join(s.secrets, "no-agent"))
	broken("agent and model", "no-agent")
	s.set("--agent", "false")
	broken("agent and model", "")
	s.set("--forge-token-file", filepath.Join(s.secrets, "none"))
	broken("forge token", "no such file")
	s.set()
	server.stop(t)

	tools := t.TempDir()
	for _, name := range []string{"git", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	out, code := check(func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), "PATH="+tools) })
	if code != 1 || !strings.Contains(out, "sandbox: bubblewrap is not installed") || !strings.Contains(out, "clone: ok") || strings.Contains(out, "agent and model") {
		t.Errorf("without bubblewrap a check exits with %d: %s", code, out)
	}
	if names := s.leftovers(); len(names) > 0 {
		t.Errorf("checks left %v", names)
	}
	if len(s.forge.Pulls()) > 0 || len(s.git.Branches(docsRepository)) != 1 {
		t.Error("a check changed the repository")
	}
}
