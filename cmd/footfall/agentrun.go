package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"footfall/agentjobs"
	"footfall/agentjobs/agent"
)

func newAgentRun(c *common) *cobra.Command {
	return posting(c, &cobra.Command{
		Use:   "run --project ID PROMPT",
		Short: "Post an instruction and follow its log",
		Long: `Posts an instruction as a new job and prints what the agent says and does until the
job is done. A PROMPT of - is read from standard input. Interrupted, the job goes on
where a server runs on the data directory; else it waits for the next one.

The flags of runs count only where no server runs on the data directory; a server
has its own.`,
		Args: cobra.ExactArgs(1),
	}, func(project string, _ []string) string { return agentPath(project, "job") })
}

func newAgentMessage(c *common) *cobra.Command {
	return posting(c, &cobra.Command{
		Use:   "message --project ID JOB PROMPT",
		Short: "Post a follow-up to a job and follow its log",
		Long: `Posts a follow-up, which continues on the same branch and pull request, and prints what
the agent says and does until the job is done. A PROMPT of - is read from standard
input. The flags of runs count only where no server runs on the data directory.`,
		Args: cobra.ExactArgs(2),
	}, func(project string, args []string) string { return agentPath(project, "job", args[0], "message") })
}

// posting completes a command that posts its last argument, a prompt, to a path.
func posting(c *common, command *cobra.Command, path func(project string, args []string) string) *cobra.Command {
	var project string
	var agents agentOptions
	command.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withJobs(cmd.Context(), agents, func(conn *connection) error {
			return postPrompt(cmd, conn, path(project, args), project, args[len(args)-1])
		})
	}
	requireProject(command, &project)
	agents.addFlags(command.Flags())
	return command
}

// postPrompt posts a prompt and follows the job until it is done.
func postPrompt(cmd *cobra.Command, conn *connection, path, project, prompt string) error {
	if prompt == "-" {
		text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 1<<20))
		if err != nil {
			return fmt.Errorf("reading the prompt: %w", err)
		}
		prompt = string(text)
	}
	ctx := cmd.Context()
	var job agentjobs.Job
	if err := conn.call(ctx, http.MethodPost, path, map[string]string{"prompt": prompt}, &job); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "Job %s\n", job.ID); err != nil {
		return err
	}
	job, err := follow(ctx, conn, cmd.OutOrStdout(), project, job.ID)
	switch {
	case err != nil && ctx.Err() != nil:
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "The job is not cancelled; see footfall agent show --project %s %s\n", project, job.ID)
		return errors.Join(ctx.Err(), err)
	case err != nil:
		return err
	case job.Status == agentjobs.Failed:
		return fmt.Errorf("the job failed: %s", *job.FailureReason)
	case job.PRLink != nil:
		_, err = fmt.Fprintln(cmd.ErrOrStderr(), "Pull request", *job.PRLink)
	}
	return err
}

// follow prints the log of a job as it comes, until the job is no longer active.
func follow(ctx context.Context, conn *connection, w io.Writer, project, id string) (job agentjobs.Job, err error) {
	job.ID = id
	path := agentPath(project, "job", id)
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for printed := 0; ; {
		// The job first: when it is done, what is read after that is all of its log.
		if err := conn.call(ctx, http.MethodGet, path, nil, &job); err != nil {
			return job, err
		}
		n, err := printLog(ctx, conn, w, path, printed)
		if err != nil {
			return job, err
		}
		if printed += n; job.Status != agentjobs.Active {
			return job, nil
		}
		select {
		case <-ctx.Done():
			return job, ctx.Err()
		case <-tick.C:
		}
	}
}

// printLog prints the log of a job without the lines that were printed before, and
// returns how many it printed.
func printLog(ctx context.Context, conn *connection, w io.Writer, path string, printed int) (lines int, err error) {
	path += "/log"
	if printed > 0 {
		path += fmt.Sprintf("?after=%d", printed-1)
	}
	var text []byte
	if err := conn.call(ctx, http.MethodGet, path, nil, &text); err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		var l agentjobs.Line
		if err := unmarshal(line, &l); err != nil {
			return lines, err
		}
		lines++
		if err := printLine(w, l); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

func printLine(w io.Writer, l agentjobs.Line) error {
	prefix := ""
	if l.Kind != agent.KindMessage {
		prefix = string(l.Kind) + ": "
	}
	// A line of the agent's goes on under its own beginning.
	text := strings.ReplaceAll(strings.TrimRight(l.Text, "\n"), "\n", "\n         ")
	_, err := fmt.Fprintf(w, "%s %s%s\n", l.Time.Local().Format(time.TimeOnly), prefix, text)
	return err
}
