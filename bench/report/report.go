// Package report prints measurements in the text form of Go's benchmarks
// (https://go.dev/design/14313-benchmark-format), which benchstat compares.
package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Result is one run of one measurement.
type Result struct {
	// Name begins with a capital, without Benchmark. Parts of the form /key=value
	// tell variants apart.
	Name string
	// Operations is how many there were, of which Elapsed is the whole time.
	Operations int
	Elapsed    time.Duration
	Values     []Value
}

// Value is something else that was measured in a run.
type Value struct {
	Amount float64
	Unit   string
}

// Rate returns how many operations there were a second; unit is such as
// "events/s".
func (r Result) Rate(unit string) Value {
	return Value{float64(r.Operations) / r.Elapsed.Seconds(), unit}
}

// Each returns the share of one operation in a duration; name is such as
// "server-cpu".
func (r Result) Each(name string, d time.Duration) Value {
	return Value{float64(d.Nanoseconds()) / float64(r.Operations), name + "-ns/op"}
}

// Duration returns a duration that is no share of an operation.
func Duration(name string, d time.Duration) Value {
	return Value{float64(d.Nanoseconds()), name + "-ns"}
}

// Bytes returns an amount of memory or disk.
func Bytes(name string, n int64) Value { return Value{float64(n), name + "-bytes"} }

// Begin writes what the results that follow have in common: the machine, what
// else the caller names as "key: value", and for which units more is better.
func Begin(w io.Writer, more ...string) error {
	lines := []string{
		"goos: " + runtime.GOOS,
		"goarch: " + runtime.GOARCH,
		"cpus: " + strconv.Itoa(runtime.NumCPU()),
	}
	if name := processor(); name != "" {
		lines = append(lines, "cpu: "+name)
	}
	lines = append(lines, more...)
	for _, unit := range []string{"events/s", "requests/s", "lines/s"} {
		lines = append(lines, "Unit "+unit+" better=higher")
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// Write writes a result as one line.
func Write(w io.Writer, r Result) error {
	line := fmt.Sprintf("Benchmark%s %d", r.Name, r.Operations)
	for _, v := range append([]Value{r.Each("", r.Elapsed)}, r.Values...) {
		// Whole numbers where a fraction tells nothing, and never an exponent.
		precision := 0
		if v.Amount < 100 {
			precision = 3
		}
		line += " " + strconv.FormatFloat(v.Amount, 'f', precision, 64) + " " + strings.TrimPrefix(v.Unit, "-")
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// processor returns the name of the processor, where Linux tells it.
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // It was only read.
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, found := strings.CutPrefix(lines.Text(), "model name"); found {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return ""
}
