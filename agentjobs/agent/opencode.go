package agent

import (
	"encoding/json"
	"fmt"
	"path"
)

// opencode starts opencode (tried with 1.18.33) for one model behind one URL.
//
// Its configuration goes by OPENCODE_CONFIG_CONTENT, which it merges last, over
// what an earlier run may have left in its home. Nothing that lies in the
// repository is configuration: OPENCODE_DISABLE_PROJECT_CONFIG keeps opencode.json
// and .opencode out, which could name other providers and servers of tools to
// start. That also drops AGENTS.md, the repository's instructions to agents, so
// these are named one by one: they are text for the model.
//
// Neither that nor --pure is enough. 1.18.33 holds two readers of configuration,
// and the newer one heeds neither: it imports .opencode/plugin/*.js and what
// "plugins" in opencode.json names. There is no setting against it, so the files
// are hidden. In the home the same places are removed: what an earlier run left
// there is run too, and an .opencode/tool makes the turn wait for a package that
// cannot be fetched.
func opencode(c Config) (Command, error) {
	type object = map[string]any
	const provider = "footfall"
	model := provider + "/" + c.Model
	config, err := json.Marshal(object{
		"$schema":           "https://opencode.ai/config.json",
		"autoupdate":        false,
		"share":             "disabled",
		"snapshot":          false, // a second git repository of the tree; undoing is ours
		"lsp":               false,
		"formatter":         false,
		"model":             model,
		"small_model":       model,
		"enabled_providers": []string{provider},
		"provider": object{provider: object{
			"npm":     "@ai-sdk/openai-compatible", // part of the program: nothing is fetched
			"name":    provider,
			"options": object{"baseURL": c.ModelURL, "apiKey": placeholder},
			"models":  object{c.Model: object{"name": c.Model, "tool_call": true}},
		}},
		"agent":        object{"title": object{"disable": true}}, // one request of the model less
		"mcp":          object{},
		"plugin":       []string{},
		"instructions": []string{path.Join(c.Tree, "AGENTS.md"), path.Join(c.Tree, "CLAUDE.md")},
		"permission": object{
			"*":                  "allow",
			"edit":               "allow",
			"bash":               "allow",
			"webfetch":           "deny", // there is no network
			"websearch":          "deny",
			"codesearch":         "deny",
			"external_directory": "deny",
			"doom_loop":          "deny",
			"question":           "deny", // nobody is there to answer
		},
	})
	if err != nil {
		return Command{}, fmt.Errorf("writing opencode's configuration: %w", err)
	}
	return Command{
		Argv: []string{"opencode", "acp", "--pure"},
		Env: []string{
			"OPENCODE_CONFIG_CONTENT=" + string(config),
			"OPENCODE_DISABLE_PROJECT_CONFIG=1",
			"OPENCODE_PURE=1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			"OPENCODE_DISABLE_EXTERNAL_SKILLS=1",
			"OPENCODE_DISABLE_CLAUDE_CODE=1",
			"OPENCODE_DISABLE_AUTOUPDATE=1",
			"OPENCODE_DISABLE_MODELS_FETCH=1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			"OPENCODE_DISABLE_SHARE=1",
			"OPENCODE_DISABLE_TERMINAL_TITLE=1",
		},
		Hide:   []string{".opencode", "opencode.json", "opencode.jsonc"},
		Remove: []string{".opencode", ".config/opencode"},
	}, nil
}
