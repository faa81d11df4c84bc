package agentjobs_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"footfall/agentjobs"
	"footfall/agentjobs/forge"
	"footfall/internal/api"
	"footfall/internal/database"
)

// strict makes the bench's settings and the service as an operator has them.
func strict(t *testing.T) (*bench, agentjobs.Settings) {
	t.Helper()
	b := newBench(t, nil)
	b.Close()
	b.options.Insecure = false
	b.open()
	return b, agentjobs.Settings{
		Repository: "https://git.example.org/example/docs.git", ForgeTokenFile: "/etc/footfall/token",
		Model: "model-1", ModelURL: "https://model.example.org",
	}
}

func TestSettingsDefaults(t *testing.T) {
	b, s := strict(t)
	got, err := b.SetSettings(b.project, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Ref, s.Forge, s.Agent = "main", forge.GitHub, "opencode"
	if kept, found, err := b.Settings(b.project); got != s || kept != s || !found || err != nil {
		t.Errorf("the settings are %+v, kept %+v, want %+v", got, kept, s)
	}
	full := agentjobs.Settings{
		Repository: "https://git.example.org:8443/a/b", Ref: "docs/next", Forge: forge.Gitea, ForgeURL: "https://git.example.org/api/v1/",
		ForgeTokenFile: "/run/secrets/token", Agent: `["agent","--acp"]`, Model: "vendor/model:free", ModelURL: "https://[2001:db8::1]/v1",
		ModelKeyFile: "/run/secrets/key", DocsPath: "site/docs", Draft: true,
	}
	if got, err := b.SetSettings(b.project, full); got != full || err != nil {
		t.Errorf("the settings are %+v, %v", got, err)
	}
	if _, found, err := b.Settings(projectOf(t, b, "bare")); found || err != nil {
		t.Errorf("a project without settings has some, %v", err)
	}
}

// Each setting that is wrong is named by its flag, and nothing is kept.
func TestWrongSettings(t *testing.T) {
	b, good := strict(t)
	if _, err := b.SetSettings(b.project, good); err != nil {
		t.Fatal(err)
	}
	before := b.keys(database.AllJobsPrefix())
	url := func(s *agentjobs.Settings) *string { return &s.Repository }
	modelURL := func(s *agentjobs.Settings) *string { return &s.ModelURL }
	forgeURL := func(s *agentjobs.Settings) *string { return &s.ForgeURL }
	for _, c := range []struct {
		flag   string
		field  func(*agentjobs.Settings) *string
		values []string
	}{
		{"--repo", url, []string{
			"", "docs", "git.example.org/a/b", "http://git.example.org/a/b", "git@git.example.org:a/b.git", "ssh://git@git.example.org/a/b",
			"file:///srv/docs.git", "/srv/docs.git", "ext::sh -c x", "https://", "https:///a/b", "https://:443/a/b",
			"https://user@git.example.org/a/b", "https://user:secret@git.example.org/a/b", "https://:@git.example.org/a",
			"https://git.example.org/a/b?x=y", "https://git.example.org/a/b?", "https://git.example.org/a/b#c",
			"https://git.example.org/a/\nb", "https://git.example.org/%zz", "-u", "https://git.example.org/" + strings.Repeat("a", 2048),
			"https://localhost/a/b", "https://docs.localhost/a/b", "https://127.0.0.1/a/b", "https://127.9.9.9:8443/a", "https://[::1]/a",
			"https://[::ffff:127.0.0.1]/a", "https://0.0.0.0/a", "https://[::]/a",
			"https://LOCALHOST/a/b", "https://localhost./a/b", "https://127.1/a/b", "https://2130706433/a/b", "https://0x7f000001/a/b", "https://0177.0.0.1/a/b",
		}},
		{"--model-url", modelURL, []string{"", "http://model.example.org", "https://key@model.example.org", "https://127.0.0.1:11434", "https://model.example.org/v1?key=x"}},
		{"--forge-url", forgeURL, []string{"http://git.example.org/api/v1", "https://token@git.example.org", "https://localhost:3000/api/v1"}},
		{"--ref", func(s *agentjobs.Settings) *string { return &s.Ref }, []string{"-x", "a b", "a..b", "a~1", "/a", "a/", "a.lock", "HEAD:x", "a\x00b", "@{-1}"}},
		{"--forge", func(s *agentjobs.Settings) *string { return (*string)(&s.Forge) }, []string{"gitlab", "GitHub", " github"}},
		{"--forge-token-file", func(s *agentjobs.Settings) *string { return &s.ForgeTokenFile }, []string{"", "token", "./token", "/etc/../token", "/etc/token/", "/a\x00b", "ghp_" + strings.Repeat("x", 36)}},
		{"--model-key-file", func(s *agentjobs.Settings) *string { return &s.ModelKeyFile }, []string{"key", "/etc//key", "sk-" + strings.Repeat("x", 40)}},
		{"--agent", func(s *agentjobs.Settings) *string { return &s.Agent }, []string{"opencode acp", "[]", `[""]`, `["a",1]`, `["a"`, `["a\u0000b"]`}},
		{"--model", func(s *agentjobs.Settings) *string { return &s.Model }, []string{"", "a\nb", "a\x00", strings.Repeat("m", 201), "a model", "a\u00a0b"}},
		{"--docs-path", func(s *agentjobs.Settings) *string { return &s.DocsPath }, []string{"/docs", ".", "..", "../docs", "docs/..", "docs/", "docs//a", "./docs", "a\x00b", "a\nb"}},
	} {
		for _, value := range c.values {
			s := good
			*c.field(&s) = value
			if value == "" && c.flag != "--repo" && c.flag != "--model-url" && c.flag != "--forge-token-file" && c.flag != "--model" {
				continue
			}
			_, err := b.SetSettings(b.project, s)
			var told *api.Error
			if !errors.As(err, &told) || told.Status != http.StatusBadRequest || len(told.Details) != 1 || !strings.HasPrefix(told.Details[0], c.flag+" ") {
				t.Errorf("%s %.80q: %v", c.flag, value, err)
				if _, err := b.SetSettings(b.project, good); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if len(value) > 12 && strings.Contains(told.Error(), value) && c.flag != "--agent" {
				t.Errorf("%s: the error repeats %q, which may be a secret: %v", c.flag, value, err)
			}
		}
	}
	var told *api.Error
	if _, err := b.SetSettings(b.project, agentjobs.Settings{Ref: "-", DocsPath: "/"}); !errors.As(err, &told) || len(told.Details) != 6 {
		t.Errorf("six faults: %v", err)
	}
	if kept, found, err := b.Settings(b.project); err != nil || !found || kept.Repository != good.Repository {
		t.Errorf("the settings are now %+v, %v", kept, err)
	}
	if after := b.keys(database.AllJobsPrefix()); !slices.Equal(before, after) {
		t.Errorf("the keys were %q and are %q", before, after)
	}
}

// Jobs that wait run with the settings as they are then; but none runs on another
// repository than it was posted for.
func TestSettingsChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *agentjobs.Options) { o.Concurrent = 1 })
	release := b.hold()
	first, second := b.post("write docs/a.md one"), b.post("write docs/b.md two")
	b.until("the first run", func() bool { return len(b.git.Requests()) > 0 })
	b.set(func(s *agentjobs.Settings) { s.DocsPath = "elsewhere" })
	release()
	if j := b.await(first.ID); j.Status != agentjobs.Completed {
		t.Errorf("a run that had begun ended as %+v: %s", j, reason(j))
	}
	if j := b.await(second.ID); j.Status != agentjobs.Failed || !strings.Contains(reason(j), "elsewhere") {
		t.Errorf("a run with the new settings ended as %+v: %s", j, reason(j))
	}
	b.git.Create("example/other", map[string]string{"docs/index.md": "# Other\n"})
	b.set(func(s *agentjobs.Settings) { s.Repository = b.git.URL("example/other") })
	b.message(first.ID, "write docs/a.md three")
	if j := b.await(first.ID); j.Status != agentjobs.Failed || !strings.Contains(reason(j), "post a new job") {
		t.Errorf("a job of another repository ended as %+v: %s", j, reason(j))
	}
	if branches := b.git.Branches("example/other"); len(branches) != 1 {
		t.Errorf("the other repository has the branches %q", branches)
	}
}
