package service

import (
	"flag"
	"strings"
)

// Flags are flags for footfall serve, as a flag of a measurement that may be given
// several times.
type Flags []string

var _ flag.Value = (*Flags)(nil)

// String returns the flags with spaces in between.
func (f *Flags) String() string { return strings.Join(*f, " ") }

// Set adds a flag.
func (f *Flags) Set(value string) error {
	*f = append(*f, value)
	return nil
}
