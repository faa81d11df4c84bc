package forgehost

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxRequest is the most bytes of a request's body that are read.
const maxRequest = 1 << 20

// Options are what a Host is made of.
type Options struct {
	// Token is the one that requests have to carry.
	Token string

	// Branches returns the branches of a repository, "owner/name", with their
	// commits; nil where there is no such repository. It is called by requests, so
	// from several goroutines.
	Branches func(repository string) map[string]string

	// Gitea says that the host differs from GitHub as Gitea does: its API is below
	// /api/v1/, its list ignores the branch asked for, an open pull request is in
	// the way with status 409 and a missing branch with 404, and a branch without a
	// difference is none.
	Gitea bool
}

// Pull is a pull request that the host keeps.
type Pull struct {
	Repository  string // "owner/name"
	Number      int    // counted over all repositories of the host, from 1
	Head, Base  string
	Title, Body string
	Draft       bool
	State       string // "open" or "closed"
	Merged      bool
}

// Request is a request that came in.
type Request struct {
	Method string
	Path   string // below the API's base, unescaped
	Query  string
	Header http.Header
	Body   string
}

// Host is a running forge.
type Host struct {
	URL    string // of its pages, with no slash at its end; a repository is at URL/owner/name
	APIURL string // the base of its API, with a slash at its end

	options Options
	prefix  string

	mu       sync.Mutex
	pulls    []*Pull // the one of number n is at n-1
	answers  []*Answer
	requests []Request
}

// Start runs a Host until the end of the test.
func Start(t testing.TB, o Options) *Host {
	t.Helper()
	h := &Host{options: o, prefix: "/api/v3/"}
	if o.Gitea {
		h.prefix = "/api/v1/"
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.URL, h.APIURL = server.URL, server.URL+h.prefix
	return h
}

// Repository returns the URL of a repository, "owner/name", as it would be
// cloned from. Nothing answers there: the host keeps no git repositories.
func (h *Host) Repository(name string) string { return h.URL + "/" + name + ".git" }

// Pulls returns the pull requests in the order they were opened.
func (h *Host) Pulls() []Pull {
	h.mu.Lock()
	defer h.mu.Unlock()
	var pulls []Pull
	for _, p := range h.pulls {
		pulls = append(pulls, *p)
	}
	return pulls
}

// Open adds a pull request, as a person would who opens one on the pages. It is
// not checked. Its number is returned.
func (h *Host) Open(p Pull) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.Number, p.State = len(h.pulls)+1, "open"
	h.pulls = append(h.pulls, &p)
	return p.Number
}

// Merge merges the pull request of a number. No commit is made: the repository
// is not the host's.
func (h *Host) Merge(number int) { h.end(number, true) }

// Close closes the pull request of a number without merging it.
func (h *Host) Close(number int) { h.end(number, false) }

func (h *Host) end(number int, merged bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if number < 1 || number > len(h.pulls) || h.pulls[number-1].State != "open" {
		panic(fmt.Sprintf("forgehost: there is no open pull request %d", number))
	}
	h.pulls[number-1].State, h.pulls[number-1].Merged = "closed", merged
}

// Requests returns the requests that came in, also those that were turned away.
func (h *Host) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// ServeHTTP records a request and answers it.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, isAPI := strings.CutPrefix(r.URL.Path, h.prefix)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil || !isAPI {
		h.refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.mu.Lock()
	h.requests = append(h.requests, Request{
		Method: r.Method, Path: path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: string(body),
	})
	h.mu.Unlock()

	answer := h.take(r.Method, path)
	if answer == nil {
		h.serve(w, r, path)
		return
	}
	if answer.Done {
		h.serve(httptest.NewRecorder(), r, path)
	}
	answer.write(w, r)
}
