package storetest

import (
	"fmt"
	"math/rand/v2"

	"footfall/sketch"
)

// FirstDay is the first day of the workload; its days are the Days from there.
const FirstDay sketch.Day = 20_000

// Days is how many days the workload covers.
const Days = 6

// Visitor returns the visitor of a number: different numbers are different
// visitors, spread as by a keyed hash (the finalizer of SplitMix64, a bijection).
func Visitor(n uint64) sketch.Hash {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return sketch.Hash(n ^ n>>31)
}

// Workload is page views that repeat with their seed: few pages and visitors, so
// that they meet again; days in no order, so that late page views are the rule;
// and now and then a crowd, so that sets become dense.
type Workload struct {
	random *rand.Rand
	// Crowd is how many visitors a crowd has. 0 means no crowds.
	Crowd int
}

// NewWorkload returns the workload of a seed.
func NewWorkload(seed uint64) *Workload {
	return &Workload{random: rand.New(rand.NewPCG(seed, 0))}
}

// Visits returns the visits of the next batch.
func (w *Workload) Visits() []sketch.PageView {
	n := 1 + w.random.IntN(40)
	crowd := w.Crowd > 0 && w.random.IntN(8) == 0
	if crowd {
		n = w.Crowd
	}
	visits := make([]sketch.PageView, n)
	path, day := w.path(), w.day()
	for i := range visits {
		visits[i] = sketch.PageView{
			Path:    w.path(),
			Visitor: Visitor(w.random.Uint64N(60)),
			Day:     w.day(),
			Traffic: w.traffic(),
		}
		if crowd {
			visits[i].Path, visits[i].Day = path, day
			visits[i].Visitor = Visitor(w.random.Uint64N(20_000))
		}
	}
	return visits
}

// Range returns a range that meets the workload's days: any run of them, often
// all.
func (w *Workload) Range() sketch.Range {
	if w.random.IntN(3) == 0 {
		return sketch.AllDays()
	}
	return sketch.Range{From: w.day() - 1, To: w.day() + 2}
}

func (w *Workload) path() string {
	// The smaller of two: some pages are read more than others.
	return fmt.Sprintf("/page/%d", min(w.random.IntN(12), w.random.IntN(12)))
}

func (w *Workload) day() sketch.Day { return FirstDay + sketch.Day(w.random.IntN(Days)) }

func (w *Workload) traffic() sketch.Traffic {
	if w.random.IntN(4) == 0 {
		return sketch.AI
	}
	return sketch.Human
}

// visit returns a visit of a numbered visitor.
func visit(path string, day sketch.Day, traffic sketch.Traffic, visitor uint64) sketch.PageView {
	return sketch.PageView{Path: path, Day: day, Traffic: traffic, Visitor: Visitor(visitor)}
}

// crowd returns one visit each of the visitors numbered [from, to).
func crowd(path string, day sketch.Day, traffic sketch.Traffic, from, to uint64) []sketch.PageView {
	visits := make([]sketch.PageView, 0, to-from)
	for n := from; n < to; n++ {
		visits = append(visits, visit(path, day, traffic, n))
	}
	return visits
}
