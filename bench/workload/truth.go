package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"footfall/sketch"
)

// The limits of what a Truth can hold, and so of every configuration.
const (
	MaxPaths    = 1 << pathBits
	MaxVisitors = 1 << visitorBits
	MaxDays     = 1 << dayBits
	MaxEvents   = 1 << 30 // of 8 bytes each
)

// ErrConfig is wrapped by the error of a configuration that breaks a rule; the
// error names the field and the rule.
var ErrConfig = errors.New("invalid workload")

// Truth is what exact counting says of a workload, over any range of days. It is
// safe for concurrent use.
type Truth struct {
	paths    []string
	visitors int
	days     sketch.Range
	views    []view // in ascending order
}

// Count is what is counted of a path, or of the site, over a range of days.
type Count struct {
	Visitors sketch.Count // distinct
	Views    [2]uint64    // page views, by sketch.Traffic
}

// Row is the count of one path.
type Row struct {
	Path string // normalised
	Count
}

// Days returns the range that holds every view.
func (t *Truth) Days() sketch.Range { return t.days }

// Count counts the days of a range: the site's totals, and a row for each path
// that was viewed in it, by total descending, then by path.
func (t *Truth) Count(r sketch.Range) (totals Count, rows []Row) {
	r = r.Intersect(t.days)
	var (
		here    traffics // that the visitor at hand came as, to the path at hand
		before  = noView // the view before, of those in the range
		anyPath = make([]traffics, t.visitors)
	)
	for _, v := range t.views {
		if !r.Contains(t.days.From + v.day()) {
			continue
		}
		if before == noView || v.path() != before.path() {
			rows = append(rows, Row{Path: t.paths[v.path()]})
			here = 0
		} else if v.visitor() != before.visitor() {
			here = 0
		}
		before = v
		rows[len(rows)-1].add(v.traffic(), &here)
		totals.add(v.traffic(), &anyPath[v.visitor()])
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.Visitors.Total, a.Visitors.Total),
			cmp.Compare(a.Path, b.Path),
		)
	})
	return totals, rows
}

// traffics is a set of sketch.Traffic, a bit for each.
type traffics uint8

// add counts a view of a visitor who came as seen before.
func (c *Count) add(t sketch.Traffic, seen *traffics) {
	c.Views[t]++
	if *seen == 0 {
		c.Visitors.Total++
	}
	if *seen&(1<<t) == 0 {
		*seen |= 1 << t
		if t == sketch.AI {
			c.Visitors.AI++
		} else {
			c.Visitors.Human++
		}
	}
}

// view is one page view in 64 bits: path, visitor, traffic, and day from the
// first, the path highest. In ascending order, the views of a path are together,
// and in them those of a visitor. That makes exact counts over any range one walk
// along 8 bytes a view; a set for each path and day would take several times that.
type view uint64

const (
	dayBits     = 14
	trafficBits = 1
	visitorBits = 28
	pathBits    = 20
)

// noView is above every view: they take 63 bits.
const noView = view(1 << (dayBits + trafficBits + visitorBits + pathBits))

func newView(path, visitor int, t sketch.Traffic, day sketch.Day) view {
	v := view(path)
	v = v<<visitorBits | view(visitor)
	v = v<<trafficBits | view(t)
	return v<<dayBits | view(day)
}

func (v view) path() int { return int(v >> (dayBits + trafficBits + visitorBits)) }

func (v view) visitor() int {
	return int(v >> (dayBits + trafficBits) & (MaxVisitors - 1))
}

func (v view) traffic() sketch.Traffic { return sketch.Traffic(v >> dayBits & 1) }

func (v view) day() sketch.Day { return sketch.Day(v & (MaxDays - 1)) }

// checkDays refuses days that the truth or a sketch cannot hold.
func checkDays(from sketch.Day, days int) error {
	if err := checkLimit("Days", days, MaxDays); err != nil {
		return err
	}
	if from < sketch.FirstDay || int(from)+days-1 > int(sketch.LastDay) {
		return fmt.Errorf("%w: From must lie at %s or later, and all days up to %s", ErrConfig, sketch.FirstDay, sketch.LastDay)
	}
	return nil
}

func checkLimit(field string, value, limit int) error {
	if value < 1 || value > limit {
		return fmt.Errorf("%w: %s is %d, must be 1 to %d", ErrConfig, field, value, limit)
	}
	return nil
}
