package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/forgehost"
)

// forms are the ways in which a secret may be written down.
func (s *stage) forms(token string) (forms []string) {
	for _, secret := range []string{token, s.modelKey} {
		forms = append(forms, secret)
		for _, user := range []string{"", "x-access-token:", "git:", "oauth2:", "footfall:"} {
			// Without its end, which depends on what follows.
			forms = append(forms, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(user+secret)), "="))
		}
	}
	return forms
}

// look finds a secret where a process shows it: never in arguments, and in the
// environment of git alone, outside of a sandbox. git says how often it was there.
func (s *stage) look(forms []string, git map[int]bool, inside map[int]bool) {
	for _, o := range others(s.t) {
		for _, form := range forms {
			if strings.Contains(o.cmdline, form) {
				s.t.Errorf("a secret is in the arguments of %v", o)
			}
			if !strings.Contains(o.environ, form) {
				continue
			}
			if o.isInside || !strings.HasPrefix(o.name, "git") {
				s.t.Errorf("a secret is in the environment of %v", o)
			}
			git[o.pid] = true
		}
		if o.isInside && strings.Contains(o.environ, "FOOTFALL_MODEL="+scriptedModel) {
			inside[o.pid] = true
		}
	}
}

// The token and the key stay where they are: in their files, in git's environment and
// in requests.
func TestAgentSecrets(t *testing.T) {
	s := newStage(t)
	forms := s.forms(s.forgeToken)
	p := s.serve()

	// As a run goes on, it is looked at again and again.
	ctx, stop := context.WithCancel(t.Context())
	git, inside := make(map[int]bool), make(map[int]bool)
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	var looking sync.WaitGroup
	var looks atomic.Int64
	looked := func() {
		t.Helper()
		enough := looks.Load() + 3
		until(t, "it was looked", func() bool { return looks.Load() >= enough })
	}
	looking.Go(func() {
		for ctx.Err() == nil {
			s.look(forms, git, inside)
			looks.Add(1)
			<-pause.C // Others need the processor too.
		}
	})
	var told []string
	said := func(text string) { told = append(told, text) }
	defer stop()

	stalled := make(chan struct{})
	s.git.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.RequestURI(), "git-upload-pack") {
			<-stalled // So long git is there to be looked at.
		}
		return false
	})
	job := s.post(p, "shell cat /proc/*/environ /proc/*/cmdline | tr '\\\\0' ' '; env; ls -la $HOME /run /run/footfall; cat /proc/1/environ", "model repeat the key",
		"model leak the key", "env OPENAI_API_KEY", "model hold agent", "write docs/new.md hello")
	until(t, "git runs", func() bool {
		return slices.ContainsFunc(others(t), func(o other) bool { return strings.Contains(o.environ, "GIT_DIR="+s.data) })
	})
	looked()
	close(stalled)
	s.held.await(t, "agent", p)
	looked()
	if file, text := holdsAny(t, s.data, forms...); file != "" {
		t.Errorf("while the agent works, %s holds %s", file, text)
	}
	s.held.release("agent")
	s.once(s.await(p, job.ID), 1)
	stop()
	looking.Wait()
	if len(git) == 0 || len(inside) == 0 {
		t.Errorf("seen were %d git processes with a token and %d processes in the sandbox", len(git), len(inside))
	}
	said(s.log(p, job.ID))
	if !strings.Contains(told[0], "OPENAI_API_KEY=footfall") || !strings.Contains(told[0], "released agent") {
		t.Errorf("the agent said %s", told[0])
	}

	// Others that repeat what they were sent.
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+s.forgeToken))
	echo := "Bearer " + s.forgeToken
	for _, answer := range []forgehost.Answer{
		{Path: "/pulls", Times: 1, Status: 403, Body: `{"message":"` + echo + `"}`},
		{Path: "/pulls", Times: 1, Status: 422, Body: `{"message":"Validation Failed","errors":[{"resource":"` + echo + `","field":"` + echo + `","code":"custom","message":"` + echo + `"}]}`},
		{Path: "/pulls", Times: 1, Status: 302, Header: map[string]string{"Location": "http://127.0.0.1:1/?" + s.forgeToken}},
		{Path: "/pulls", Times: 1, Status: 404, Header: map[string]string{"Content-Type": "text/html"}, Body: echo},
	} {
		s.forge.Inject(answer)
		failed := s.await(p, s.post(p, "write docs/new.md again").ID)
		if failed.Status != agentjobs.Failed {
			t.Errorf("an answer of %d ends as %+v", answer.Status, failed)
		}
		said(s.log(p, failed.ID) + fmt.Sprint(*failed.FailureReason))
	}
	s.git.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, echo+" "+basic, http.StatusForbidden)
		return true
	})
	failed := s.await(p, s.post(p, "write docs/new.md again").ID)
	said(s.log(p, failed.ID) + fmt.Sprint(*failed.FailureReason))
	checked, faults, _ := s.agentCommand("check", "--agent-insecure")
	said(checked + faults)
	s.git.Intercept(nil)
	s.git.Refuse(docsRepository, echo+" "+basic)
	failed = s.await(p, s.post(p, "write docs/new.md again").ID)
	said(s.log(p, failed.ID) + fmt.Sprint(*failed.FailureReason))
	for _, path := range []string{"/jobs", "/jobs?status=failed"} {
		_, answer := s.do(p, http.MethodGet, path, "")
		said(answer)
	}
	_, answer := request(t, http.MethodGet, p.metrics+"/metrics", "", nil)
	said(answer)
	p.stop(t)
	said(p.log.String())
	for _, text := range told {
		for _, form := range forms {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("a secret was told: %s", text[max(0, at-200):min(len(text), at+200)])
			}
		}
	}
	if file, text := holdsAny(t, s.data, forms...); file != "" {
		t.Errorf("%s holds %s", file, text)
	}
	if file, _ := holdsAny(t, s.data, "the remote rejected the push"); file == "" {
		t.Error("what the data directory holds is not found in it")
	}
}
