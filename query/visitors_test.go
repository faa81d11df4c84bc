package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/access"
	"footfall/query"
	"footfall/sketch"
)

// visit is one of a visitor on the first of January 2026, or days after.
func visit(path string, visitor sketch.Hash, traffic sketch.Traffic, daysAfter int) sketch.PageView {
	const newYear2026 = 20454
	return sketch.PageView{Path: path, Visitor: visitor, Traffic: traffic, Day: sketch.Day(newYear2026 + daysAfter)}
}

func (p *pageViews) commit(number sketch.ProjectNumber, views ...sketch.PageView) {
	if p.views == nil {
		p.views = make(map[sketch.ProjectNumber][]sketch.PageView)
	}
	p.views[number] = append(p.views[number], views...)
}

func TestAnswersToTheByte(t *testing.T) {
	memory := new(pageViews)
	s := newSite(t, memory)
	const empty = `{"totals":{"human":0,"ai":0,"total":0},"visitors":[],"hasMore":false}`
	expect := func(query, want string) {
		t.Helper()
		if status, got := s.get(query); status != http.StatusOK || got != want {
			t.Errorf("%s: status %d\n%s, want\n%s", query, status, got, want)
		}
	}
	expect("", empty)
	expect("offset=10", empty)
	expect("dateFrom=2026-01-01&dateTo=2026-01-01", empty)

	memory.commit(s.project.Number, visit("/", 1, sketch.Human, 0), visit("/", 2, sketch.AI, 0), visit("/", 1, sketch.Human, 1))
	const one = `{"totals":{"human":1,"ai":1,"total":2},"visitors":[{"path":"/","human":1,"ai":1,"total":2}],"hasMore":false}`
	expect("", one)
	expect("dateFrom=2026-01-01&dateTo=2026-01-03", one)
	expect("dateFrom=2026-01-02", `{"totals":{"human":1,"ai":0,"total":1},"visitors":[{"path":"/","human":1,"ai":0,"total":1}],"hasMore":false}`)
	expect("dateTo=2026-01-01", empty)
	expect("dateFrom=2026-01-03", empty)
	expect("dateFrom=2026-01-02&dateTo=2026-01-02", empty)
	// Totals cover the range, not the page.
	expect("offset=1", `{"totals":{"human":1,"ai":1,"total":2},"visitors":[],"hasMore":false}`)

	// One visitor as both kinds counts once in the total; rows by total
	// descending, then by the bytes of the path.
	memory.commit(s.project.Number,
		visit("/b", 1, sketch.Human, 5), visit("/b", 1, sketch.AI, 5),
		visit("/a", 3, sketch.AI, 5),
		visit("/ä", 3, sketch.AI, 5),
		visit("/B", 4, sketch.Human, 5),
		visit("/a/b", 1, sketch.Human, 5), visit("/a/b", 2, sketch.Human, 5), visit("/a/b", 3, sketch.AI, 5),
	)
	expect("dateFrom=2026-01-06", `{"totals":{"human":3,"ai":2,"total":4},"visitors":[`+
		`{"path":"/a/b","human":2,"ai":1,"total":3},`+
		`{"path":"/B","human":1,"ai":0,"total":1},`+
		`{"path":"/a","human":0,"ai":1,"total":1},`+
		`{"path":"/b","human":1,"ai":1,"total":1},`+
		`{"path":"/ä","human":0,"ai":1,"total":1}],"hasMore":false}`)
	expect("dateFrom=2026-01-06&limit=2&offset=1", `{"totals":{"human":3,"ai":2,"total":4},"visitors":[`+
		`{"path":"/B","human":1,"ai":0,"total":1},`+
		`{"path":"/a","human":0,"ai":1,"total":1}],"hasMore":true}`)
}

// Another project's visitors are in no answer.
func TestProjectsAreApart(t *testing.T) {
	memory := new(pageViews)
	s := newSite(t, memory)
	memory.commit(s.project.Number+1, visit("/", 1, sketch.Human, 0))
	if _, got := s.get(""); got != `{"totals":{"human":0,"ai":0,"total":0},"visitors":[],"hasMore":false}` {
		t.Errorf("the answer holds another project's visitors: %s", got)
	}
}

