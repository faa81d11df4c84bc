package exports_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"footfall/bench/exports"
	"footfall/bench/workload"
	"footfall/query"
	"footfall/sketch"
)

func newTruth(t *testing.T) *workload.Truth {
	t.Helper()
	events, err := workload.NewEvents(workload.EventsConfig{Seed: 1, From: from, Days: 3, Events: 5_000, Paths: 60, Humans: 400, AIs: 20})
	if err != nil {
		t.Fatal(err)
	}
	return events.Truth()
}

// answerOf is the true answer, with every total changed.
func answerOf(truth *workload.Truth, within sketch.Range, change func(row int, total uint64) uint64) exports.Answer {
	_, rows := truth.Count(within)
	answer := exports.Answer{Within: within}
	for i, row := range rows[:exports.Top] {
		answer.Page.Visitors = append(answer.Page.Visitors, query.Row{
			Path: row.Path, Count: query.Count{Total: change(i, row.Visitors.Total)},
		})
	}
	return answer
}

func TestErrors(t *testing.T) {
	truth := newTruth(t)
	all, first := truth.Days(), sketch.Range{From: from, To: from + 1}
	exactly := func(_ int, total uint64) uint64 { return total }
	_, rows := truth.Count(all)
	largest := 1 / float64(rows[exports.Top-1].Visitors.Total)
	for _, test := range []struct {
		name    string
		answers []exports.Answer
		want    exports.Errors
	}{
		{name: "no answer"},
		{name: "exact", answers: []exports.Answer{answerOf(truth, all, exactly), answerOf(truth, first, exactly)}},
		{
			name:    "one row, too many",
			answers: []exports.Answer{answerOf(truth, all, func(row int, total uint64) uint64 { return total + uint64((row+1)/exports.Top) })},
			want:    exports.Errors{Mean: largest / exports.Top, Largest: largest},
		},
		{
			name: "too few, in one answer of two",
			answers: []exports.Answer{
				answerOf(truth, all, exactly),
				answerOf(truth, all, func(row int, total uint64) uint64 { return total - uint64((row+1)/exports.Top) }),
			},
			want: exports.Errors{Mean: largest / exports.Top / 2, Largest: largest},
		},
	} {
		got, err := exports.NewTruth(truth).Errors(test.answers)
		if err != nil || math.Abs(got.Mean-test.want.Mean) > 1e-12 || math.Abs(got.Largest-test.want.Largest) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", test.name, got, err, test.want)
		}
	}
}

func TestRowsThatMustNotBe(t *testing.T) {
	truth := newTruth(t)
	answer := answerOf(truth, truth.Days(), func(_ int, total uint64) uint64 { return total })
	unknown := answer
	unknown.Page.Visitors = slices.Clone(answer.Page.Visitors)
	unknown.Page.Visitors[3].Path = "/nobody/viewed/this"
	tooFew := answer
	tooFew.Page.Visitors = answer.Page.Visitors[1:]
	for name, answer := range map[string]exports.Answer{"an unknown path": unknown, "too few rows": tooFew} {
		if _, err := exports.NewTruth(truth).Errors([]exports.Answer{answer}); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}

func TestMeasure(t *testing.T) {
	var m exports.Measurement
	for _, took := range []time.Duration{5, 1, 4, 4, 2} {
		m.Add(sketch.Range{}, query.Page{}, took)
	}
	if want := []time.Duration{1, 2, 4, 4, 5}; !slices.Equal(m.Latencies, want) || m.Elapsed != 16 {
		t.Errorf("latencies %v in %v, want %v in 16ns", m.Latencies, m.Elapsed, want)
	}

	ranges := []sketch.Range{{From: 3, To: 5}, {From: 1, To: 9}}
	var asked []sketch.Range
	answering := func(page query.Page, err error) exports.Prepare {
		return func(within sketch.Range) (exports.Ask, error) {
			return func(context.Context) (query.Page, error) {
				asked = append(asked, within)
				return page, err
			}, nil
		}
	}
	m, err := exports.Measure(t.Context(), answering(query.Page{HasMore: true}, nil), ranges)
	if err != nil || !slices.Equal(asked, ranges) || len(m.Latencies) != len(ranges) {
		t.Errorf("asked for %v, %d latencies, %v", asked, len(m.Latencies), err)
	}
	for i, answer := range m.Answers {
		if answer.Within != ranges[i] || !answer.Page.HasMore {
			t.Errorf("answer %d is %v", i, answer)
		}
	}
	failure := errors.New("no answer")
	if _, err := exports.Measure(t.Context(), answering(query.Page{}, failure), ranges); !errors.Is(err, failure) {
		t.Errorf("an ask that fails: %v", err)
	}
	unprepared := func(sketch.Range) (exports.Ask, error) { return nil, failure }
	if _, err := exports.Measure(t.Context(), unprepared, ranges); !errors.Is(err, failure) {
		t.Errorf("a question that cannot be prepared: %v", err)
	}
}
