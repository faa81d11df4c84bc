package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"footfall/agentjobs"
	"footfall/agentjobs/agent"
	"footfall/internal/api"
)

func newAgent(c *common) *cobra.Command {
	return group(&cobra.Command{
		Use:   "agent",
		Short: "Set up, run and list agent jobs",
		Long: "An agent job takes an instruction, lets a coding agent work on the project's\n" +
			"documentation repository, and opens a pull request.",
	}, newAgentSettings(c), newAgentCheck(c), newAgentRun(c), newAgentMessage(c), newAgentList(c), newAgentShow(c),
		newAgentChange(c, "cancel", "End the run of a job, and discard the messages that wait"),
		newAgentChange(c, "archive", "End a job for good and remove its working copy"))
}

// agentPath is the path of something of a project's agent jobs.
func agentPath(project string, rest ...string) string {
	path := "/projects/" + url.PathEscape(project) + "/agent"
	for _, name := range rest {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// requireProject adds --project to a command.
func requireProject(command *cobra.Command, project *string) {
	command.Flags().StringVar(project, "project", "", "the project's ID")
	_ = command.MarkFlagRequired("project") // It exists.
}

func newAgentRun(c *common) *cobra.Command {
	var project string
	var agents agentOptions
	command := &cobra.Command{
		Use:   "run --project ID PROMPT",
		Short: "Post an instruction and follow its log",
		Long: `Posts an instruction as a new job and prints what the agent says and does until the
job is done. A PROMPT of - is read from standard input. Interrupted, the job goes on
where a server runs on the data directory; else it waits for the next one.

The flags of runs count only where no server runs on the data directory; a server
has its own.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withJobs(cmd.Context(), agents, func(conn *connection) error {
				return postPrompt(cmd, conn, agentPath(project, "job"), project, args[0])
			})
		},
	}
	requireProject(command, &project)
	agents.addFlags(command.Flags())
	return command
}

func newAgentMessage(c *common) *cobra.Command {
	var project string
	var agents agentOptions
	command := &cobra.Command{
		Use:   "message --project ID JOB PROMPT",
		Short: "Post a follow-up to a job and follow its log",
		Long: `Posts a follow-up, which continues on the same branch and pull request, and prints what
the agent says and does until the job is done. A PROMPT of - is read from standard
input. The flags of runs count only where no server runs on the data directory.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withJobs(cmd.Context(), agents, func(conn *connection) error {
				return postPrompt(cmd, conn, agentPath(project, "job", args[0], "message"), project, args[1])
			})
		},
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

func newAgentList(c *common) *cobra.Command {
	var project, status string
	var limit, offset int64
	command := &cobra.Command{
		Use:   "list --project ID",
		Short: "List jobs, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {fmt.Sprint(limit)}, "offset": {fmt.Sprint(offset)}}
			if status != "" {
				query.Set("status", status)
			}
			return c.with(cmd.Context(), func(conn *connection) error {
				var page agentjobs.Page
				if err := conn.call(cmd.Context(), http.MethodGet, agentPath(project, "jobs")+"?"+query.Encode(), nil, &page); err != nil {
					return err
				}
				if err := writeJobs(cmd.OutOrStdout(), page.Jobs); err != nil || !page.HasMore {
					return err
				}
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "There are more: --offset %d\n", offset+limit)
				return err
			})
		},
	}
	requireProject(command, &project)
	flags := command.Flags()
	flags.Var(oneOf(&status, "", "active", "completed", "failed", "archived"), "status", "only jobs of a status: active, completed, failed, archived")
	flags.Var(between(&limit, api.DefaultLimit, 1, api.MaxLimit), "limit", fmt.Sprintf("jobs to print, 1 to %d", api.MaxLimit))
	flags.Var(between(&offset, 0, 0, 1<<62), "offset", "jobs to skip")
	return command
}

func writeJobs(w io.Writer, jobs []agentjobs.Job) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(table, "JOB\tSTATUS\tCREATED\tMESSAGES\tPULL REQUEST OR REASON"); err != nil {
		return err
	}
	for _, j := range jobs {
		last := ""
		if j.FailureReason != nil {
			last = *j.FailureReason
		} else if j.PRLink != nil {
			last = *j.PRLink
		}
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", j.ID, j.Status, j.CreatedAt.Format(time.DateTime), j.Messages, last); err != nil {
			return err
		}
	}
	return table.Flush()
}

func newAgentShow(c *common) *cobra.Command {
	var project string
	var log bool
	command := &cobra.Command{
		Use:   "show --project ID JOB",
		Short: "Print a job as JSON, or its log",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(conn *connection) error {
				path := agentPath(project, "job", args[0])
				if log {
					_, err := printLog(cmd.Context(), conn, cmd.OutOrStdout(), path, 0)
					return err
				}
				return showJob(cmd, conn, http.MethodGet, path)
			})
		},
	}
	requireProject(command, &project)
	command.Flags().BoolVar(&log, "log", false, "print the log instead")
	return command
}

// newAgentChange is a command that asks for one change of a job and prints what it is
// then.
func newAgentChange(c *common, name, short string) *cobra.Command {
	var project string
	command := &cobra.Command{
		Use:   name + " --project ID JOB",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(conn *connection) error {
				return showJob(cmd, conn, http.MethodPost, agentPath(project, "job", args[0], name))
			})
		},
	}
	requireProject(command, &project)
	return command
}

func showJob(cmd *cobra.Command, conn *connection, method, path string) error {
	var job agentjobs.Job
	if err := conn.call(cmd.Context(), method, path, nil, &job); err != nil {
		return err
	}
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(job)
}

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
