package storetest

import (
	"testing"

	"footfall/sketch"
)

// rangesAreHalfOpen: a range holds its first day and not its last; where it is
// empty or turned around it holds nothing; the first and the last day that can be
// held are in the range of all days.
func rangesAreHalfOpen(t *testing.T, s *suite) {
	site := s.site(t)
	days := []sketch.Day{sketch.FirstDay, FirstDay, FirstDay + 1, FirstDay + 2, FirstDay + 256, sketch.LastDay}
	for i, day := range days {
		site.commit(
			visit("/every day", day, sketch.Human, 0),
			visit("/"+day.String(), day, sketch.AI, uint64(i)),
		)
	}
	tests := []struct {
		name     string
		from, to sketch.Day
		paths    int // of single days
	}{
		{"one day", FirstDay + 1, FirstDay + 2, 1},
		{"two days", FirstDay + 1, FirstDay + 3, 2},
		{"a day without visits", FirstDay + 3, FirstDay + 4, 0},
		{"empty", FirstDay + 1, FirstDay + 1, 0},
		{"turned around", FirstDay + 2, FirstDay, 0},
		{"before all", sketch.FirstDay, sketch.FirstDay, 0},
		{"the first day", sketch.FirstDay, sketch.FirstDay + 1, 1},
		{"the last day", sketch.LastDay, sketch.LastDay + 1, 1},
		{"without the last day", sketch.FirstDay, sketch.LastDay, 5},
		{"all", sketch.FirstDay, sketch.LastDay + 1, 6},
	}
	for range 2 {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				got := site.check(sketch.Range{From: test.from, To: test.to})
				want := test.paths
				if want > 0 {
					want++ // "/every day"
				}
				if len(got.Rows) != want {
					t.Errorf("%d rows, expected %d", len(got.Rows), want)
				}
			})
		}
		s.reopen(t)
	}
}

func emptyProject(t *testing.T, s *suite) {
	site := s.site(t)
	for range 2 {
		site.check(sketch.AllDays())
		site.check(sketch.Range{})
		if _, found, err := s.subject.FindSource(t.Context(), site.number, []byte("head")); found || err != nil {
			t.Errorf("a source was found in an empty project, or: %v", err)
		}
		s.reopen(t)
	}
}

// projectsAreApart: the same visitors on the same pages of other projects do not
// count, also where numbers of projects begin alike.
func projectsAreApart(t *testing.T, s *suite) {
	sites := make([]*site, 0, 4)
	for _, number := range []sketch.ProjectNumber{1, 2, 256, 1<<32 + 1} {
		site := s.site(t)
		site.number = number
		sites = append(sites, site)
	}
	for i, site := range sites {
		site.commit(crowd("/page", FirstDay, sketch.Human, 0, uint64(10*i+1))...)
	}
	for range 2 {
		for _, site := range sites {
			site.check(sketch.AllDays())
		}
		s.reopen(t)
	}
}
