package query_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/query"
	"footfall/sketch"
)

// The rows are others at every snapshot. A walk sees those of its first page.
func TestAWalkFitsTogether(t *testing.T) {
	const paths = 1000
	o := newOffice(t)
	for _, limit := range []int{1, 7, 50, 250} {
		ranker := versions(paths)
		s := o.site(t, query.Options{Ranker: ranker})
		var walked []query.Row
		var totals query.Count
		for offset, more := 0, true; more; offset += limit {
			page := s.page(fmt.Sprintf("dateTo=2026-03-01T12:00:00.123456Z&limit=%d&offset=%d", limit, offset))
			if offset == 0 {
				totals = page.Totals
			}
			if page.Totals != totals {
				t.Fatalf("limit %d, offset %d: totals %+v, of the first page %+v", limit, offset, page.Totals, totals)
			}
			walked = append(walked, page.Visitors...)
			more = page.HasMore
		}
		want := version(1, paths)
		same := slices.EqualFunc(walked, want.Rows, func(got query.Row, want sketch.Row) bool {
			return got.Path == want.Path && got.Total == want.Count.Total
		})
		if !same {
			t.Errorf("limit %d: the %d rows are not those of the first page's ranking", limit, len(walked))
		}
		if asked, _, made := ranker.counts(); asked != 1 || made != 1 {
			t.Errorf("limit %d: %d snapshots, %d listings; want one of each", limit, asked, made)
		}
	}
}

// Each first page is followed by one that belongs to its walk, or not.
func TestWhatBelongsToAWalk(t *testing.T) {
	o := newOffice(t)
	for _, test := range []struct {
		first, following string
		together         bool
	}{
		{"", "offset=5", true},
		{"", "limit=5&offset=5", true},
		{"", "&offset=5", true},
		{"offset=0", "offset=50&limit=1", true},
		{"limit=5", "limit=7&offset=5", true},
		{"limit=5&offset=0", "offset=5", true},
		{"l%69mit=5", "%6fffset=5", true},
		{"dateTo=2026-03-01&limit=5", "limit=5&dateTo=2026-03-01&offset=5", true},
		{"dateTo=2026-03-01", "offset=5&&dateTo=2026-03-01&", true},
		{"dateFrom=2026-01-01&dateTo=2026-03-01", "dateFrom=2026-01-01&offset=5&dateTo=2026-03-01", true},
		{"accuracy=true", "accuracy=true&offset=5", true},
		{"x=1", "x=1&offset=5", true},

		{"dateFrom=2026-01-01&dateTo=2026-03-01", "dateTo=2026-03-01&dateFrom=2026-01-01&offset=5", false},
		{"dateTo=2026-03-01", "dateTo=2026-03-02&offset=5", false},
		{"dateTo=2026-03-01T12:00:00.000001", "dateTo=2026-03-01T12:00:00.000002&offset=5", false},
		{"dateTo=2026-03-01", "dateTo=2026-03-01T00:00&offset=5", false},
		{"dateTo=2026-03-01", "date%54o=2026-03-01&offset=5", false},
		{"dateTo=2026-03-01", "offset=5", false},
		{"", "accuracy=false&offset=5", false},
		{"x=1", "x=2&offset=5", false},
		{"x=1", "offset=5", false},
		{"x=1&y=2", "x=1%26y=2&offset=5", false},
		{"x=1&y=2", "x=1y=2&offset=5", false},
		{"", "Limit=5&offset=5", false},
	} {
		s := o.site(t, query.Options{Ranker: versions(100)})
		first, following := s.page(test.first), s.page(test.following)
		if together := first.Totals.Total == following.Totals.Total; together != test.together {
			t.Errorf("%q and %q: one walk: %v", test.first, test.following, together)
		}
	}
}

