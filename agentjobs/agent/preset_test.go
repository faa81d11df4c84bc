package agent_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"footfall/agentjobs/agent"
)

var config = agent.Config{
	Model: "some-model", ModelURL: "http://127.0.0.1:8484/v1", Tree: "/srv/tree", Home: "/srv/home",
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ setting, name string }{
		{"opencode", "opencode"},
		{" codex\n", "codex"},
		{"gemini", "gemini"},
		{"/opt/agents/qwen", "qwen"},
		{`["gemini", "--acp", "a b", "$(x)"]`, "gemini"},
		{`["opencode", "acp"]`, "opencode"},
		{"", ""},
		{"[]", ""},
		{`[""]`, ""},
		{`["a", 1]`, ""},
		{`["a"`, ""},
		{`["a"] x`, ""},
		{`["a\u0000"]`, ""},
		{"gemini --acp", ""},
	} {
		p, err := agent.Parse(c.setting)
		if p.Name() != c.name || (err == nil) != (c.name != "") || err != nil && !errors.Is(err, agent.ErrPreset) {
			t.Errorf("%q: %q, %v", c.setting, p.Name(), err)
		}
	}
}

func TestProgram(t *testing.T) {
	p, err := agent.Parse(`["gemini", "--acp", "a b", "$(x)"]`)
	check(t, err)
	c, err := p.Command(config)
	check(t, err)
	if !slices.Equal(c.Argv, []string{"gemini", "--acp", "a b", "$(x)"}) || c.Files != nil {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{
		"FOOTFALL_MODEL=some-model", "FOOTFALL_MODEL_URL=http://127.0.0.1:8484/v1", "OPENAI_BASE_URL=http://127.0.0.1:8484/v1",
		"ANTHROPIC_BASE_URL=http://127.0.0.1:8484", "ANTHROPIC_MODEL=some-model",
	} {
		if !slices.Contains(c.Env, want) {
			t.Errorf("no %s in %v", want, c.Env)
		}
	}
	// What the caller does with it does not reach the preset.
	c.Argv[0] = "rm"
	if again, _ := p.Command(config); again.Argv[0] != "gemini" {
		t.Error("the preset changed")
	}
}

func TestOpencode(t *testing.T) {
	p, err := agent.Parse("opencode")
	check(t, err)
	odd := config
	odd.Model = `vendor/mo"del\`
	c, err := p.Command(odd)
	check(t, err)
	if !slices.Equal(c.Argv, []string{"opencode", "acp", "--pure"}) || !slices.Contains(c.Env, "OPENCODE_DISABLE_PROJECT_CONFIG=1") {
		t.Errorf("%+v", c)
	}
	// What the repository may hold, and opencode would run.
	if !slices.Equal(c.Hide, []string{".opencode", "opencode.json", "opencode.jsonc"}) {
		t.Errorf("hidden: %v", c.Hide)
	}
	if !slices.Equal(c.Remove, []string{".opencode", ".config/opencode"}) {
		t.Errorf("removed: %v", c.Remove)
	}
	var written struct {
		Model      string
		SmallModel string `json:"small_model"`
		Share      string
		Autoupdate bool
		Permission map[string]string
		Providers  []string `json:"enabled_providers"`
		Provider   map[string]struct {
			Options struct{ BaseURL string }
			Models  map[string]any
		}
	}
	for _, variable := range c.Env {
		if text, ok := strings.CutPrefix(variable, "OPENCODE_CONFIG_CONTENT="); ok {
			check(t, json.Unmarshal([]byte(text), &written))
		}
	}
	want := `footfall/vendor/mo"del\`
	if written.Model != want || written.SmallModel != want || written.Share != "disabled" || written.Autoupdate {
		t.Errorf("%+v", written)
	}
	if p := written.Provider["footfall"]; p.Options.BaseURL != config.ModelURL || len(p.Models) != 1 || p.Models[odd.Model] == nil || len(written.Providers) != 1 {
		t.Errorf("%+v", written)
	}
	if written.Permission["webfetch"] != "deny" || written.Permission["edit"] != "allow" {
		t.Errorf("%+v", written)
	}
}

func TestCodex(t *testing.T) {
	p, err := agent.Parse("codex")
	check(t, err)
	odd := config
	odd.Model, odd.Tree = `mo"del\`, "/srv/a\ttree/"
	c, err := p.Command(odd)
	check(t, err)
	if !slices.Equal(c.Argv, []string{"codex-acp"}) || !slices.Contains(c.Env, "CODEX_HOME=/srv/home/.codex") {
		t.Errorf("%+v", c)
	}
	file := string(c.Files[".codex/config.toml"])
	for _, line := range []string{
		`model = "mo\"del\\"`,
		`base_url = "http://127.0.0.1:8484/v1"`,
		`web_search = "disabled"`,
		"[projects.\"/srv/a\\u0009tree\"]\ntrust_level = \"untrusted\"",
	} {
		if !strings.Contains(file, line+"\n") {
			t.Errorf("no %s in\n%s", line, file)
		}
	}
}

// TestConfig has what no agent can be started with.
func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*agent.Config){
		"no URL":           func(c *agent.Config) { c.ModelURL = "" },
		"another scheme":   func(c *agent.Config) { c.ModelURL = "file:///x" },
		"no host":          func(c *agent.Config) { c.ModelURL = "http:/v1" },
		"a user":           func(c *agent.Config) { c.ModelURL = "http://a:b@h/v1" },
		"no model":         func(c *agent.Config) { c.Model = "" },
		"a space":          func(c *agent.Config) { c.Model = "a b" },
		"a line's end":     func(c *agent.Config) { c.Model = "a\nb" },
		"a relative tree":  func(c *agent.Config) { c.Tree = "tree" },
		"a relative home":  func(c *agent.Config) { c.Home = "" },
		"a URL of garbage": func(c *agent.Config) { c.ModelURL = "http://[" },
	} {
		for _, setting := range []string{"opencode", "codex", "other"} {
			p, err := agent.Parse(setting)
			check(t, err)
			bad := config
			change(&bad)
			if _, err := p.Command(bad); !errors.Is(err, agent.ErrPreset) {
				t.Errorf("%s, %s: %v", setting, name, err)
			}
		}
	}
	if _, err := (agent.Preset{}).Command(config); !errors.Is(err, agent.ErrPreset) {
		t.Errorf("no preset: %v", err)
	}
}
