package storetest

import (
	"fmt"
	"math"

	"footfall/sketch"
)

// tally counts visits the plain way.
type tally struct {
	views    [2]uint64
	visitors [2]map[sketch.Hash]bool
}

func newTally() *tally {
	return &tally{visitors: [2]map[sketch.Hash]bool{{}, {}}}
}

func (y *tally) add(v sketch.PageView) {
	y.views[v.Traffic]++
	y.visitors[v.Traffic][v.Visitor] = true
}

func (y *tally) count() sketch.Count {
	c := sketch.Count{
		Human: uint64(len(y.visitors[sketch.Human])),
		AI:    uint64(len(y.visitors[sketch.AI])),
	}
	c.Total = c.Human
	for visitor := range y.visitors[sketch.AI] {
		if !y.visitors[sketch.Human][visitor] {
			c.Total++
		}
	}
	return c
}

// Verify compares a ranking with the visits that it should be of: views and
// counts of small sets exactly, those of large ones within five standard errors,
// and the bounds and the order always.
func Verify(got *sketch.Ranking, visits []sketch.PageView, within sketch.Range) error {
	site, paths := newTally(), make(map[string]*tally)
	for _, v := range visits {
		if !within.Contains(v.Day) {
			continue
		}
		if paths[v.Path] == nil {
			paths[v.Path] = newTally()
		}
		site.add(v)
		paths[v.Path].add(v)
	}
	if err := verifyBounds(got); err != nil {
		return err
	}
	if err := verifyCount(got.Totals, site.count(), sketch.SitePrecision); err != nil {
		return fmt.Errorf("totals: %w", err)
	}
	if got.Views != site.views {
		return fmt.Errorf("views %v, expected %v", got.Views, site.views)
	}
	if len(got.Rows) != len(paths) {
		return fmt.Errorf("%d rows, expected %d", len(got.Rows), len(paths))
	}
	for _, row := range got.Rows {
		path := paths[row.Path]
		if path == nil {
			return fmt.Errorf("row %q was never visited, or stands twice", row.Path)
		}
		delete(paths, row.Path)
		if err := verifyCount(row.Count, path.count(), sketch.PathPrecision); err != nil {
			return fmt.Errorf("row %q: %w", row.Path, err)
		}
		if row.Views != path.views {
			return fmt.Errorf("row %q: views %v, expected %v", row.Path, row.Views, path.views)
		}
	}
	return nil
}

func verifyCount(got, want sketch.Count, p sketch.Precision) error {
	for _, part := range []struct {
		name      string
		got, want uint64
	}{
		{"human", got.Human, want.Human},
		{"ai", got.AI, want.AI},
		{"total", got.Total, want.Total},
	} {
		allowed := 0.0
		if part.want > uint64(p.ExactLimit()) {
			allowed = 5 * standardError(p) * float64(part.want)
		}
		if math.Abs(float64(part.got)-float64(part.want)) > allowed {
			return fmt.Errorf("%s is %d, expected %d within %.0f", part.name, part.got, part.want, allowed)
		}
	}
	return nil
}

// standardError of HyperLogLog, see sketch.Precision.
func standardError(p sketch.Precision) float64 { return 1.04 / math.Sqrt(float64(p.Registers())) }

// verifyBounds checks what holds in every ranking, however large its sets are:
// max(human, ai) <= total <= human + ai, no row above the totals, rows by total
// descending, then by path, and the views of the rows summed.
func verifyBounds(r *sketch.Ranking) error {
	if err := inBounds(r.Totals); err != nil {
		return fmt.Errorf("totals: %w", err)
	}
	var views [2]uint64
	for i, row := range r.Rows {
		if err := inBounds(row.Count); err != nil {
			return fmt.Errorf("row %q: %w", row.Path, err)
		}
		if row.Count.Human > r.Totals.Human || row.Count.AI > r.Totals.AI || row.Count.Total > r.Totals.Total {
			return fmt.Errorf("row %q has %+v, which exceeds the totals %+v", row.Path, row.Count, r.Totals)
		}
		views[sketch.Human] += row.Views[sketch.Human]
		views[sketch.AI] += row.Views[sketch.AI]
		if i == 0 {
			continue
		}
		if before := r.Rows[i-1]; before.Count.Total < row.Count.Total ||
			before.Count.Total == row.Count.Total && before.Path >= row.Path {
			return fmt.Errorf("row %q with %d stands before row %q with %d", before.Path, before.Count.Total, row.Path, row.Count.Total)
		}
	}
	if views != r.Views {
		return fmt.Errorf("views are %v, those of the rows %v", r.Views, views)
	}
	return nil
}

func inBounds(c sketch.Count) error {
	if c.Total < max(c.Human, c.AI) || c.Total > c.Human+c.AI {
		return fmt.Errorf("%+v is out of max(human, ai) <= total <= human + ai", c)
	}
	return nil
}

// Compare reports the first difference between two rankings, other than their
// positions.
func Compare(got, want *sketch.Ranking) error {
	if got.Totals != want.Totals {
		return fmt.Errorf("totals are %+v, expected %+v", got.Totals, want.Totals)
	}
	if got.Views != want.Views {
		return fmt.Errorf("views are %v, expected %v", got.Views, want.Views)
	}
	for i := range min(len(got.Rows), len(want.Rows)) {
		if got.Rows[i] != want.Rows[i] {
			return fmt.Errorf("row %d is %+v, expected %+v", i, got.Rows[i], want.Rows[i])
		}
	}
	if len(got.Rows) != len(want.Rows) {
		return fmt.Errorf("%d rows, expected %d", len(got.Rows), len(want.Rows))
	}
	return nil
}
