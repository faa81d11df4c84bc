package query_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"footfall/internal/access"
	"footfall/internal/access/accesstest"
	"footfall/internal/api"
	"footfall/query"
	"footfall/sketch"
)

// ranks is a Ranker that is told what to answer, and remembers what it was asked.
type ranks struct {
	answer func(sketch.ProjectNumber, sketch.Range) (*sketch.Ranking, error)

	asked  int
	number sketch.ProjectNumber
	within sketch.Range
}

func (r *ranks) Rank(_ context.Context, number sketch.ProjectNumber, within sketch.Range) (*sketch.Ranking, error) {
	r.asked++
	r.number, r.within = number, within
	if r.answer == nil {
		return &sketch.Ranking{}, nil
	}
	return r.answer(number, within)
}

// site is the export endpoint of one project, behind the router.
type site struct {
	t       *testing.T
	router  *api.Router
	project access.Project
	key     string
}

func newSite(t *testing.T, ranker query.Ranker) *site {
	t.Helper()
	registry := accesstest.Open(t, nil)
	s := &site{
		t:       t,
		router:  api.NewRouter(registry, nil, slog.New(slog.DiscardHandler)),
		project: accesstest.Project(t, registry, "docs"),
		key:     accesstest.Key(t, registry, access.KeySpec{Scope: access.Read, Project: "docs"}),
	}
	query.New(ranker, nil).Routes(s.router)
	return s
}

// get asks for an export and returns status and body.
func (s *site) get(query string) (int, string) {
	s.t.Helper()
	request := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/v1/analytics/docs/visitors", nil)
	request.URL.RawQuery = query // As it came: NewRequest would not take all of them.
	request.Header.Set("Authorization", "Bearer "+s.key)
	recorder := httptest.NewRecorder()
	s.router.ServeHTTP(recorder, request)
	text, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return recorder.Code, strings.TrimSuffix(string(text), "\n")
}
