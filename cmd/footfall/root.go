package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
)

// common are the flags that every command has.
type common struct {
	data      string
	config    string
	logLevel  string
	logFormat string
}

func newRoot() *cobra.Command {
	var c common
	root := &cobra.Command{
		Use:   "footfall",
		Short: "Counts the unique visitors of documentation sites, human and AI",
		Long: `Footfall takes in page views, tags each human or AI, and answers how many
different visitors saw each page and the whole site over any range of days.

Every flag can also be set in the environment, as FOOTFALL_ and the flag's name
in capitals with _ for -, and in a YAML file of flag names and values (--config).
A flag wins over the environment, the environment over the file.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return configure(cmd, os.LookupEnv)
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.data, "data", "./footfall-data", "data directory")
	flags.StringVar(&c.config, "config", "", "YAML file of flag names and values")
	flags.Var(oneOf(&c.logLevel, "info", "debug", "info", "warn", "error"), "log-level", "least level that is logged: debug, info, warn, error")
	flags.Var(oneOf(&c.logFormat, "text", "text", "json"), "log-format", "format of the log on standard error: text, json")
	mustComplete(root.MarkPersistentFlagDirname("data"))
	mustComplete(root.MarkPersistentFlagFilename("config", "yaml", "yml"))

	root.AddCommand(
		newServe(&c),
		newProject(&c),
		newKey(&c),
		newImport(&c),
		newVisitors(&c),
		newAgent(&c),
		newDemo(&c),
		newVersion(),
	)
	completeWords(root)
	return root
}

// group makes a command out of others. Alone it prints its help; a word that is
// none of its commands is an error, which cobra by itself takes for success.
func group(command *cobra.Command, children ...*cobra.Command) *cobra.Command {
	command.AddCommand(children...)
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
		}
		return cmd.Help()
	}
	return command
}

// mustComplete is for what is registered for a flag, such as its completion, which
// fails only where there is no such flag.
func mustComplete(err error) {
	if err != nil {
		panic(err)
	}
}

func (c *common) logger() *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		panic(fmt.Sprintf("log level %q passed its flag", c.logLevel))
	}
	options := &slog.HandlerOptions{Level: level}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
