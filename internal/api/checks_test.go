package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/ingest"
	"footfall/internal/access"
	"footfall/internal/access/accesstest"
	"footfall/internal/api"
	"footfall/internal/forwarded"
	"footfall/internal/store"
	"footfall/query"
)

// service is the router with both endpoints, on a store in memory.
type service struct {
	t        *testing.T
	router   *api.Router
	registry *access.Registry

	mu  sync.Mutex
	now time.Time
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s.registry = accesstest.Open(t, s.clock)
	s.router = api.NewRouter(s.registry, nil, slog.New(slog.DiscardHandler))
	memory := store.NewMemory(nil, store.Limits{})
	pipeline, err := ingest.New(ingest.Options{Store: memory, Now: s.clock, MaxBodyBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	pipeline.Routes(s.router)
	query.New(query.Options{Ranker: memory}).Routes(s.router)
	return s
}

func (s *service) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *service) set(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// call is a request; what is left out is right.
type call struct {
	method string
	target string
	header http.Header
	body   string
}

func readOf(project string) call {
	return call{method: http.MethodGet, target: "/v1/analytics/" + project + "/visitors"}
}

func ingestOf(project string) call {
	return call{
		method: http.MethodPost,
		target: "/v1/analytics/" + project + "/events",
		header: http.Header{"Content-Type": {"application/json"}},
		body:   `{"path":"/","visitorId":"v","traffic":"human"}`,
	}
}

func (c call) with(name string, values ...string) call {
	c.header = c.header.Clone()
	if c.header == nil {
		c.header = make(http.Header)
	}
	c.header[name] = values
	return c
}

func (s *service) do(c call) *http.Response {
	s.t.Helper()
	request := httptest.NewRequestWithContext(s.t.Context(), c.method, c.target, strings.NewReader(c.body))
	for name, values := range c.header {
		request.Header[name] = values
	}
	recorder := httptest.NewRecorder()
	s.router.ServeHTTP(recorder, request)
	return recorder.Result()
}

// refused is the body of every error.
type refused struct {
	Error   string `json:"error"`
	Details []struct {
		Message string `json:"message"`
	} `json:"details"`
}

// checkRefusal holds an answer to the shape of errors and returns its text.
func checkRefusal(t *testing.T, answer *http.Response, status int) string {
	t.Helper()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != status {
		t.Errorf("status %d, want %d: %s", answer.StatusCode, status, text)
	}
	if got := answer.Header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	var body refused
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if body.Error == "" || len(body.Details) == 0 {
		t.Errorf("%s says nothing", text)
	}
	for _, detail := range body.Details {
		if detail.Message == "" {
			t.Errorf("%s has an empty detail", text)
		}
	}
	challenge := answer.Header.Get("WWW-Authenticate")
	if unauthorized := status == http.StatusUnauthorized; unauthorized != strings.HasPrefix(challenge, "Bearer") {
		t.Errorf("status %d with WWW-Authenticate %q", status, challenge)
	}
	return string(text)
}

func bearer(text string) []string { return []string{"Bearer " + text} }

func TestEveryKindOfKeyOnBothEndpoints(t *testing.T) {
	s := newService(t)
	accesstest.Project(t, s.registry, "docs")
	accesstest.Project(t, s.registry, "wiki")
	elsewhere := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	here := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // httptest's client is 192.0.2.1
	key := func(spec access.KeySpec) []string { return bearer(accesstest.Key(t, s.registry, spec)) }
	revoked, made, err := s.registry.CreateKey(access.KeySpec{Scope: access.Admin})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.registry.RevokeKey(made.ID); err != nil {
		t.Fatal(err)
	}
	expired := key(access.KeySpec{Scope: access.Admin, Expires: s.now.Add(time.Hour)})
	s.set(s.now.Add(time.Hour))

	const ok, accepted = http.StatusOK, http.StatusAccepted
	const unauthorized, forbidden, missing = http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound
	tests := []struct {
		name         string
		header       []string
		project      string
		read, ingest int
	}{
		{"none", nil, "docs", unauthorized, unauthorized},
		{"empty", []string{""}, "docs", unauthorized, unauthorized},
		{"malformed", []string{"Bearer secret"}, "docs", unauthorized, unauthorized},
		{"basic", []string{"Basic ZmY6Zm9v"}, "docs", unauthorized, unauthorized},
		{"unknown", bearer("ff_" + strings.Repeat("a", 32)), "docs", unauthorized, unauthorized},
		{"expired", expired, "docs", unauthorized, unauthorized},
		{"revoked", bearer(revoked), "docs", unauthorized, unauthorized},
		{"twice", append(key(access.KeySpec{Scope: access.Admin}), key(access.KeySpec{Scope: access.Admin})...), "docs", unauthorized, unauthorized},
		{"wrong project", key(access.KeySpec{Scope: access.Admin, Project: "docs"}), "wiki", forbidden, forbidden},
		{"wrong project that is not there", key(access.KeySpec{Scope: access.Admin, Project: "docs"}), "blog", forbidden, forbidden},
		{"wrong project that can not be", key(access.KeySpec{Scope: access.Admin, Project: "docs"}), "B_l_o_g", forbidden, forbidden},
		{"wrong address", key(access.KeySpec{Scope: access.Admin, Project: "docs", Allow: elsewhere}), "docs", forbidden, forbidden},
		{"right address", key(access.KeySpec{Scope: access.Admin, Project: "docs", Allow: here}), "docs", ok, accepted},
		{"read", key(access.KeySpec{Scope: access.Read, Project: "docs"}), "docs", ok, forbidden},
		{"ingest", key(access.KeySpec{Scope: access.Ingest, Project: "docs"}), "docs", forbidden, accepted},
		{"admin", key(access.KeySpec{Scope: access.Admin, Project: "docs"}), "docs", ok, accepted},
		{"read of all projects", key(access.KeySpec{Scope: access.Read}), "wiki", ok, forbidden},
		{"ingest of all projects", key(access.KeySpec{Scope: access.Ingest}), "wiki", forbidden, accepted},
		{"admin of all projects", key(access.KeySpec{Scope: access.Admin}), "wiki", ok, accepted},
		{"read of all projects, one not there", key(access.KeySpec{Scope: access.Read}), "blog", missing, forbidden},
		{"ingest of all projects, one not there", key(access.KeySpec{Scope: access.Ingest}), "blog", forbidden, missing},
		{"admin of all projects, one not there", key(access.KeySpec{Scope: access.Admin}), "blog", missing, missing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, endpoint := range []struct {
				call   call
				status int
			}{{readOf(test.project), test.read}, {ingestOf(test.project), test.ingest}} {
				request := endpoint.call
				if test.header != nil {
					request = request.with("Authorization", test.header...)
				}
				answer := s.do(request)
				if endpoint.status >= 400 {
					text := checkRefusal(t, answer, endpoint.status)
					for _, name := range []string{"docs", "wiki", "blog", "ff_"} {
						if strings.Contains(text, name) {
							t.Errorf("%s %s tells of %s: %s", request.method, request.target, name, text)
						}
					}
				} else if answer.StatusCode != endpoint.status {
					t.Errorf("%s %s: status %d, want %d", request.method, request.target, answer.StatusCode, endpoint.status)
				}
			}
		})
	}
}

// To a key of one project, another that exists looks like one that does not,
// whatever else is wrong with the request.
func TestAKeyLearnsNothingOfOtherProjects(t *testing.T) {
	s := newService(t)
	accesstest.Project(t, s.registry, "docs")
	accesstest.Project(t, s.registry, "wiki")
	for _, scope := range []access.Scope{access.Admin, access.Read, access.Ingest} {
		text := accesstest.Key(t, s.registry, access.KeySpec{Scope: scope, Project: "docs"})
		for name, request := range map[string]func(string) call{
			"read":       readOf,
			"ingest":     ingestOf,
			"bad limit":  func(project string) call { c := readOf(project); c.target += "?limit=x"; return c },
			"no body":    func(project string) call { c := ingestOf(project); c.body = ""; return c },
			"wrong type": func(project string) call { return ingestOf(project).with("Content-Type", "text/plain") },
		} {
			var answers []string
			for _, project := range []string{"wiki", "blog"} {
				answer := s.do(request(project).with("Authorization", bearer(text)...))
				body, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				answers = append(answers, fmt.Sprint(answer.StatusCode, answer.Header, string(body)))
				if answer.StatusCode != http.StatusForbidden {
					t.Errorf("%s with scope %s: status %d", name, scope, answer.StatusCode)
				}
			}
			if answers[0] != answers[1] {
				t.Errorf("%s with scope %s: a project that exists answers\n%s\none that does not\n%s", name, scope, answers[0], answers[1])
			}
		}
	}
}

func TestOrderOfChecks(t *testing.T) {
	s := newService(t)
	accesstest.Project(t, s.registry, "docs")
	admin := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Admin, Project: "docs"}))
	reader := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Read, Project: "docs"}))
	readerOfAll := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Read}))
	ingestOfAll := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Ingest}))
	badLimit := func(project string) call { c := readOf(project); c.target += "?limit=0"; return c }
	badBody := func(project string) call { c := ingestOf(project); c.body = "[{"; return c }
	badType := func(project string) call { return badBody(project).with("Content-Type", "text/plain") }
	tooLarge := func(project string) call { c := ingestOf(project); c.body = strings.Repeat(" ", 2<<10); return c }
	tests := []struct {
		name   string
		call   call
		key    []string
		status int
	}{
		{"no key, project unknown, parameter bad", badLimit("blog"), nil, 401},
		{"no key, body bad", badBody("docs"), nil, 401},
		{"malformed key, body too large", tooLarge("docs"), []string{"Bearer x"}, 401},
		{"scope wrong, parameter bad", badLimit("docs"), ingestOfAll, 403},
		{"scope wrong, project unknown, parameter bad", badLimit("blog"), ingestOfAll, 403},
		{"scope wrong, body bad", badBody("docs"), reader, 403},
		{"scope wrong, type wrong", badType("docs"), reader, 403},
		{"project wrong, body too large", tooLarge("blog"), admin, 403},
		{"project unknown, parameter bad", badLimit("blog"), readerOfAll, 404},
		{"project unknown, body bad", badBody("blog"), ingestOfAll, 404},
		{"project unknown, type wrong", badType("blog"), ingestOfAll, 404},
		{"project unknown, body too large", tooLarge("blog"), ingestOfAll, 404},
		{"parameter bad", badLimit("docs"), admin, 400},
		{"body bad", badBody("docs"), admin, 400},
		{"type wrong, body bad", badType("docs"), admin, 415},
		{"body too large", tooLarge("docs"), admin, 413},
		{"unknown route, no key", call{method: http.MethodGet, target: "/v1/analytics/docs"}, nil, 404},
		{"wrong method, no key", call{method: http.MethodDelete, target: "/v1/analytics/docs/visitors"}, nil, 405},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := test.call
			if test.key != nil {
				request = request.with("Authorization", test.key...)
			}
			checkRefusal(t, s.do(request), test.status)
		})
	}
}

