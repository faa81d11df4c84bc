package forge_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v84/github"
	"go.uber.org/goleak"

	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/forge"
)

const (
	token      = "t0ken-Th4t-nobody-may-see"
	repository = "acme/docs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a forge with a repository that has branches main, next and, with
// commits of their own, work/1 and work/2.
type scene struct {
	host  *forgehost.Host
	forge *forge.Forge

	mu       sync.Mutex
	branches map[string]string
	waits    []time.Duration
}

// play starts a scene. The forge's options may be changed before it is made.
func play(t *testing.T, kind forge.Kind, change ...func(*forge.Options)) *scene {
	t.Helper()
	s := &scene{branches: map[string]string{"main": "c0", "next": "c1", "work/1": "c2", "work/2": "c3", "behind": "c0"}}
	s.host = forgehost.Start(t, forgehost.Options{
		Token: token,
		Gitea: kind == forge.Gitea,
		Branches: func(name string) map[string]string {
			s.mu.Lock()
			defer s.mu.Unlock()
			if name != repository {
				return nil
			}
			return maps.Clone(s.branches)
		},
	})
	options := forge.Options{
		Kind:       kind,
		Repository: s.host.Repository(repository),
		Token:      func() (string, error) { return token, nil },
		Insecure:   true,
		Wait: func(_ context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.waits = append(s.waits, d)
			return nil
		},
	}
	for _, f := range change {
		f(&options)
	}
	var err error
	if s.forge, err = forge.New(options); err != nil {
		t.Fatal(err)
	}
	return s
}

// ensure asks for a pull request of a branch to main.
func (s *scene) ensure(t *testing.T, branch string) forge.PullRequest {
	t.Helper()
	pull, err := s.forge.EnsurePullRequest(t.Context(), branch, "main", "Say what it does", "The body.")
	if err != nil {
		t.Fatalf("ensuring a pull request: %v", err)
	}
	return pull
}

func (s *scene) removeBranch(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.branches, name)
}

// count returns how many requests of a method came in.
func (s *scene) count(method string) int {
	count := 0
	for _, r := range s.host.Requests() {
		if r.Method == method {
			count++
		}
	}
	return count
}

// failure checks what every failure has to be, and returns it.
func failure(t *testing.T, err error) *forge.Failure {
	t.Helper()
	var f *forge.Failure
	if !errors.As(err, &f) {
		t.Fatalf("the error is %v, no failure", err)
	}
	if !strings.HasSuffix(f.Reason, ".") && !strings.HasSuffix(f.Reason, "…") || f.Reason[0] < 'A' && f.Reason[0] != '"' {
		t.Errorf("the reason is no sentence: %q", f.Reason)
	}
	if len(f.Reason) > 2000 || strings.ContainsAny(f.Reason, "<>\n\x00\x1b") {
		t.Errorf("the reason is not fit to be shown: %q", f.Reason)
	}
	if strings.Contains(err.Error(), token) || strings.Contains(f.Reason, token) {
		t.Errorf("the failure has the token: %v", err)
	}
	// Someone may print the cause with all that is in it.
	var cause *github.ErrorResponse
	if errors.As(err, &cause) && cause.Response.Request.Header.Get("Authorization") != "" {
		t.Error("the cause has the token")
	}
	return f
}

func eachKind(t *testing.T, test func(*testing.T, forge.Kind)) {
	for _, kind := range []forge.Kind{forge.GitHub, forge.Gitea} {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}
