package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"footfall/agentjobs"
)

func newAgentSettings(c *common) *cobra.Command {
	var project string
	// changes are the flags of settings, and what each changes when it is given.
	changes := make(map[string]func(*agentjobs.Settings))
	command := &cobra.Command{
		Use:   "settings --project ID",
		Short: "Show or change what a project's agent jobs work with",
		Long: `Prints the settings of a project's agent jobs. Each flag that is given changes one of
them first. Secrets are not kept, only the names of the files that hold them; such a
file may be readable by its owner alone, who is the one that runs the server, or root.`,
		Example: `  footfall agent settings --project docs \
    --repo https://github.com/example/docs --forge-token-file /etc/footfall/token \
    --agent opencode --model gpt-5 --model-url https://api.openai.com/v1 --model-key-file /etc/footfall/key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd.Context(), func(conn *connection) error {
				path := agentPath(project, "settings")
				var settings agentjobs.Settings
				err := conn.call(cmd.Context(), http.MethodGet, path, nil, &settings)
				changed := false
				cmd.Flags().Visit(func(f *pflag.Flag) {
					if take := changes[f.Name]; take != nil {
						take(&settings)
						changed = true
					}
				})
				var refused *refusedError
				if errors.As(err, &refused) && refused.status == http.StatusNotFound && changed {
					err = nil // These are the first, or the change is refused as well.
				}
				if err != nil {
					return err
				}
				if changed {
					if err := conn.call(cmd.Context(), http.MethodPut, path, settings, &settings); err != nil {
						return err
					}
				}
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				encoder.SetEscapeHTML(false)
				return encoder.Encode(settings)
			})
		},
	}
	requireProject(command, &project)
	flags := command.Flags()
	text := func(name, preset, usage string, field func(*agentjobs.Settings) *string) {
		value := flags.String(name, preset, usage)
		changes[name] = func(s *agentjobs.Settings) { *field(s) = *value }
	}
	text("repo", "", "https URL of the repository, to clone and to push to", func(s *agentjobs.Settings) *string { return &s.Repository })
	text("ref", "main", "branch that pull requests are for", func(s *agentjobs.Settings) *string { return &s.Ref })
	text("forge", "github", "what serves the pull requests: github, gitea", func(s *agentjobs.Settings) *string { return (*string)(&s.Forge) })
	text("forge-url", "", "https URL of the forge's API (default as follows from --repo)", func(s *agentjobs.Settings) *string { return &s.ForgeURL })
	text("agent", "opencode", "the agent: opencode, codex, a program, or a JSON array of a program and its arguments; it speaks the Agent Client Protocol",
		func(s *agentjobs.Settings) *string { return &s.Agent })
	text("model", "", "name of the model, as its API knows it", func(s *agentjobs.Settings) *string { return &s.Model })
	text("model-url", "", "https base URL of the model's API, such as https://api.openai.com/v1", func(s *agentjobs.Settings) *string { return &s.ModelURL })
	text("docs-path", "", "directory of the repository that the agent may change (default all of it)", func(s *agentjobs.Settings) *string { return &s.DocsPath })
	file := func(name, usage string, field func(*agentjobs.Settings) *string) {
		var value string
		flags.Var(absolutePath(&value), name, usage)
		changes[name] = func(s *agentjobs.Settings) { *field(s) = value }
	}
	file("forge-token-file", "file with the token to clone, push and open pull requests", func(s *agentjobs.Settings) *string { return &s.ForgeTokenFile })
	file("model-key-file", "file with the key of the model's API (default none)", func(s *agentjobs.Settings) *string { return &s.ModelKeyFile })
	draft := flags.Bool("draft", false, "open pull requests as drafts")
	changes["draft"] = func(s *agentjobs.Settings) { s.Draft = *draft }
	for name := range changes {
		mustComplete(flags.SetAnnotation(name, commandLineOnly, nil))
	}
	return command
}

// commandLineOnly marks a flag that neither the environment nor the configuration file
// sets: giving it changes something for good.
const commandLineOnly = "command line only"

// absolutePath is a flag that names a file for the server, whose working directory is
// another one.
func absolutePath(value *string) pflag.Value {
	return &checked[string]{value: value, kind: "file", parse: func(s string) (string, error) {
		if s == "" {
			return "", nil
		}
		return filepath.Abs(s)
	}}
}