func TestAWalkIsOfOneKeyAndProject(t *testing.T) {
	ranker := versions(100)
	s := newSite(t, ranker)
	type reader struct{ key, project string }
	readers := []reader{
		{s.keys.docs, "docs"}, {s.keys.otherDocs, "docs"}, {s.keys.all, "docs"}, {s.keys.all, "wiki"},
	}
	first := make(map[reader]query.Count)
	for _, r := range readers {
		first[r] = s.pageAs(r.key, r.project, "").Totals
	}
	for _, r := range readers {
		if got := s.pageAs(r.key, r.project, "offset=50").Totals; got != first[r] {
			t.Errorf("%s: the page that follows is of version %d, the first of %d", r.project, versionOf(got.Total, 100), versionOf(first[r].Total, 100))
		}
	}
	if asked, _, _ := ranker.counts(); asked != len(readers) {
		t.Errorf("%d snapshots for %d walks", asked, len(readers))
	}
}

// Every snapshot is of the next version. Each step is a request and the version
// that it gets, after some time.
func TestHowLongARankingIsKept(t *testing.T) {
	type step struct {
		after   time.Duration
		query   string
		version int
	}
	const almost = 15*time.Minute - time.Nanosecond
	o := newOffice(t)
	for name, steps := range map[string][]step{
		"for 15 minutes":                 {{0, "", 1}, {almost, "offset=50", 1}, {time.Nanosecond, "offset=50", 2}},
		"use does not prolong it":        {{0, "", 1}, {10 * time.Minute, "offset=50", 1}, {5 * time.Minute, "offset=50", 2}},
		"a newer first page replaces it": {{0, "", 1}, {time.Minute, "", 2}, {0, "offset=50", 2}, {almost, "offset=50", 2}, {time.Nanosecond, "offset=50", 3}},
		"also one that is the same":      {{0, "", 1}, {0, "offset=50", 1}, {0, "", 2}, {0, "offset=50", 2}, {0, "offset=60", 2}},
		"the limit may be another":       {{0, "limit=250", 1}, {0, "limit=10", 2}, {0, "limit=70&offset=1", 2}},
		"a following page alone":         {{0, "offset=50", 1}, {0, "offset=99", 1}, {almost, "offset=200", 1}, {time.Nanosecond, "offset=50", 2}, {0, "offset=50", 2}},
		"replaces what was ranked anew":  {{0, "offset=50", 1}, {0, "", 2}, {0, "offset=50", 2}},
		"a first page of everything":     {{0, "limit=99", 1}, {0, "offset=99", 1}, {0, "limit=100", 2}, {0, "offset=99", 3}, {0, "offset=99", 3}},
		"behind a younger one":           {{0, "x=a", 1}, {5 * time.Minute, "x=b", 2}, {0, "x=b&offset=50", 2}, {0, "x=a&offset=50", 1}, {10 * time.Minute, "x=a&offset=50", 3}, {0, "x=b&offset=50", 2}},
		"a bad request changes nothing":  {{0, "", 1}, {0, "limit=0", 0}, {0, "offset=50&offset=50", 0}, {0, "offset=50", 1}},
	} {
		t.Run(name, func(t *testing.T) {
			const paths = 100
			s := o.site(t, query.Options{Ranker: versions(paths)})
			for _, step := range steps {
				s.clock.advance(step.after)
				if step.version == 0 {
					if status, body := s.get(step.query); status != http.StatusBadRequest {
						t.Errorf("%q: status %d: %s", step.query, status, body)
					}
					continue
				}
				if got := versionOf(s.page(step.query).Totals.Total, paths); got != step.version {
					t.Errorf("%q is of version %d, want %d", step.query, got, step.version)
				}
			}
		})
	}
}

func TestAFirstPageThatFailsReplacesNothing(t *testing.T) {
	ranker := versions(100)
	failing := false
	ranker.top = func(context.Context, *sketch.Ranking) error {
		if failing {
			return errors.New("no")
		}
		return nil
	}
	s := newSite(t, ranker)
	first := s.page("")
	failing = true
	if status, _ := s.get(""); status != http.StatusInternalServerError {
		t.Errorf("status %d", status)
	}
	if got := s.page("offset=50"); got.Totals != first.Totals {
		t.Error("the page that follows is of another ranking")
	}
}

