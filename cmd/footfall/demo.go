package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"footfall/bench/workload"
	"footfall/internal/access"
	"footfall/internal/control"
	"footfall/query"
	"footfall/sketch"
)

const (
	demoProject = "demo"
	demoRows    = 10
)

func newDemo(c *common) *cobra.Command {
	opts := serverOptions{limits: defaultHTTPLimits()}
	command := &cobra.Command{
		Use:   "demo",
		Short: "Show Footfall at work on a made-up access log",
		Long: `Starts the service on an empty data directory, makes up the access log of a
documentation site over the last 60 days, imports it, and shows the result and
the request that asks for it. It goes on serving until it is interrupted.

Without --data the data directory is a temporary one, removed at the end. Without
--listen the service takes any free port where the usual one is in use.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("log-level") {
				c.logLevel = "warn"
			}
			opts.now, opts.logger = time.Now, c.logger()
			if !cmd.Flags().Changed("data") {
				dir, err := os.MkdirTemp("", "footfall-demo-")
				if err != nil {
					return fmt.Errorf("making a data directory: %w", err)
				}
				defer func() { _ = os.RemoveAll(dir) }() // It is the system's temporary directory.
				c.data = filepath.Join(dir, "data")
			}
			opts.data = c.data
			s, err := openServer(opts)
			if errors.Is(err, syscall.EADDRINUSE) && !cmd.Flags().Changed("listen") {
				opts.listen = "127.0.0.1:0"
				s, err = openServer(opts)
			}
			if err != nil {
				return err
			}
			return runDemo(cmd, s)
		},
	}
	command.Flags().Var(address(&opts.listen, "127.0.0.1:8080"), "listen", "address to take requests on")
	return command
}

// runDemo serves and shows, and ends when serving ends.
func runDemo(cmd *cobra.Command, s *server) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- s.run(ctx) }()
	d := &demo{server: s, out: cmd.OutOrStdout(), log: cmd.ErrOrStderr()}
	if err := d.show(ctx); err != nil {
		cancel()
		return errors.Join(err, <-served)
	}
	return <-served
}

type demo struct {
	server *server
	out    io.Writer
	log    io.Writer
}

func (d *demo) show(ctx context.Context) error {
	if projects := d.server.app.registry.Projects(); len(projects) > 0 {
		return fmt.Errorf("the demo wants an empty data directory; %s has %d projects", d.server.app.dir.Path(), len(projects))
	}
	key, err := d.createKey()
	if err != nil {
		return err
	}
	truth, err := d.importSample(ctx)
	if err != nil {
		return err
	}
	page, err := d.ask(ctx, key, demoRows)
	if err != nil {
		return err
	}
	return d.print(ctx, key, page, truth)
}

func (d *demo) createKey() (string, error) {
	registry := d.server.app.registry
	if _, err := registry.CreateProject(demoProject); err != nil {
		return "", err
	}
	key, _, err := registry.CreateKey(access.KeySpec{
		Name: "demo", Scope: access.Read, Project: demoProject, Expires: registry.Now().AddDate(0, 0, 7),
	})
	return key, err
}

// importSample makes up a log, imports it and returns the truth about it.
func (d *demo) importSample(ctx context.Context) (*workload.AccessLogTruth, error) {
	dir, err := os.MkdirTemp("", "footfall-sample-")
	if err != nil {
		return nil, fmt.Errorf("making a place for the sample log: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It is the system's temporary directory.
	name := filepath.Join(dir, "access.log")
	const days = 60
	truth, err := writeSample(name, workload.AccessLogConfig{
		Seed: 1, Days: days, From: sketch.DayOf(d.server.app.registry.Now()) - days,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the sample log: %w", err)
	}
	imp := &importer{
		conn:    &connection{http: &http.Client{Transport: control.Local{Handler: d.server.app.admin}}},
		project: demoProject,
		log:     d.log,
	}
	report, err := imp.one(ctx, name)
	if err != nil {
		return nil, err
	}
	return truth, writeSummary(d.out, report, false)
}

func writeSample(name string, config workload.AccessLogConfig) (*workload.AccessLogTruth, error) {
	log, err := workload.NewAccessLog(config)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	truth, err := log.Write(file)
	return truth, errors.Join(err, file.Close())
}

func (d *demo) url(rows int) string {
	return fmt.Sprintf("http://%s/v1/analytics/%s/visitors?limit=%d", d.server.client.Addr(), demoProject, rows)
}

// ask sends the request that the demo shows.
func (d *demo) ask(ctx context.Context, key string, rows int) (query.Page, error) {
	var page query.Page
	text, err := d.get(ctx, key, rows)
	if err != nil {
		return page, err
	}
	return page, unmarshal(text, &page)
}

func (d *demo) get(ctx context.Context, key string, rows int) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url(rows), nil)
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the service: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // It was read, or the error says more.
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = refused(response.StatusCode, text)
	}
	return bytes.TrimSpace(text), err
}

func (d *demo) print(ctx context.Context, key string, page query.Page, truth *workload.AccessLogTruth) error {
	exact, _ := truth.Count(truth.Days())
	answer, err := d.get(ctx, key, 1)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(d.out, "\nThe %d pages with the most distinct visitors, of the last 60 days:\n\n", demoRows); err != nil {
		return err
	}
	page.HasMore = false // The hint at --limit is for another command.
	if err := writeTable(d.out, page); err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.out, `
The log was made up, so the exact numbers are known: %d human, %d AI, %d in total.

The same over HTTP:

  curl -H 'Authorization: Bearer %s' '%s'

%s

Footfall serves until Ctrl-C.
`, exact.Visitors.Human, exact.Visitors.AI, exact.Visitors.Total, key, d.url(1), answer)
	return err
}
