package exports

import (
	"fmt"
	"math"

	"footfall/bench/report"
	"footfall/bench/workload"
	"footfall/sketch"
)

// Truth holds answers against the truth of a workload. It remembers the totals of
// the ranges that it was asked about, for the next system. It is not safe for
// concurrent use.
type Truth struct {
	workload *workload.Truth
	totals   map[sketch.Range]map[string]uint64 // by path
}

// NewTruth returns the truth of a workload.
func NewTruth(truth *workload.Truth) *Truth {
	return &Truth{workload: truth, totals: make(map[sketch.Range]map[string]uint64)}
}

// Errors are the relative errors of the totals of all rows of some answers.
type Errors struct {
	Mean    float64
	Largest float64
}

// Errors compares answers with the truth. A row of a path that nobody viewed, and too
// few rows, have no relative error: they are an error of their own.
func (t *Truth) Errors(answers []Answer) (Errors, error) {
	var sum, largest float64
	rows := 0
	for _, answer := range answers {
		totals := t.of(answer.Within)
		if len(answer.Page.Visitors) != min(Top, len(totals)) {
			return Errors{}, fmt.Errorf("%d rows of %v, want %d", len(answer.Page.Visitors), answer.Within, min(Top, len(totals)))
		}
		for _, row := range answer.Page.Visitors {
			want, found := totals[row.Path]
			if !found {
				return Errors{}, fmt.Errorf("nobody viewed %s in %v", row.Path, answer.Within)
			}
			relative := math.Abs(float64(row.Total)-float64(want)) / float64(want)
			sum += relative
			largest = max(largest, relative)
			rows++
		}
	}
	if rows == 0 {
		return Errors{}, nil
	}
	return Errors{Mean: sum / float64(rows), Largest: largest}, nil
}

func (t *Truth) of(within sketch.Range) map[string]uint64 {
	totals, found := t.totals[within]
	if !found {
		totals = make(map[string]uint64)
		_, rows := t.workload.Count(within)
		for _, row := range rows {
			totals[row.Path] = row.Visitors.Total
		}
		t.totals[within] = totals
	}
	return totals
}

// Values returns the errors for a report.
func (e Errors) Values() []report.Value {
	return []report.Value{{Amount: 100 * e.Mean, Unit: "error-mean-%"}, {Amount: 100 * e.Largest, Unit: "error-max-%"}}
}
