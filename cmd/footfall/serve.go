package main

import (
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"footfall/internal/memory"
)

func newServe(c *common) *cobra.Command {
	var opts serverOptions
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: `Runs the service: it takes page views and answers exports on --listen, and serves
metrics on --metrics-listen. It runs agent jobs in the background. SIGINT and SIGTERM stop it cleanly: running requests
end, and what was taken is written.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.data, opts.now, opts.logger = c.data, time.Now, c.logger()
			// The one setting that is of the process and not of the app.
			debug.SetMemoryLimit(memory.Divide(opts.bounds.memory).Heap)
			s, err := openServer(opts)
			if err != nil {
				return err
			}
			return s.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.Var(address(&opts.listen, "127.0.0.1:8080"), "listen", "address to take requests on")
	flags.Var(address(&opts.metricsListen, "127.0.0.1:9090"), "metrics-listen", "address to serve metrics on")
	b, l, preset := &opts.bounds, &opts.limits, defaultHTTPLimits()
	flags.Var(size(&b.memory, memory.DefaultBudget, memory.MinBudget), "memory", "memory that all of it may take, such as 512MiB or 2GiB, at least 128MiB")
	flags.Var(between(&b.maxBodyBytes, 0, 1<<10, 1<<30), "max-body-bytes", "bytes that the body of a request may have (default 16 MiB, and at most a 32nd of --memory)")
	flags.Var(between(&b.maxLineBytes, 64<<10, 1<<10, 1<<20), "max-line-bytes", "bytes that an event on a line, or by itself, may have, 1024 to 1048576")
	flags.Var(between(&l.maxHeaderBytes, preset.maxHeaderBytes, 4<<10, 1<<20), "max-header-bytes", "bytes that the header of a request may have, 4096 to 1048576")
	flags.Var(between(&l.maxConnections, preset.maxConnections, 1, 1<<20), "max-connections", "connections at a time; one more is answered 503")
	flags.Var(between(&b.pathsPerDay, 50_000, 1, 1_000_000), "max-paths-per-day", "paths of a project that have a row of their own on a day; more count in the row (other)")
	flags.Var(between(&b.paths, 200_000, 1, 1_000_000), "max-paths", "paths of a project that have a row of their own; more count in the row (other)")
	flags.Var(duration(&l.headerTimeout, preset.headerTimeout), "header-timeout", "time for the header of a request to arrive")
	flags.Var(duration(&l.readTimeout, preset.readTimeout), "read-timeout", "time for a whole request to arrive")
	flags.Var(duration(&l.writeTimeout, preset.writeTimeout), "write-timeout", "time to answer a request, from the end of its header")
	flags.Var(duration(&l.idleTimeout, preset.idleTimeout), "idle-timeout", "time that a connection may wait for its next request")
	flags.Var(ranges((*[]netip.Prefix)(&opts.trusted)), "trusted-proxy", "addresses or CIDR ranges of proxies whose X-Forwarded-For is believed (default none)")
	opts.agents.addFlags(flags)
	return command
}
