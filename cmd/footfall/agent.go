package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"footfall/agentjobs"
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
