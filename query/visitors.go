package query

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/sketch"
)

// Ranker ranks the distinct visitors of a project's paths over a range of days,
// as of a log position that is at least that of the last batch acknowledged
// before the call.
type Ranker interface {
	Rank(context.Context, sketch.ProjectNumber, sketch.Range) (*sketch.Ranking, error)
}

// Exports answers the export endpoints. It is safe for concurrent use.
type Exports struct {
	ranker  Ranker
	seconds prometheus.Histogram
}

// New returns the exports of what ranker ranks. A nil registerer leaves the
// metrics unregistered.
func New(ranker Ranker, registerer prometheus.Registerer) *Exports {
	return &Exports{
		ranker: ranker,
		seconds: promauto.With(registerer).NewHistogram(prometheus.HistogramOpts{
			Name:    "footfall_query_duration_seconds",
			Help:    "Time to answer an export, from its parameters to the page of its rows.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
}

// Page is a page of an export, as its JSON has it.
type Page struct {
	Totals   Count `json:"totals"`
	Visitors []Row `json:"visitors"`
	HasMore  bool  `json:"hasMore"`
}

// Count is a number of distinct visitors.
type Count struct {
	Human uint64 `json:"human"`
	AI    uint64 `json:"ai"`
	Total uint64 `json:"total"`
}

// Row is the distinct visitors of one path.
type Row struct {
	Path string `json:"path"`
	Count
}

// Routes adds the endpoints to a router.
func (x *Exports) Routes(router *api.Router) {
	router.Project(http.MethodGet, "/v1/analytics/:projectId/visitors", x.Visitors, access.Read)
}

// Visitors answers a page of the visitors of a project's paths: rows by total
// descending, then by path, and totals over the whole range. A bad parameter is
// a 400 that names it.
func (x *Exports) Visitors(w http.ResponseWriter, r *http.Request, project access.Project) error {
	timer := prometheus.NewTimer(x.seconds)
	p, err := parseParameters(r.URL.RawQuery)
	if err != nil {
		return err
	}
	ranking, err := x.ranker.Rank(r.Context(), project.Number, p.within)
	if err != nil {
		return err
	}
	page := pageOf(ranking, p.offset, p.limit)
	timer.ObserveDuration()
	api.Write(w, http.StatusOK, page)
	return nil
}

// pageOf cuts a page out of a ranking. An offset beyond the end is an empty page.
func pageOf(ranking *sketch.Ranking, offset, limit int) Page {
	rows := ranking.Rows[min(offset, len(ranking.Rows)):]
	page := Page{
		Totals:   Count(ranking.Totals),
		Visitors: make([]Row, 0, min(limit, len(rows))),
		HasMore:  len(rows) > limit,
	}
	for _, row := range rows[:min(limit, len(rows))] {
		page.Visitors = append(page.Visitors, Row{Path: row.Path, Count: Count(row.Count)})
	}
	return page
}
