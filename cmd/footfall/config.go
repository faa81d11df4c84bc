package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configure sets every flag of a command that was not given: from the
// environment, else from the YAML file. Values pass the same checks as on the
// command line; an error names the variable, or the file and the flag.
func configure(cmd *cobra.Command, lookup func(string) (string, bool)) error {
	given := make(map[string]bool)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, only := f.Annotations[commandLineOnly]
		given[f.Name] = f.Changed || only
	})

	set := func(f *pflag.Flag, values []string, where string) error {
		for _, value := range values {
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				return fmt.Errorf("%s: invalid value %q for --%s: %w", where, value, f.Name, cause(err))
			}
		}
		given[f.Name] = true
		return nil
	}

	var failure error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := "FOOTFALL_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, found := lookup(name)
		if failure != nil || given[f.Name] || !found || f.Name == "help" {
			return
		}
		failure = set(f, []string{value}, "environment variable "+name)
	})
	if failure != nil {
		return failure
	}

	file := cmd.Flags().Lookup("config").Value.String()
	if file == "" {
		return nil
	}
	values, err := readConfig(file)
	if err != nil {
		return err
	}
	for name, value := range values {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			if !known(cmd.Root(), name) {
				return fmt.Errorf("configuration file %s: there is no flag --%s", file, name)
			}
			continue // A flag of another command.
		}
		if given[name] {
			continue
		}
		if err := set(f, value, "configuration file "+file); err != nil {
			return err
		}
	}
	return nil
}

// readConfig reads a YAML mapping of flag names to values or lists of values.
func readConfig(file string) (map[string][]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration file: %w", err)
	}
	var parsed map[string]any
	if err := yaml.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("reading the configuration file %s: %w", file, err)
	}
	values := make(map[string][]string, len(parsed))
	for name, value := range parsed {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for _, item := range list {
			switch item.(type) {
			case string, bool, int, int64, uint64, float64:
				values[name] = append(values[name], fmt.Sprint(item))
			default:
				return nil, fmt.Errorf("configuration file %s: %s must be a text, a number, true or false, or a list of them", file, name)
			}
		}
	}
	return values, nil
}

// known reports whether any command has a flag of this name.
func known(cmd *cobra.Command, name string) bool {
	if cmd.Flags().Lookup(name) != nil || cmd.PersistentFlags().Lookup(name) != nil {
		return true
	}
	for _, child := range cmd.Commands() {
		if known(child, name) {
			return true
		}
	}
	return false
}

// cause takes off the wrapping that pflag puts around the error of a value,
// which names the flag once more.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
