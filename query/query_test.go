package query_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"footfall/internal/access"
	"footfall/internal/access/accesstest"
	"footfall/internal/api"
	"footfall/query"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The database below the API keys leaves these behind.
		goleak.IgnoreTopFunction("github.com/dgraph-io/badger/v4.(*DB).monitorCache"),
		goleak.IgnoreTopFunction("github.com/dgraph-io/ristretto/v2/z.(*AllocatorPool).freeupAllocators"),
	)
}

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// keys are those of an office: to each its text.
type keys struct {
	docs, otherDocs string // for the project docs
	all             string // for all projects
}

// office has the projects docs and wiki, and keys to them. It may be made outside of
// a synctest bubble for sites within.
type office struct {
	registry *access.Registry
	project  access.Project // docs
	keys     keys
}

func newOffice(t *testing.T) *office {
	t.Helper()
	registry := accesstest.Open(t, newClock().Now)
	o := &office{registry: registry, project: accesstest.Project(t, registry, "docs")}
	accesstest.Project(t, registry, "wiki")
	key := func(project string) string {
		text := accesstest.Key(t, registry, access.KeySpec{Scope: access.Read, Project: project})
		// The first use of a day is written to disk, which is none of a bubble's.
		key, err := registry.Authenticate([]string{"Bearer " + text})
		if err == nil {
			_, err = registry.Authorize(key, netip.Addr{}, "docs", access.Read)
		}
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	o.keys = keys{docs: key("docs"), otherDocs: key("docs"), all: key("")}
	return o
}

// site is the export endpoint behind the router.
type site struct {
	t *testing.T
	*office
	router  *api.Router
	exports *query.Exports
	clock   *clock
}

func newSite(t *testing.T, ranker query.Ranker) *site {
	t.Helper()
	return newOffice(t).site(t, query.Options{Ranker: ranker})
}

// site returns the endpoint until the end of the test. Where the ranker is ranks, it
// must have no snapshot left then.
func (o *office) site(t *testing.T, opts query.Options) *site {
	t.Helper()
	s := &site{t: t, office: o, router: api.NewRouter(o.registry, nil, slog.New(slog.DiscardHandler)), clock: newClock()}
	opts.Now = s.clock.Now
	s.exports = query.New(opts)
	s.exports.Routes(s.router)
	t.Cleanup(func() {
		s.exports.Close()
		if r, ok := opts.Ranker.(*ranks); ok {
			r.checkClosed(t)
		}
	})
	return s
}

// get asks for an export of docs and returns status and body.
func (s *site) get(query string) (int, string) {
	s.t.Helper()
	return s.getAs(s.t.Context(), s.keys.docs, "docs", query)
}

func (s *site) getAs(ctx context.Context, key, project, query string) (int, string) {
	s.t.Helper()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/analytics/"+project+"/visitors", nil)
	request.URL.RawQuery = query // As it came: NewRequest would not take all of them.
	request.Header.Set("Authorization", "Bearer "+key)
	recorder := httptest.NewRecorder()
	s.router.ServeHTTP(recorder, request)
	text, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return recorder.Code, strings.TrimSuffix(string(text), "\n")
}

// page asks for an export of docs that must be answered.
func (s *site) page(query string) query.Page {
	s.t.Helper()
	return s.pageAs(s.keys.docs, "docs", query)
}

func (s *site) pageAs(key, project, text string) query.Page {
	s.t.Helper()
	status, body := s.getAs(s.t.Context(), key, project, text)
	return decodePage(s.t, text, status, body)
}

func decodePage(t *testing.T, text string, status int, body string) (page query.Page) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
		t.Fatalf("%q: status %d, %v: %s", text, status, err, body)
	}
	return page
}

// metric is the value of a metric of this name, and outcome where there are several;
// of a histogram, how many values it took.
func metric(t *testing.T, registry *prometheus.Registry, name, outcome string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() != name || outcome != "" && m.GetLabel()[0].GetValue() != outcome {
				continue
			}
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	t.Fatalf("there is no metric %s %s", name, outcome)
	return 0
}
