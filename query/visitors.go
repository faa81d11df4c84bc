package query

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/sketch"
)

// Ranker takes snapshots of a project's page views over a range of days, which
// rank the distinct visitors of its paths, as of a log position that is at least
// that of the last batch acknowledged before the call.
type Ranker interface {
	Snapshot(ctx context.Context, project sketch.ProjectNumber, within sketch.Range) (sketch.Snapshot, error)
}

// Options gives exports what they work with.
type Options struct {
	Ranker Ranker
	// Now is the clock by which kept rankings expire; nil means time.Now.
	Now func() time.Time
	// ListingBytes bounds the memory of rankings that are kept for following pages.
	// 0 means 32 MiB.
	ListingBytes int
	// Logger may be nil.
	Logger *slog.Logger
	// Registerer takes the metrics. It may be nil.
	Registerer prometheus.Registerer
}

// Exports answers the export endpoints. It is safe for concurrent use.
type Exports struct {
	ranker   Ranker
	listings *listings
	seconds  prometheus.Histogram
}

// New returns the exports of what a ranker ranks. They are to be closed.
func New(opts Options) *Exports {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.ListingBytes == 0 {
		opts.ListingBytes = 32 << 20
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Exports{
		ranker:   opts.Ranker,
		listings: newListings(opts),
		seconds: promauto.With(opts.Registerer).NewHistogram(prometheus.HistogramOpts{
			Name:    "footfall_query_duration_seconds",
			Help:    "Time to answer an export, from its parameters to the page of its rows.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
}

// Close lets go of the rankings that are kept and of every snapshot, and returns
// when nothing more of the ranker is used but by first pages that are still being
// answered. It may be called again.
func (x *Exports) Close() { x.listings.Close() }

// Page is a page of an export, as its JSON has it.
type Page struct {
	Totals   Count `json:"totals"`
	Visitors []Row `json:"visitors"`
	HasMore  bool  `json:"hasMore"`
}

// Count is a number of distinct visitors.
type Count struct {
	Human    uint64    `json:"human"`
	AI       uint64    `json:"ai"`
	Total    uint64    `json:"total"`
	Accuracy *Accuracy `json:"accuracy,omitempty"` // nil unless it was asked for
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
	key := listingKey{apiKey: api.KeyID(r), project: project.Number, within: p.within, walk: walkOf(r.URL.RawQuery)}
	var ranking *sketch.Ranking
	if p.offset == 0 {
		err = whileDaysGo(func() error {
			ranking, err = x.firstPage(r.Context(), key, p.limit)
			return err
		})
	} else {
		ranking, err = x.followingPage(r.Context(), key, p.offset, p.limit)
	}
	if err != nil {
		return err
	}
	page := newPage(ranking, p)
	timer.ObserveDuration()
	api.Write(w, http.StatusOK, page)
	return nil
}

// whileDaysGo asks again where days were deleted meanwhile, which happens seldom and
// not thrice in a row.
func whileDaysGo(ask func() error) error {
	var err error
	for range 3 {
		if err = ask(); !errors.Is(err, sketch.ErrDaysDeleted) {
			return err
		}
	}
	return err
}

// firstPage ranks no more than the page needs. Pages that follow find the ranking
// from before the answer on.
func (x *Exports) firstPage(ctx context.Context, key listingKey, limit int) (*sketch.Ranking, error) {
	snapshot, err := x.ranker.Snapshot(ctx, key.project, key.within)
	if err != nil {
		return nil, err
	}
	handedOver := false
	defer func() {
		if !handedOver {
			snapshot.Close()
		}
	}()
	ranking, err := snapshot.Top(ctx, limit)
	switch {
	case err != nil:
		return nil, err
	case ranking.Paths > limit:
		handedOver = true
		x.listings.keep(key, snapshot)
	default:
		x.listings.forget(key)
	}
	return ranking, nil
}

func (x *Exports) followingPage(ctx context.Context, key listingKey, offset, limit int) (*sketch.Ranking, error) {
	listing, err := x.listings.following(ctx, key)
	if err != nil {
		return nil, err
	}
	return listing.Page(ctx, offset, limit)
}

// newPage returns the page of consecutive rows of a ranking.
func newPage(ranking *sketch.Ranking, p parameters) Page {
	page := Page{
		Totals:   newCount(ranking.Totals, sketch.SitePrecision, p.accuracy),
		Visitors: make([]Row, 0, len(ranking.Rows)),
		HasMore:  p.offset+len(ranking.Rows) < ranking.Paths,
	}
	for _, row := range ranking.Rows {
		page.Visitors = append(page.Visitors, Row{Path: row.Path, Count: newCount(row.Count, sketch.PathPrecision, p.accuracy)})
	}
	return page
}

func newCount(c sketch.Count, precision sketch.Precision, accuracy bool) Count {
	count := Count{Human: c.Human, AI: c.AI, Total: c.Total}
	if accuracy {
		count.Accuracy = newAccuracy(c, precision)
	}
	return count
}
