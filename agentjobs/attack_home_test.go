package agentjobs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/agentjobs"
)

// named puts the test agent into the PATH under the name of a preset's program.
func named(t *testing.T, name string) {
	t.Helper()
	program, err := os.ReadFile(testAgent)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), program, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// The service writes an agent's configuration into its home, and removes what lies in
// the way. What an earlier run left there leads neither out of the home, nor keeps the
// next run from its configuration.
func TestAttacksOnTheHome(t *testing.T) {
	for _, agent := range []struct {
		preset, program string
		look            string // a shell command that writes what of the home is the agent's configuration
		want            string
		attacks         []string // of the shell; OUT is a directory of the host
	}{
		{"codex", "codex-acp", `cat $HOME/.codex/config.toml`, `model_provider = "footfall"`, []string{
			`ln -sfn OUT $HOME/.codex`,
			`ln -sfn .codex $HOME/.codex`,
			`mkdir $HOME/.codex; ln -s OUT/config.toml $HOME/.codex/config.toml`,
			`mkdir -p $HOME/.codex/config.toml/x; touch $HOME/.codex/config.toml/x/y; chmod 0 $HOME/.codex/config.toml/x`,
			`mkfifo $HOME/.codex`,
			`mkdir $HOME/.codex; echo 'model_provider = "planted"' > $HOME/.codex/config.toml; chmod 0 $HOME/.codex/config.toml $HOME/.codex`,
			`chmod 0 $HOME`,
			`cd $HOME; perl -e 'for (1..2100) { mkdir "d"; chdir "d" }'`,
		}},
		{"opencode", "opencode", `ls -a $HOME/.opencode $HOME/.config/opencode; echo looked`, `looked`, []string{
			`ln -s OUT $HOME/.opencode; ln -sfn OUT $HOME/.config`,
			`mkdir -p $HOME/.opencode/plugin $HOME/.config/opencode/plugin; echo planted > $HOME/.opencode/plugin/x.js; echo planted > $HOME/.config/opencode/plugin/x.js`,
			`mkdir -p $HOME/real/opencode; touch $HOME/real/opencode/planted; ln -s real $HOME/.config`,
			`mkdir -p $HOME/.config/opencode/planted; chmod 0500 $HOME/.config`,
		}},
	} {
		t.Run(agent.preset, func(t *testing.T) {
			named(t, agent.program)
			b := newBench(t, nil)
			b.set(func(s *agentjobs.Settings) { s.Agent = agent.preset })
			out := filepath.Join(t.TempDir(), "out")
			if err := os.MkdirAll(filepath.Join(out, "opencode"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"config.toml", "opencode/config.json"} {
				if err := os.WriteFile(filepath.Join(out, name), []byte("host's"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var ids []string
			for _, attack := range agent.attacks {
				clear := "chmod 700 $HOME; rm -rf $HOME/.codex $HOME/.opencode $HOME/.config\n"
				ids = append(ids, b.post(script(clear+strings.ReplaceAll(attack, "OUT", out))).ID)
			}
			for i, id := range ids {
				// Without its home the agent itself fails, after the attack.
				if j := b.await(id); j.Status != agentjobs.Completed && !strings.Contains(agent.attacks[i], "chmod 0 $HOME") {
					t.Errorf("%s: %s", agent.attacks[i], reason(j))
				}
				b.message(id, script(agent.look)+"\nwrite docs/honest.md work")
			}
			for i, id := range ids {
				j := b.await(id)
				if j.Status != agentjobs.Completed {
					t.Errorf("after %s honest work is %s: %s", agent.attacks[i], j.Status, reason(j))
				} else if said := b.outputs(id); !strings.Contains(said, agent.want) || strings.Contains(said, "planted") {
					t.Errorf("after %s the agent finds %q", agent.attacks[i], said)
				}
			}
			for _, name := range []string{"config.toml", "opencode/config.json"} {
				if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(text) != "host's" {
					t.Errorf("%s of the host is %q: %v", name, text, err)
				}
			}
			if entries, err := os.ReadDir(out); err != nil || len(entries) != 2 {
				t.Errorf("the directory of the host holds %v: %v", entries, err)
			}
		})
	}
}
