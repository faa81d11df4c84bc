package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"footfall/internal/datadir"
)

// version is set by the linker; see the Makefile.
var version = "development"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go version and storage format",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "footfall %s\ncommit %s\n%s\nstorage format %d\n",
				version, commit(), runtime.Version(), datadir.FormatVersion)
			return err
		},
	}
}

// commit returns the revision that the binary was built from.
func commit() string {
	if revision != "" {
		return revision
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return "unknown"
}

// revision is set by the linker; see the Makefile.
var revision = ""