func TestADeletedProjectAnswersNobody(t *testing.T) {
	s := newService(t)
	accesstest.Project(t, s.registry, "docs")
	own := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Admin, Project: "docs"}))
	all := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Admin}))
	if answer := s.do(ingestOf("docs").with("Authorization", own...)); answer.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d", answer.StatusCode)
	}
	if _, err := s.registry.DeleteProject("docs"); err != nil {
		t.Fatal(err)
	}
	for _, request := range []call{readOf("docs"), ingestOf("docs")} {
		checkRefusal(t, s.do(request.with("Authorization", own...)), http.StatusUnauthorized)
		checkRefusal(t, s.do(request.with("Authorization", all...)), http.StatusNotFound)
	}
	accesstest.Project(t, s.registry, "docs")
	checkRefusal(t, s.do(readOf("docs").with("Authorization", own...)), http.StatusUnauthorized)
	answer := s.do(readOf("docs").with("Authorization", all...))
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"totals":{"human":0,"ai":0,"total":0},"visitors":[],"hasMore":false}`; strings.TrimSpace(string(text)) != want {
		t.Errorf("the project that was created again answers %s", text)
	}
}

func TestPercentEncodedProjectID(t *testing.T) {
	s := newService(t)
	accesstest.Project(t, s.registry, "docs")
	key := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Admin, Project: "docs"}))
	for target, status := range map[string]int{
		"/v1/analytics/%64ocs/visitors":            200,
		"/v1/analytics/d%6Fc%73/visitors?limit=1":  200,
		"/v1/analytics/docs%20/visitors":           403,
		"/v1/analytics/docs%00/visitors":           403,
		"/v1/analytics/DOCS/visitors":              403,
		"/v1/analytics/%2564ocs/visitors":          403,
		"/v1/analytics//visitors":                  403,
		"/v1/analytics/docs%2Fvisitors":            404,
		"/v1/analytics/docs%2fvisitors":            404,
		"/v1/analytics/docs%2F..%2Fdocs/visitors":  404,
		"/v1/analytics/../analytics/docs/visitors": 404,
	} {
		answer := s.do(call{method: http.MethodGet, target: target}.with("Authorization", key...))
		if answer.StatusCode != status {
			t.Errorf("%s: status %d, want %d", target, answer.StatusCode, status)
		}
		if slices.Contains([]int{301, 302, 307, 308}, answer.StatusCode) || answer.Header.Get("Location") != "" {
			t.Errorf("%s redirects to %s", target, answer.Header.Get("Location"))
		}
	}
}

// TestTrustedProxy: a key that is bound to an address is good for a client behind
// a trusted proxy, and not for one that claims the address itself.
func TestTrustedProxy(t *testing.T) {
	registry := accesstest.Open(t, nil)
	accesstest.Project(t, registry, "docs")
	key := accesstest.Key(t, registry, access.KeySpec{
		Scope: access.Read, Project: "docs", Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")},
	})
	router := api.NewRouter(registry, forwarded.Trusted{netip.MustParsePrefix("10.0.0.0/8")}, slog.New(slog.DiscardHandler))
	router.Project(http.MethodGet, "/:projectId", func(w http.ResponseWriter, _ *http.Request, _ access.Project) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}, access.Read)
	tests := []struct {
		peer      string
		forwarded []string
		want      int
	}{
		{"192.0.2.1:1", nil, http.StatusNoContent},
		{"10.0.0.1:1", []string{"192.0.2.1"}, http.StatusNoContent},
		{"10.0.0.1:1", []string{"192.0.2.1", "10.0.0.2"}, http.StatusNoContent},
		{"10.0.0.1:1", []string{"192.0.2.1, 198.51.100.7"}, http.StatusForbidden},
		{"10.0.0.1:1", nil, http.StatusForbidden},
		{"198.51.100.7:1", []string{"192.0.2.1"}, http.StatusForbidden},
	}
	for _, test := range tests {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header["X-Forwarded-For"] = test.forwarded
		r.RemoteAddr = test.peer
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("from %s, forwarded for %q: status %d, want %d", test.peer, test.forwarded, w.Code, test.want)
		}
	}
}
