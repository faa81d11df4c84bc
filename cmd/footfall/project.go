package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func newProject(c *common) *cobra.Command {
	return group(&cobra.Command{
		Use:   "project",
		Short: "Create, list, prune and delete projects",
		Long:  "A project is one documentation site. Its ID has 1 to 63 characters a-z, 0-9 or -,\nand does not begin with -.",
	}, newProjectCreate(c), newProjectList(c), newProjectPrune(c), newProjectDelete(c))
}

func newProjectCreate(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "create ID",
		Short: "Create a project",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withNew(cmd.Context(), func(conn *connection) error {
				asked := map[string]string{"id": args[0]}
				if err := conn.call(cmd.Context(), http.MethodPost, "/projects", asked, nil); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "Project %s was created.\n", args[0])
				return err
			})
		},
	}
}

func newProjectList(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the projects",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd.Context(), func(conn *connection) error {
				var projects []adminProject
				if err := conn.call(cmd.Context(), http.MethodGet, "/projects", nil, &projects); err != nil {
					return err
				}
				table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				if _, err := fmt.Fprintln(table, "PROJECT\tCREATED"); err != nil {
					return err
				}
				for _, p := range projects {
					if _, err := fmt.Fprintf(table, "%s\t%s\n", p.ID, p.Created.Format(time.DateTime)); err != nil {
						return err
					}
				}
				return table.Flush()
			})
		},
	}
}

func newProjectPrune(c *common) *cobra.Command {
	var before string
	command := &cobra.Command{
		Use:   "prune ID --before YYYY-MM-DD",
		Short: "Delete what was counted for a project on the days before a day",
		Long: "Deletes what was counted for a project on the days before a day, which stays.\n" +
			"Page views that come later for such a day count again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(conn *connection) error {
				path := "/projects/" + url.PathEscape(args[0]) + "/days?before=" + url.QueryEscape(before)
				if err := conn.call(cmd.Context(), http.MethodDelete, path, nil, nil); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "The days of project %s before %s were deleted.\n", args[0], before)
				return err
			})
		},
	}
	command.Flags().StringVar(&before, "before", "", "the first day that stays, YYYY-MM-DD (UTC)")
	_ = command.MarkFlagRequired("before") // It exists.
	return command
}

func newProjectDelete(c *common) *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a project with its keys and everything that was counted for it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := confirm(cmd, args[0]); err != nil {
					return err
				}
			}
			return c.with(cmd.Context(), func(conn *connection) error {
				if err := conn.call(cmd.Context(), http.MethodDelete, "/projects/"+url.PathEscape(args[0]), nil, nil); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "Project %s was deleted.\n", args[0])
				return err
			})
		},
	}
	command.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	return command
}

// confirm asks for the project's ID once more.
func confirm(cmd *cobra.Command, id string) error {
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "This deletes project %s, its keys and all its counts for good.\nType its ID to go on: ", id)
	if err != nil {
		return err
	}
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if strings.TrimSpace(answer) != id {
		return errors.New("nothing was deleted: the answer was not the project's ID (--yes deletes without asking)")
	}
	return nil
}
