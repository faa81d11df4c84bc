package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"footfall/internal/api"
	"footfall/query"
)

func newVisitors(c *common) *cobra.Command {
	var (
		project, from, to, output string
		limit, offset             int64
	)
	command := &cobra.Command{
		Use:   "visitors --project ID",
		Short: "Print the distinct visitors of each page and of the whole site",
		Example: `  footfall visitors --project docs --from 2026-01-01 --to 2026-02-01
  footfall visitors --project docs --limit 250 --output csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if project == "" {
				return errors.New("--project is required: the project's ID")
			}
			parameters := url.Values{
				"limit":  {strconv.FormatInt(limit, 10)},
				"offset": {strconv.FormatInt(offset, 10)},
			}
			if cmd.Flags().Lookup("from").Value.String() != "" {
				parameters.Set("dateFrom", from)
			}
			if cmd.Flags().Lookup("to").Value.String() != "" {
				parameters.Set("dateTo", to)
			}
			return c.with(cmd.Context(), func(conn *connection) error {
				var page query.Page
				path := "/projects/" + url.PathEscape(project) + "/visitors?" + parameters.Encode()
				if err := conn.call(cmd.Context(), http.MethodGet, path, nil, &page); err != nil {
					return err
				}
				return writePage(cmd.OutOrStdout(), page, output)
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&project, "project", "", "project to print")
	flags.Var(date(&from), "from", "first day, YYYY-MM-DD or a date-time in it (default the first there is)")
	flags.Var(date(&to), "to", "day after the last, YYYY-MM-DD or a date-time in it (default after the last there is)")
	flags.Var(between(&limit, api.DefaultLimit, 1, api.MaxLimit), "limit", fmt.Sprintf("rows to print, 1 to %d", api.MaxLimit))
	flags.Var(between(&offset, 0, 0, 1<<62), "offset", "rows to skip")
	flags.Var(oneOf(&output, "table", "table", "json", "csv"), "output", "format: table, json, csv")
	return command
}

func writePage(w io.Writer, page query.Page, output string) error {
	switch output {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(page)
	case "csv":
		return writeCSV(w, page)
	default:
		return writeTable(w, page)
	}
}

func writeCSV(w io.Writer, page query.Page) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"path", "human", "ai", "total"}}
	for _, row := range page.Visitors {
		rows = append(rows, []string{
			row.Path,
			strconv.FormatUint(row.Human, 10),
			strconv.FormatUint(row.AI, 10),
			strconv.FormatUint(row.Total, 10),
		})
	}
	return out.WriteAll(rows)
}

func writeTable(w io.Writer, page query.Page) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(human, ai, total any, path string) error {
		_, err := fmt.Fprintf(table, "%v\t%v\t%v\t  %s\n", human, ai, total, path)
		return err
	}
	if err := line("HUMAN", "AI", "TOTAL", "PATH"); err != nil {
		return err
	}
	for _, row := range page.Visitors {
		if err := line(row.Human, row.AI, row.Total, row.Path); err != nil {
			return err
		}
	}
	if err := line(page.Totals.Human, page.Totals.AI, page.Totals.Total, "(whole site, each visitor once)"); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if page.HasMore {
		_, err := fmt.Fprintln(w, "There are more rows: see --limit and --offset.")
		return err
	}
	return nil
}
