package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"footfall/internal/access"
	"footfall/internal/access/accesstest"
	"footfall/internal/api"
)

// Only the path as it is documented is a route: no redirects, no guesses.
func TestMisspeltPathsAreNotFound(t *testing.T) {
	s := newService(t)
	accesstest.Project(t, s.registry, "docs")
	key := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Admin}))
	for _, target := range []string{
		"/",
		"/v1",
		"/v1/analytics/docs",
		"/v1/analytics/docs/",
		"/v1/analytics/docs/visitors/",
		"/v1/analytics/docs/Visitors",
		"/V1/analytics/docs/visitors",
		"/v1/Analytics/docs/visitors",
		"//v1/analytics/docs/visitors",
		"/v1//analytics/docs/visitors",
		"/v1/analytics/docs//visitors",
		"/v1/analytics/./docs/visitors",
		"/v1/analytics/docs/../docs/visitors",
		"/v1/analytics/docs/visitors/page",
		"/v1/analytics/docs/visitor",
		"/v1/analytics/docs/events/",
		"/v2/analytics/docs/visitors",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			for _, header := range [][]string{nil, key} {
				answer := s.do(call{method: method, target: target}.with("Authorization", header...))
				checkRefusal(t, answer, http.StatusNotFound)
				if location := answer.Header.Get("Location"); location != "" {
					t.Errorf("%s %s redirects to %s", method, target, location)
				}
			}
		}
	}
}

// OPTIONS and HEAD are methods like others: none is answered in place of a
// handler, and Allow names those that are answered and no other.
func TestMethods(t *testing.T) {
	s := newService(t)
	accesstest.Project(t, s.registry, "docs")
	key := bearer(accesstest.Key(t, s.registry, access.KeySpec{Scope: access.Admin}))
	for target, allowed := range map[string]string{
		"/v1/analytics/docs/visitors":    http.MethodGet,
		"/v1/analytics/docs/events":      http.MethodPost,
		"/v1/analytics/unknown/events":   http.MethodPost,
		"/v1/analytics/docs/visitors?a=": http.MethodGet,
	} {
		for _, method := range []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace, "get", "PURGE",
		} {
			if method == allowed {
				continue
			}
			for _, header := range [][]string{nil, key} {
				answer := s.do(call{method: method, target: target}.with("Authorization", header...))
				text := checkRefusal(t, answer, http.StatusMethodNotAllowed)
				if got := answer.Header.Values("Allow"); len(got) != 1 || got[0] != allowed {
					t.Errorf("%s %s: Allow %q, want %q", method, target, got, allowed)
				}
				if strings.Contains(text, "allowed: ") && !strings.Contains(text, "allowed: "+allowed+`"`) {
					t.Errorf("%s %s: the answer names other methods: %s", method, target, text)
				}
			}
		}
	}
}

// Over a connection, where net/http has its own ideas of HEAD.
func TestHead(t *testing.T) {
	s := newService(t)
	server := httptest.NewServer(s.router)
	defer server.Close()
	response, err := http.Head(server.URL + "/v1/analytics/docs/visitors")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != http.MethodGet || len(text) > 0 {
		t.Errorf("status %d, Allow %q, body %q", response.StatusCode, response.Header.Get("Allow"), text)
	}
}

func TestPublicRoutesNeedNoKey(t *testing.T) {
	router := api.NewRouter(accesstest.Open(t, nil), nil, slog.New(slog.DiscardHandler))
	router.Public(http.MethodGet, "/healthz", func(w http.ResponseWriter, _ *http.Request) {
		api.Write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	recorder := httptest.NewRecorder()
	router.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
	if recorder.Code != http.StatusOK || recorder.Body.String() != "{\"status\":\"ok\"}\n" {
		t.Errorf("status %d, body %q", recorder.Code, recorder.Body)
	}
	for name, want := range map[string]string{
		"Content-Type":           "application/json; charset=utf-8",
		"Cache-Control":          "no-store",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := recorder.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestPanics(t *testing.T) {
	registry := accesstest.Open(t, nil)
	accesstest.Project(t, registry, "docs")
	key := accesstest.Key(t, registry, access.KeySpec{Scope: access.Read})
	var log bytes.Buffer
	router := api.NewRouter(registry, nil, slog.New(slog.NewTextHandler(&log, nil)))
	var cause any = "the password is hunter2"
	router.Project(http.MethodGet, "/:projectId", func(http.ResponseWriter, *http.Request, access.Project) error {
		panic(cause)
	}, access.Read)
	router.Public(http.MethodPost, "/", func(http.ResponseWriter, *http.Request) { panic(cause) })

	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, request := range []*http.Request{
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs", nil),
		httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil),
		httptest.NewRequestWithContext(gone, http.MethodPost, "/", nil),
	} {
		for _, cause = range []any{"the password is hunter2", errors.New("hunter2"), 42} {
			log.Reset()
			request.Header.Set("Authorization", "Bearer "+key)
			recorder := httptest.NewRecorder()
			router.ServeHTTP(recorder, request)
			text := checkRefusal(t, recorder.Result(), http.StatusInternalServerError)
			if strings.Contains(text, "hunter2") || strings.Contains(text, "panic") || strings.Contains(text, ".go") {
				t.Errorf("the answer tells the cause: %s", text)
			}
			if !strings.Contains(log.String(), "router_test.go") {
				t.Errorf("the log does not tell where: %s", log.String())
			}
			if strings.Contains(log.String(), key) {
				t.Error("the log holds the key")
			}
		}
	}

	// The way to cut a connection off, which net/http wants to see itself.
	cause = http.ErrAbortHandler
	defer func() {
		if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // What panicked is no chain.
			t.Errorf("recovered %v", got)
		}
	}()
	router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	t.Error("the panic was swallowed")
}

// The address of a connection decides, not what a client says of itself.
func TestClientAddress(t *testing.T) {
	registry := accesstest.Open(t, nil)
	accesstest.Project(t, registry, "docs")
	var allow []netip.Prefix
	for _, s := range []string{"10.0.0.0/8", "2001:db8::/32", "fe80::/10"} {
		prefix, err := access.ParseAllow(s)
		if err != nil {
			t.Fatal(err)
		}
		allow = append(allow, prefix)
	}
	key := accesstest.Key(t, registry, access.KeySpec{Scope: access.Read, Project: "docs", Allow: allow})
	router := api.NewRouter(registry, nil, slog.New(slog.DiscardHandler))
	router.Project(http.MethodGet, "/:projectId", func(w http.ResponseWriter, _ *http.Request, p access.Project) error {
		api.Write(w, http.StatusOK, p.ID)
		return nil
	}, access.Read)
	for remote, status := range map[string]int{
		"10.1.2.3:1024":          200,
		"[::ffff:10.1.2.3]:1024": 200,
		"[2001:db8::7]:1024":     200,
		"[fe80::1%eth0]:1024":    200,
		"192.0.2.1:1024":         403,
		"[2001:db9::7]:1024":     403,
		"10.1.2.3":               403,
		"@":                      403,
		"":                       403,
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs", nil)
		request.RemoteAddr = remote
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("X-Forwarded-For", "10.0.0.1")
		request.Header.Set("Forwarded", "for=10.0.0.1")
		request.Header.Set("X-Real-Ip", "10.0.0.1")
		recorder := httptest.NewRecorder()
		router.ServeHTTP(recorder, request)
		if recorder.Code != status {
			t.Errorf("from %q: status %d, want %d", remote, recorder.Code, status)
		}
	}
}