func TestKeptRankingsAreBounded(t *testing.T) {
	const listingBytes = 10_000
	registry := prometheus.NewPedanticRegistry()
	ranker := versions(100)
	ranker.bytes = listingBytes
	s := newOffice(t).site(t, query.Options{
		Ranker:       ranker,
		ListingBytes: 3*listingBytes + 3_000, // Three of them, and what else they take.
		Registerer:   registry,
	})
	pages := func(outcome string) float64 { return metric(t, registry, "footfall_following_pages_total", outcome) }
	// follow asks for pages that follow, and tells which of them were kept.
	follow := func(walks ...string) (kept []string) {
		t.Helper()
		for _, walk := range walks {
			before := pages("kept")
			s.page("x=" + walk + "&offset=50")
			if pages("kept") > before {
				kept = append(kept, walk)
			}
		}
		return kept
	}
	check := func(want float64) {
		t.Helper()
		if got := metric(t, registry, "footfall_kept_rankings", ""); got != want {
			t.Errorf("%v rankings are kept, want %v", got, want)
		}
		bytes := metric(t, registry, "footfall_kept_ranking_bytes", "")
		if bytes < want*listingBytes || bytes > want*(listingBytes+1_000) {
			t.Errorf("%v rankings have %v bytes", want, bytes)
		}
	}
	for _, walk := range []string{"a", "b", "c"} {
		s.page("x=" + walk)
	}
	if kept := follow("a", "b", "c", "a"); !slices.Equal(kept, []string{"a", "b", "c", "a"}) {
		t.Errorf("kept %v of three that fit", kept)
	}
	check(3)

	s.page("x=d")
	if kept := follow("d"); !slices.Equal(kept, []string{"d"}) {
		t.Error("the last one was not kept")
	}
	check(3)
	if kept := follow("a", "c", "d"); !slices.Equal(kept, []string{"a", "c", "d"}) {
		t.Errorf("kept %v; the one that was not used for longest was to go", kept)
	}
	if kept := follow("b", "a", "c", "d"); kept != nil {
		t.Errorf("kept %v; each was to go for the one before it", kept)
	}
	check(3)
	if kept, anew := pages("kept"), pages("anew"); kept != 8 || anew != 4 {
		t.Errorf("%v pages from kept rankings and %v anew, want 8 and 4", kept, anew)
	}

	// They go also while nobody asks.
	s.clock.advance(15 * time.Minute)
	check(0)
}

// A younger one that is used less stands in the way of an older one, for no longer
// than it is kept itself.
func TestOldRankingsGo(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	s := newOffice(t).site(t, query.Options{Ranker: versions(100), Registerer: registry})
	s.page("x=older")
	s.page("x=older&offset=50")
	s.clock.advance(10 * time.Minute)
	s.page("x=younger")
	s.page("x=younger&offset=50")
	s.page("x=older&offset=50")
	s.clock.advance(15 * time.Minute)
	if got := metric(t, registry, "footfall_kept_rankings", ""); got != 0 {
		t.Errorf("%v rankings are kept after their time", got)
	}
}

func TestARankingBeyondTheBoundIsNotKept(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	ranker := versions(100)
	s := newOffice(t).site(t, query.Options{Ranker: ranker, ListingBytes: 50_000, Registerer: registry})
	s.page("x=small")
	s.page("x=small&offset=50")
	ranker.bytes = 50_000
	s.page("")
	for range 3 {
		if page := s.page("limit=10&offset=50"); len(page.Visitors) != 10 || !page.HasMore {
			t.Errorf("%d rows, more %v", len(page.Visitors), page.HasMore)
		}
	}
	if got := metric(t, registry, "footfall_kept_rankings", ""); got != 1 {
		t.Errorf("%v rankings are kept, want the small one", got)
	}
	if got := versionOf(s.page("x=small&offset=50").Totals.Total, 100); got != 1 {
		t.Errorf("the small one was dropped for it")
	}
}
