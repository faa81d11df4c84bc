package exports

import (
	"context"
	"runtime"
	"slices"
	"time"

	"footfall/bench/client"
	"footfall/bench/report"
	"footfall/query"
	"footfall/sketch"
)

// Top is how many rows an answer has at most.
const Top = 50

// Prepare renders what asks a system for the totals of a range, and for the rows of
// the Top paths. The Ask that it returns is used before the next one is prepared.
type Prepare func(within sketch.Range) (Ask, error)

// Ask asks a system, and returns its whole answer. That is what is timed.
type Ask func(context.Context) (query.Page, error)

// Answer is what a system says of a range.
type Answer struct {
	Within sketch.Range
	Page   query.Page
}

// Measurement is what came of asking for some ranges, one after the other.
type Measurement struct {
	Elapsed   time.Duration // of all of them
	Latencies client.Latencies
	Answers   []Answer // in the order in which they were asked for
}

// Measure asks for ranges, one after the other.
func Measure(ctx context.Context, prepare Prepare, ranges []sketch.Range) (Measurement, error) {
	var m Measurement
	runtime.GC() // What was before is not to be collected in the time that is measured.
	for _, within := range ranges {
		ask, err := prepare(within)
		if err != nil {
			return m, err
		}
		started := time.Now()
		page, err := ask(ctx)
		if err != nil {
			return m, err
		}
		m.Add(within, page, time.Since(started))
	}
	return m, nil
}

// Add adds an answer and the time that it took.
func (m *Measurement) Add(within sketch.Range, page query.Page, took time.Duration) {
	m.Elapsed += took
	at, _ := slices.BinarySearch(m.Latencies, took)
	m.Latencies = slices.Insert(m.Latencies, at, took)
	m.Answers = append(m.Answers, Answer{Within: within, Page: page})
}

// Result returns the latencies for a report.
func (m *Measurement) Result(name string) report.Result {
	return report.Result{Name: name, Operations: len(m.Latencies), Elapsed: m.Elapsed, Values: []report.Value{
		report.Duration("p50", m.Latencies.Percentile(50)),
		report.Duration("p99", m.Latencies.Percentile(99)),
	}}
}
