package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"footfall/agentjobs"
)

func newAgentCheck(c *common) *cobra.Command {
	var project string
	var agents agentOptions
	command := &cobra.Command{
		Use:   "check --project ID",
		Short: "Try everything that an agent job needs",
		Long: `Tries the forge's token, the clone, the sandbox, the agent and the model, and says what
is wrong. The model is asked one short question; nothing is pushed. The flags of runs
count only where no server runs on the data directory.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withJobs(cmd.Context(), agents, func(conn *connection) error {
				var findings []agentjobs.Finding
				if err := conn.call(cmd.Context(), http.MethodPost, agentPath(project, "check"), nil, &findings); err != nil {
					return err
				}
				return writeFindings(cmd.OutOrStdout(), findings)
			})
		},
	}
	requireProject(command, &project)
	agents.addFlags(command.Flags())
	return command
}

func writeFindings(w io.Writer, findings []agentjobs.Finding) error {
	wrong := false
	for _, f := range findings {
		text := "ok"
		if f.Fault != "" {
			text, wrong = f.Fault, true
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", f.Part, text); err != nil {
			return err
		}
	}
	if wrong {
		return errors.New("agent jobs of this project can not run yet")
	}
	return nil
}
