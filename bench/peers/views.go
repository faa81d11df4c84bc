package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"footfall/bench/workload"
)

// view is one page view of the workload, taken apart for systems that do not take
// JSON.
type view struct {
	path    string
	visitor string
	ai      bool
	date    string // YYYY-MM-DD
	at      time.Time
}

// anyPath stands for all paths of the site.
const anyPath = ""

// views returns the page views of a batch. The lines are those of package
// workload, in which no value holds a quote.
func views(batch workload.Batch) iter.Seq2[view, error] {
	return func(yield func(view, error) bool) {
		for line := range strings.Lines(string(batch.Body)) {
			// {"path":"P","visitorId":"V","traffic":"T","timestamp":"D"}
			parts := strings.Split(line, `"`)
			const path, visitor, traffic, timestamp, all = 3, 7, 11, 15, 17
			if len(parts) != all {
				yield(view{}, fmt.Errorf("a line of the workload is not as it should be: %s", line))
				return
			}
			at, err := time.Parse(time.RFC3339, parts[timestamp])
			v := view{
				path:    parts[path],
				visitor: parts[visitor],
				ai:      parts[traffic] == "ai",
				date:    at.Format(time.DateOnly),
				at:      at,
			}
			if !yield(v, err) {
				return
			}
		}
	}
}
