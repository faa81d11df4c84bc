package agentjobs_test

import (
	"encoding/base64"
	"fmt"
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

// suffering is an attack with its job.
type suffering struct {
	attack
	b      *bench
	t      *testing.T
	name   string
	canary string // a file of the host that a program of the attack makes outside of the sandbox
	id     string
}

// suffers has a job for each attack of a table, all on one service. Each attacks in some
// runs and then does honest work, as another job does in the end: nothing of an attack
// may reach them. CANARY in a prompt stands for the attack's own.
func suffers(t *testing.T, b *bench, runs int, attacks map[string]attack) {
	t.Helper()
	var all []*suffering
	for name, a := range attacks {
		s := &suffering{attack: a, b: b, t: t, name: name, canary: filepath.Join(b.dir, fmt.Sprintf("canary%d", len(all)))}
		s.prompt = strings.ReplaceAll(s.prompt, "CANARY", s.canary)
		s.id = b.post(s.prompt).ID
		all = append(all, s)
	}
	for range runs - 1 {
		for _, s := range all {
			s.suffered(b.await(s.id))
			b.message(s.id, s.prompt)
		}
	}
	for _, s := range all {
		s.suffered(b.await(s.id))
		b.message(s.id, "write docs/honest.md work")
	}
	for _, s := range all {
		s.honest(b.await(s.id))
		b.keepsSecrets(s.id)
	}
	bystander := &suffering{b: b, t: t, name: "another job", canary: filepath.Join(b.dir, "canary")}
	bystander.honest(b.await(b.post("write docs/honest.md work").ID))
}

func (s *suffering) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s: %s", s.name, fmt.Sprintf(format, args...))
}

// sang reports whether the canary was made, and removes it.
func (s *suffering) sang() bool { return os.Remove(s.canary) == nil }

// suffered checks what one run of an attack came to.
func (s *suffering) suffered(j agentjobs.Job) {
	s.t.Helper()
	if s.sang() {
		s.errorf("a program of the attack ran outside of the sandbox")
	}
	if s.says == nil {
		if j.Status != agentjobs.Completed {
			s.errorf("the job is %s: %s", j.Status, reason(j))
		}
		s.holdsOnly(j, s.pushed)
		return
	}
	if j.Status != agentjobs.Failed {
		s.errorf("the job is %s", j.Status)
	}
	for _, text := range s.says {
		if !strings.Contains(reason(j), text) {
			s.errorf("the reason %q does not hold %q", reason(j), text)
		}
	}
	if strings.ContainsAny(reason(j), "\n\r\x1b\x00") {
		s.errorf("the reason %q is not one line", reason(j))
	}
	if _, pushed := s.b.tips()[j.Source.Ref]; pushed {
		s.errorf("%s was pushed: %q", j.Source.Ref, s.b.git.Files(repository, j.Source.Ref))
	}
}

// honest checks that a job completed and pushed honest work, beside what it pushed
// before.
func (s *suffering) honest(j agentjobs.Job) {
	s.t.Helper()
	if j.Status != agentjobs.Completed {
		s.errorf("after the attack honest work is %s: %s", j.Status, reason(j))
		return
	}
	if s.sang() {
		s.errorf("a program of the attack ran outside of the sandbox, in a later run")
	}
	s.holdsOnly(j, append([]string{"docs/honest.md"}, s.pushed...))
}

// holdsOnly checks that a branch has the files of main and these.
func (s *suffering) holdsOnly(j agentjobs.Job, more []string) {
	s.t.Helper()
	allowed := make(map[string]bool)
	for _, name := range append(s.b.git.Files(repository, "main"), more...) {
		allowed[name] = true
	}
	if _, pushed := s.b.tips()[j.Source.Ref]; !pushed {
		if len(more) > 0 {
			s.errorf("%s was not pushed", j.Source.Ref)
		}
		return
	}
	for _, name := range s.b.git.Files(repository, j.Source.Ref) {
		if !allowed[name] {
			s.errorf("%q was pushed", name)
		}
		delete(allowed, name)
	}
	for _, name := range more {
		if allowed[name] {
			s.errorf("%q was not pushed", name)
		}
	}
}

// keepsSecrets checks that no secret is in what a client, a reader of the pull request
// or an agent gets to see.
func (b *bench) keepsSecrets(id string) {
	b.t.Helper()
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
		b.t.Error(err)
	}
	for _, secret := range []string{forgeToken, modelKey, base64.StdEncoding.EncodeToString([]byte("x-access-token:" + forgeToken))} {
		for where, text := range seen {
			if strings.Contains(text, secret) {
				b.t.Errorf("%s holds a secret", where)
			}
		}
	}
}
