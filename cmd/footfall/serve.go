package main

import (
	"net/netip"
	"time"

	"github.com/spf13/cobra"
)

func newServe(c *common) *cobra.Command {
	var opts serverOptions
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: `Runs the service: it takes page views and answers exports on --listen, and serves
metrics on --metrics-listen. SIGINT and SIGTERM stop it cleanly: running requests
end, and what was taken is written.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.data, opts.now, opts.logger = c.data, time.Now, c.logger()
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
	flags.Var(between(&opts.maxBodyBytes, 16<<20, 1<<10, 64<<20), "max-body-bytes", "bytes that the body of a request may have, 1024 to 67108864")
	flags.Var(ranges((*[]netip.Prefix)(&opts.trusted)), "trusted-proxy", "addresses or CIDR ranges of proxies whose X-Forwarded-For is believed (default none)")
	return command
}
