package agentjobs_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/sandbox"
	"footfall/internal/api"
)

// A check tries each part, says which one is wrong, and leaves nothing behind.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup   func(*bench)
		set     func(*agentjobs.Settings)
		options func(*agentjobs.Options)
		faults  map[string]string // by part, what they hold
		parts   []string          // where not all are tried
	}{
		"good": {},
		"token file": {setup: func(b *bench) { b.chmod("token", 0o640) }, faults: map[string]string{"forge token": "0640"},
			parts: []string{"forge token", "sandbox", "agent and model"}},
		"token": {setup: func(b *bench) { b.secret("token", "wrong") }, faults: map[string]string{"forge": "does not accept the token", "clone": "refuses access"}},
		"rights": {setup: func(b *bench) {
			b.forge.Inject(forgehost.Answer{Path: repository, Body: `{"permissions":{"pull":true,"push":false}}`})
		}, faults: map[string]string{"forge": "not push"}},
		"forge down": {setup: func(b *bench) { b.forge.Inject(forgehost.Answer{Status: 503}) }, faults: map[string]string{"forge": "503"}},
		"branch":     {set: func(s *agentjobs.Settings) { s.Ref = "gone" }, faults: map[string]string{"forge": "gone", "clone": "gone"}},
		"repository": {setup: func(b *bench) {
			b.git.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, "down", http.StatusServiceUnavailable)
				return true
			})
		}, faults: map[string]string{"clone": "reached"}},
		"sandbox": {options: func(o *agentjobs.Options) {
			box, err := sandbox.New(sandbox.Options{Mode: sandbox.Bubblewrap, Self: "/bin/false"})
			if err != nil {
				panic(err)
			}
			o.Sandbox = box
		}, faults: map[string]string{"sandbox": ""}, parts: []string{"forge token", "forge", "clone", "sandbox"}},
		"agent":           {set: func(s *agentjobs.Settings) { s.Agent = "/nowhere/agent" }, faults: map[string]string{"agent and model": "/nowhere/agent"}},
		"agent that dies": {set: agentArgv(t, "/bin/sh", "-c", "echo why it died >&2; exit 1"), faults: map[string]string{"agent and model": "why it died"}},
		"model key":       {setup: func(b *bench) { b.remove("key") }, faults: map[string]string{"agent and model": "--model-key-file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.options)
			b.set(c.set)
			if c.setup != nil {
				c.setup(b)
			}
			before := b.tips()
			findings, err := b.Check(t.Context(), b.project)
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, f := range findings {
				parts = append(parts, f.Part)
				want, wrong := c.faults[f.Part]
				if (f.Fault != "") != wrong || !strings.Contains(f.Fault, want) {
					t.Errorf("%s: %q, want %q", f.Part, f.Fault, want)
				}
				if strings.Contains(f.Fault, forgeToken) || strings.Contains(f.Fault, modelKey) {
					t.Errorf("%s tells a secret: %s", f.Part, f.Fault)
				}
			}
			if c.parts == nil {
				c.parts = []string{"forge token", "forge", "clone", "sandbox", "agent and model"}
			}
			if !slices.Equal(parts, c.parts) {
				t.Errorf("the parts were %q, want %q", parts, c.parts)
			}
			if left := b.copies(); len(left) > 0 {
				t.Errorf("on the disk there is still %q", left)
			}
			if after := b.tips(); len(after) != len(before) || len(b.forge.Pulls()) > 0 {
				t.Errorf("the repository has %v, pull requests %+v", after, b.forge.Pulls())
			}
		})
	}
}

func TestCheckWithoutSettings(t *testing.T) {
	b := newBench(t, nil)
	bare, err := b.registry.CreateProject("bare")
	if err != nil {
		t.Fatal(err)
	}
	var told *api.Error
	if _, err := b.Check(t.Context(), bare); !errors.As(err, &told) || told.Status != 400 {
		t.Errorf("the check ends with %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(b.options.Dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("on the disk there is %q, %v", left, err)
	}
}
