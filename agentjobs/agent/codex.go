package agent

import (
	"fmt"
	"path"
	"strings"
)

// codex starts codex by its adapter to the protocol, codex-acp (tried with 0.16.0),
// for one model behind one URL.
//
// Its own approvals and sandbox are off: ours is around it, and a sandbox within
// one that allows no further namespaces cannot start. The work tree is not trusted,
// so that a .codex/config.toml in it is no configuration: it could name another
// provider, and servers of tools to start.
func codex(c Config) Command {
	const directory = ".codex"
	config := fmt.Sprintf(`# Written before each start.
model = %[1]s
model_provider = "footfall"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
check_for_update_on_startup = false

[model_providers.footfall]
name = "footfall"
base_url = %[2]s
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 2
stream_max_retries = 2

[projects.%[3]s]
trust_level = "untrusted"

[features]
apps = false
plugins = false
multi_agent = false
image_generation = false

[analytics]
enabled = false

[history]
persistence = "none"
`, tomlString(c.Model), tomlString(c.ModelURL), tomlString(path.Clean(c.Tree)))
	return Command{
		Argv: []string{"codex-acp"},
		Env: []string{
			"CODEX_HOME=" + path.Join(c.Home, directory),
			"OPENAI_API_KEY=" + placeholder,
		},
		Files: map[string][]byte{directory + "/config.toml": []byte(config)},
	}
}

// tomlString writes a basic string of TOML v1.0.0.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
