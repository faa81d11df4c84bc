package exports

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"footfall/sketch"
)

// Windows are the ranges within a range of days, of which each is handed out once,
// so that no answer can be one that is still at hand. It is not safe for concurrent
// use.
type Windows struct {
	days   sketch.Range
	random *rand.Rand
	taken  map[sketch.Range]bool
}

// ErrWindows is wrapped by the error of asking for more ranges than are left.
var ErrWindows = errors.New("too few ranges are left")

// NewWindows returns the windows of a range. One seed hands out the same ones.
func NewWindows(days sketch.Range, seed uint64) *Windows {
	return &Windows{days: days, random: rand.New(rand.NewPCG(seed, 0)), taken: make(map[sketch.Range]bool)}
}

// Between takes windows of shortest to longest days, at random. Too few of them
// are an ErrWindows.
func (w *Windows) Between(shortest, longest sketch.Day, n int) ([]sketch.Range, error) {
	var left []sketch.Range
	for length := shortest; length <= longest; length++ {
		left = append(left, w.left(length)...)
	}
	return w.take(left, n, longest)
}

// About takes windows of so many days, at random, and where there are too few, also
// such as are the least shorter. Too few of them all are an ErrWindows.
func (w *Windows) About(length sketch.Day, n int) ([]sketch.Range, error) {
	var left []sketch.Range
	for shorter := length; shorter > 0 && len(left) < n; shorter-- {
		left = append(left, w.left(shorter)...)
	}
	return w.take(left, n, length)
}

// left returns the windows of so many days that were not taken.
func (w *Windows) left(length sketch.Day) (left []sketch.Range) {
	for from := w.days.From; from+length <= w.days.To; from++ {
		if window := (sketch.Range{From: from, To: from + length}); !w.taken[window] {
			left = append(left, window)
		}
	}
	return left
}

func (w *Windows) take(left []sketch.Range, n int, longest sketch.Day) ([]sketch.Range, error) {
	if len(left) < n {
		return nil, fmt.Errorf("%w: %d of up to %d days in %v, want %d", ErrWindows, len(left), longest, w.days, n)
	}
	w.random.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	for _, window := range left[:n] {
		w.taken[window] = true
	}
	return left[:n], nil
}
