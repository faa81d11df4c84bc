package workload_test

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"footfall/bench/workload"
	"footfall/sketch"
)

// The laws that hold between exact counts, whatever was counted.
func TestTruthLaws(t *testing.T) {
	events := newEvents(t, workload.EventsConfig{Seed: 11, From: firstDay, Days: 30, Events: 4_000, Paths: 30, Humans: 400, AIs: 100}).Truth()
	_, log := writeLog(t, workload.AccessLogConfig{Seed: 11, From: firstDay, Days: 30, Lines: 4_000})
	for name, truth := range map[string]*workload.Truth{"events": events, "access log": log.Truth} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				day := rapid.IntRange(-3, 33)
				inner := sketch.Range{From: firstDay + sketch.Day(day.Draw(t, "from")), To: firstDay + sketch.Day(day.Draw(t, "to"))}
				more := rapid.IntRange(0, 5)
				outer := sketch.Range{From: inner.From - sketch.Day(more.Draw(t, "before")), To: inner.To + sketch.Day(more.Draw(t, "after"))}
				if inner.Empty() {
					// Widening nothing by a little may leave nothing.
					inner.To = inner.From
				}
				totals, rows := truth.Count(inner)
				checkBounds(t, "totals", totals)
				wideTotals, wideRows := truth.Count(outer)
				checkWidened(t, "totals", totals, wideTotals)
				wide := map[string]workload.Count{}
				for _, row := range wideRows {
					wide[row.Path] = row.Count
				}
				var sum [2]uint64
				for i, row := range rows {
					checkBounds(t, row.Path, row.Count)
					checkWidened(t, row.Path, row.Count, wide[row.Path])
					checkWidened(t, row.Path+" in the totals", row.Count, totals)
					sum[0] += row.Views[0]
					sum[1] += row.Views[1]
					if i > 0 && (rows[i-1].Visitors.Total < row.Visitors.Total ||
						rows[i-1].Visitors.Total == row.Visitors.Total && rows[i-1].Path >= row.Path) {
						t.Errorf("%q must not follow %q", row.Path, rows[i-1].Path)
					}
				}
				if sum != totals.Views {
					t.Errorf("the views of all paths are %v, the site's %v", sum, totals.Views)
				}
			})
		})
	}
}

func checkBounds(t *rapid.T, name string, c workload.Count) {
	t.Helper()
	v := c.Visitors
	if v.Total < max(v.Human, v.AI) || v.Total > v.Human+v.AI {
		t.Errorf("%s: %+v: total must lie between the larger of the two and their sum", name, v)
	}
	if v.Human > c.Views[sketch.Human] || v.AI > c.Views[sketch.AI] {
		t.Errorf("%s: %+v: more visitors than views", name, c)
	}
}

func checkWidened(t *rapid.T, name string, narrow, wide workload.Count) {
	t.Helper()
	n, w := narrow.Visitors, wide.Visitors
	if w.Human < n.Human || w.AI < n.AI || w.Total < n.Total || wide.Views[0] < narrow.Views[0] || wide.Views[1] < narrow.Views[1] {
		t.Errorf("%s: widened from %+v to %+v", name, narrow, wide)
	}
}

func TestConcurrentUse(t *testing.T) {
	events := newEvents(t, workload.EventsConfig{Seed: 1, From: firstDay, Events: 2_000})
	truth := events.Truth()
	want, _ := truth.Count(sketch.AllDays())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got, _ := truth.Count(sketch.AllDays()); got != want {
				t.Errorf("one truth counted %+v and %+v", want, got)
			}
			if got, _ := events.Truth().Count(sketch.AllDays()); got != want {
				t.Errorf("two truths counted %+v and %+v", want, got)
			}
		})
	}
	group.Wait()
}