func TestWalkingThePages(t *testing.T) {
	memory := new(pageViews)
	s := newSite(t, memory)
	const paths = 137
	for i := range paths {
		// Many rows with the same total: only the path orders them.
		for visitor := range i%4 + 1 {
			memory.commit(s.project.Number, visit(fmt.Sprintf("/%03d", (i*53)%paths), sketch.Hash(visitor), sketch.Human, i))
		}
	}
	for _, limit := range []int{1, 7, 50, 136, 137, 138, 250} {
		var walked []query.Row
		for offset, more := 0, true; more; offset += limit {
			status, body := s.get(fmt.Sprintf("limit=%d&offset=%d", limit, offset))
			var page query.Page
			if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
				t.Fatalf("status %d, %v: %s", status, err, body)
			}
			if page.HasMore && len(page.Visitors) != limit {
				t.Errorf("limit %d: a page of %d rows with more behind", limit, len(page.Visitors))
			}
			if want := (query.Count{Human: 4, Total: 4}); page.Totals != want {
				t.Errorf("limit %d, offset %d: totals %+v, want %+v", limit, offset, page.Totals, want)
			}
			walked = append(walked, page.Visitors...)
			more = page.HasMore
			if offset > paths {
				t.Fatal("there is no end")
			}
		}
		seen := make(map[string]bool)
		for _, row := range walked {
			seen[row.Path] = true
		}
		if len(walked) != paths || len(seen) != paths {
			t.Errorf("limit %d: %d rows of %d paths, want each of %d once", limit, len(walked), len(seen), paths)
		}
		ordered := slices.IsSortedFunc(walked, func(a, b query.Row) int {
			if a.Total != b.Total {
				return int(b.Total) - int(a.Total)
			}
			return strings.Compare(a.Path, b.Path)
		})
		if !ordered {
			t.Errorf("limit %d: the rows are out of order", limit)
		}
	}
}

func TestRankerFailures(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
	}{
		{errors.New("reading /var/lib/footfall"), http.StatusInternalServerError},
		{&sketch.CorruptionError{Key: []byte("vkey"), Reason: "checksum"}, http.StatusInternalServerError},
		{fmt.Errorf("ranking: %w", sketch.ErrProjectDeleted), http.StatusNotFound},
		{fmt.Errorf("ranking: %w", sketch.ErrUnavailable), http.StatusServiceUnavailable},
	} {
		s := newSite(t, &ranks{answer: func(sketch.ProjectNumber, sketch.Range) (*sketch.Ranking, error) { return nil, test.err }})
		status, body := s.get("")
		if status != test.status {
			t.Errorf("%v: status %d, want %d", test.err, status, test.status)
		}
		if strings.Contains(body, "/var/lib") || strings.Contains(body, "vkey") {
			t.Errorf("%v is told: %s", test.err, body)
		}
	}
}

type contextKey struct{}

// The ranker gets the context of the request, so that it ends with it.
func TestRankerGetsTheRequestsContext(t *testing.T) {
	used := 0
	ranker := &ranks{top: func(ctx context.Context, _ *sketch.Ranking) error {
		used++
		if ctx.Value(contextKey{}) != "here" {
			t.Error("another context")
		}
		return nil
	}}
	exports := query.New(query.Options{Ranker: ranker})
	defer exports.Close()
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), contextKey{}, "here"), http.MethodGet, "/", nil)
	if err := exports.Visitors(httptest.NewRecorder(), request, access.Project{}); err != nil || used != 1 {
		t.Fatalf("%v; the ranker was used %d times", err, used)
	}
}

func TestAnswersAreTimed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	exports := query.New(query.Options{Ranker: new(ranks), Registerer: registry})
	defer exports.Close()
	for _, text := range []string{"", "limit=5", "limit=0"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.URL = &url.URL{RawQuery: text}
		_ = exports.Visitors(httptest.NewRecorder(), request, access.Project{}) // One of them is refused.
	}
	if got := metric(t, registry, "footfall_query_duration_seconds", ""); got != 2 {
		t.Errorf("%v answers were timed, want 2", got)
	}
}
