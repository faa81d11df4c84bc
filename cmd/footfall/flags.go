package main

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"footfall/internal/access"
	"footfall/query"
)

// checked is a flag whose text must pass a check when it is set, so that a wrong
// value is refused with the flag's name and the rule before anything is done.
type checked[T any] struct {
	value *T
	text  string
	kind  string
	parse func(string) (T, error)
	words []string // all that it takes, where these are some words
}

var _ pflag.Value = (*checked[int])(nil)

func (c *checked[T]) String() string { return c.text }
func (c *checked[T]) Type() string   { return c.kind }

func (c *checked[T]) Set(text string) error {
	value, err := c.parse(text)
	if err != nil {
		return err
	}
	*c.value, c.text = value, text
	return nil
}

// oneOf is a flag that takes one of some words.
func oneOf(value *string, preset string, words ...string) pflag.Value {
	*value = preset
	return &checked[string]{value: value, text: preset, kind: "word", words: words, parse: func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return s, nil
	}}
}

// completeWords makes the shell complete the words of every such flag.
func completeWords(cmd *cobra.Command) {
	register := func(f *pflag.Flag) {
		if flag, ok := f.Value.(*checked[string]); ok && flag.words != nil {
			mustComplete(cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(flag.words, cobra.ShellCompDirectiveNoFileComp)))
		}
	}
	cmd.PersistentFlags().VisitAll(register)
	cmd.Flags().VisitAll(register)
	for _, child := range cmd.Commands() {
		completeWords(child)
	}
}

// between is a flag that takes a whole number within bounds.
func between(value *int64, preset, least, most int64) pflag.Value {
	*value = preset
	return &checked[int64]{value: value, text: strconv.FormatInt(preset, 10), kind: "number", parse: func(s string) (int64, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return n, nil
	}}
}

// size is a flag that takes a number of bytes with a unit of 1,024.
func size(value *int64, preset, least int64) pflag.Value {
	*value = preset
	return &checked[int64]{value: value, text: humanize.IBytes(uint64(preset)), kind: "size", parse: func(s string) (int64, error) {
		n, err := humanize.ParseBytes(s)
		if err != nil || n < uint64(least) || n > 1<<40 {
			return 0, fmt.Errorf("must be a size from %s to 1 TiB, such as 512MiB", humanize.IBytes(uint64(least)))
		}
		return int64(n), nil
	}}
}

// duration is a flag that takes a time span.
func duration(value *time.Duration, preset time.Duration) pflag.Value {
	*value = preset
	return &checked[time.Duration]{value: value, text: preset.String(), kind: "duration", parse: func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d < time.Second || d > 24*time.Hour {
			return 0, fmt.Errorf("must be a duration from 1s to 24h, such as 30s or 2m")
		}
		return d, nil
	}}
}

// date is a flag that takes a date or date-time as exports do.
func date(value *string) pflag.Value {
	return &checked[string]{value: value, kind: "date", parse: func(s string) (string, error) {
		_, err := query.ParseDate(s)
		return s, err
	}}
}

// ranges is a flag that takes addresses and CIDR ranges, with commas in between or
// by being repeated.
func ranges(value *[]netip.Prefix) pflag.Value {
	return &checked[[]netip.Prefix]{value: value, kind: "ranges", parse: func(s string) ([]netip.Prefix, error) {
		all := *value
		for text := range strings.SplitSeq(s, ",") {
			prefix, err := access.ParseAllow(strings.TrimSpace(text))
			if err != nil {
				return nil, fmt.Errorf("must be addresses or CIDR ranges, and not all addresses at once")
			}
			all = append(all, prefix)
		}
		return all, nil
	}}
}

// address is a flag that takes a host and port to listen on.
func address(value *string, preset string) pflag.Value {
	*value = preset
	return &checked[string]{value: value, text: preset, kind: "host:port", parse: func(s string) (string, error) {
		_, port, err := net.SplitHostPort(s)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return "", fmt.Errorf("must be an address and a port, such as 127.0.0.1:8080 or [::1]:8080")
		}
		return s, nil
	}}
}
