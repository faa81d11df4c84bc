package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"footfall/internal/access"
)

func newKey(c *common) *cobra.Command {
	return group(&cobra.Command{
		Use:   "key",
		Short: "Create, list and revoke API keys",
	}, newKeyCreate(c), newKeyList(c), newKeyRevoke(c))
}

func newKeyCreate(c *common) *cobra.Command {
	var (
		asked keyRequest
		scope string
	)
	command := &cobra.Command{
		Use:   "create --scope admin|read|ingest",
		Short: "Create an API key",
		Long: `Prints the new key alone on standard output, once, and its KEYID on standard
error. Only a hash of the key is kept: it can not be shown again.`,
		Example: "  footfall key create --project docs --scope read --expires 30d --allow 192.0.2.0/24",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked.Scope = access.Scope(scope)
			if asked.Project == "" && cmd.Flags().Changed("project") {
				// An unset shell variable must not make a key over all projects.
				return fmt.Errorf("--project must not be empty; without it the key is for all projects")
			}
			if scope == "" {
				return fmt.Errorf("--scope is required: admin, read or ingest")
			}
			return c.withNew(cmd.Context(), func(conn *connection) error {
				var key adminKey
				if err := conn.call(cmd.Context(), http.MethodPost, "/keys", asked, &key); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(cmd.ErrOrStderr(), "KEYID", key.ID); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), key.Text)
				return err
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&asked.Project, "project", "", "project that the key is for; without it the key is for all projects")
	flags.Var(oneOf(&scope, "", "admin", "read", "ingest"), "scope", "what the key allows: admin, read, ingest")
	flags.StringVar(&asked.Name, "name", "", "name that the list of keys shows")
	flags.Var(expiry(&asked.Days, "90d"), "expires", "when the key expires: a number of days such as 90d, or never")
	flags.Var(ranges(&asked.Allow), "allow", "addresses or CIDR ranges that may use the key (default any)")
	return command
}

// expiry is a flag that takes a number of days, or never, which is 0.
func expiry(days *int, preset string) *checked[int] {
	flag := &checked[int]{value: days, kind: "days", parse: func(s string) (int, error) {
		const most = 3650
		if s == "never" {
			return 0, nil
		}
		number, found := strings.CutSuffix(s, "d")
		n, err := strconv.Atoi(number)
		if !found || err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("must be a number of days from 1d to %dd, or never", most)
		}
		return n, nil
	}}
	if err := flag.Set(preset); err != nil {
		panic(err)
	}
	return flag
}

func newKeyList(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the API keys, without their text",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd.Context(), func(conn *connection) error {
				var keys []adminKey
				if err := conn.call(cmd.Context(), http.MethodGet, "/keys", nil, &keys); err != nil {
					return err
				}
				table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				if _, err := fmt.Fprintln(table, "KEYID\tNAME\tSCOPE\tPROJECT\tCREATED\tEXPIRES\tLAST USED\tALLOWED"); err != nil {
					return err
				}
				for _, k := range keys {
					_, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
						k.ID, cmp.Or(k.Name, "-"), k.Scope, cmp.Or(k.Project, "(all)"), k.Created.Format(time.DateOnly),
						expires(k.Expires), cmp.Or(k.LastUsed, "never"), cmp.Or(joinRanges(k.Allow), "any"))
					if err != nil {
						return err
					}
				}
				return table.Flush()
			})
		},
	}
}

func expires(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Format(time.DateOnly)
}

func joinRanges(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ",")
}

func newKeyRevoke(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEYID",
		Short: "Revoke an API key; it takes effect at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(conn *connection) error {
				if err := conn.call(cmd.Context(), http.MethodDelete, "/keys/"+url.PathEscape(args[0]), nil, nil); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "Key %s was revoked.\n", args[0])
				return err
			})
		},
	}
}
