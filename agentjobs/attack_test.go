package agentjobs_test

import (
	"encoding/base64"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/agentjobs"
)

// attack is what an agent that was turned against its operator does.
type attack struct {
	prompt string   // lines of the test agent
	says   []string // what the failure's reason holds; nil: the job completes, without harm
	pushed []string // paths that the branch gains where it completes
}

// script is a line of the test agent that runs a shell script of several lines.
func script(text string) string {
	return "shell " + strings.ReplaceAll(strings.TrimSpace(text), "\n", `\n`)
}

// canary is a file of the host that exists once a program of an attack ran outside of
// the sandbox.
func (b *bench) canary() string { return filepath.Join(b.dir, "canary") }

func (b *bench) sang() bool { return os.Remove(b.canary()) == nil }

// withCanary puts the path of the canary into a prompt.
func (b *bench) withCanary(text string) string { return strings.ReplaceAll(text, "CANARY", b.canary()) }

// suffer has one job attack in two runs, then does honest work in the same job and in
// another one: nothing of the attack may reach them.
func (b *bench) suffer(t *testing.T, a attack) {
	t.Helper()
	prompt := b.withCanary(a.prompt)
	j := b.await(b.post(prompt).ID)
	b.suffered(t, a, j)
	b.message(j.ID, prompt)
	j = b.await(j.ID)
	b.suffered(t, a, j)

	b.message(j.ID, "write docs/honest.md work")
	b.honest(t, b.await(j.ID), a.pushed)
	b.honest(t, b.await(b.post("write docs/honest.md work").ID), nil)
	b.keepsSecrets(t, j.ID)
}

// suffered checks what one run of an attack came to.
func (b *bench) suffered(t *testing.T, a attack, j agentjobs.Job) {
	t.Helper()
	if b.sang() {
		t.Error("a program of the attack ran outside of the sandbox")
	}
	if a.says == nil {
		if j.Status != agentjobs.Completed {
			t.Errorf("the job is %s: %s", j.Status, reason(j))
		}
		b.holdsOnly(t, j, a.pushed)
		return
	}
	if j.Status != agentjobs.Failed {
		t.Errorf("the job is %s", j.Status)
	}
	for _, text := range a.says {
		if !strings.Contains(reason(j), text) {
			t.Errorf("the reason %q does not hold %q", reason(j), text)
		}
	}
	if strings.ContainsAny(reason(j), "\n\r\x1b\x00") {
		t.Errorf("the reason %q is not one line", reason(j))
	}
	if _, pushed := b.tips()[j.Source.Ref]; pushed {
		t.Errorf("%s was pushed: %q", j.Source.Ref, b.git.Files(repository, j.Source.Ref))
	}
}

// honest checks that a job completed and pushed honest work, beside what it pushed
// before.
func (b *bench) honest(t *testing.T, j agentjobs.Job, before []string) {
	t.Helper()
	if j.Status != agentjobs.Completed {
		t.Errorf("after the attack honest work is %s: %s", j.Status, reason(j))
		return
	}
	if b.sang() {
		t.Error("a program of the attack ran outside of the sandbox, in a later run")
	}
	b.holdsOnly(t, j, append([]string{"docs/honest.md"}, before...))
}

// holdsOnly checks that a branch has the files of main and these.
func (b *bench) holdsOnly(t *testing.T, j agentjobs.Job, more []string) {
	t.Helper()
	allowed := make(map[string]bool)
	for _, name := range append(b.git.Files(repository, "main"), more...) {
		allowed[name] = true
	}
	if _, pushed := b.tips()[j.Source.Ref]; !pushed {
		if len(more) > 0 {
			t.Errorf("%s was not pushed", j.Source.Ref)
		}
		return
	}
	for _, name := range b.git.Files(repository, j.Source.Ref) {
		if !allowed[name] {
			t.Errorf("%q was pushed", name)
		}
		delete(allowed, name)
	}
	for _, name := range more {
		if allowed[name] {
			t.Errorf("%q was not pushed", name)
		}
	}
}

// keepsSecrets checks that no secret is in what a client, a reader of the pull request
// or an agent gets to see.
func (b *bench) keepsSecrets(t *testing.T, id string) {
	t.Helper()
	seen := map[string]string{
		"the job":        b.do(http.MethodGet, "/job/"+id, "").text,
		"the log":        b.do(http.MethodGet, "/job/"+id+"/log", "").text,
		"the live log":   b.do(http.MethodGet, "/job/"+id+"/log", "", "Accept", "text/event-stream").text,
		"the list":       b.do(http.MethodGet, "/jobs", "").text,
		"a pull request": "",
	}
	for _, pull := range b.forge.Pulls() {
		seen["a pull request"] += pull.Title + pull.Body
	}
	if ref := b.job(id).Source.Ref; b.tips()[ref] != "" {
		for _, commit := range b.git.Log(repository, ref) {
			seen["a commit"] += commit.Message
		}
	}
	err := filepath.WalkDir(filepath.Join(b.options.Dir, id), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		seen[name] = string(content)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, secret := range []string{forgeToken, modelKey, base64.StdEncoding.EncodeToString([]byte("x-access-token:" + forgeToken))} {
		for where, text := range seen {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds a secret", where)
			}
		}
	}
}

// suffers runs a table of attacks on one service.
func suffers(t *testing.T, b *bench, attacks map[string]attack) {
	t.Helper()
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) { b.suffer(t, a) })
	}
}
