package githost

import (
	"crypto/subtle"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// maxBody bounds a request's body in bytes.
const maxBody = 256 << 20

// Options of a host.
type Options struct {
	// Token is the password that every request has to carry as Basic credentials, with
	// any user; else it is answered with 401. Empty: everyone may read and push.
	Token string
}

// Request is one that the host got.
type Request struct {
	Method string
	Path   string // with the query
	Header http.Header
}

// Host serves repositories until the test ends.
type Host struct {
	t       testing.TB
	options Options
	root    string // the repositories
	git     string
	server  *httptest.Server

	mu        sync.Mutex
	requests  []Request
	intercept func(http.ResponseWriter, *http.Request) bool
}

// Start runs a host without repositories; it ends with the test.
func Start(t testing.TB, o Options) *Host {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatalf("githost: %v", err)
	}
	h := &Host{t: t, options: o, root: t.TempDir(), git: git}
	h.server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.server.Close)
	return h
}

// Address is the host's URL, without a path.
func (h *Host) Address() string { return h.server.URL }

// URL is the address of a repository. There need not be one.
func (h *Host) URL(repository string) string { return h.server.URL + "/" + repository + ".git" }

// Requests are those that came so far.
func (h *Host) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Request(nil), h.requests...)
}

// Intercept sets what looks at each request first, before the token is checked. Where
// it returns true, it has answered. Nil removes it.
func (h *Host) Intercept(f func(http.ResponseWriter, *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.intercept = f
}

func (h *Host) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.requests = append(h.requests, Request{r.Method, r.URL.RequestURI(), r.Header.Clone()})
	intercept := h.intercept
	h.mu.Unlock()
	if intercept != nil && intercept(w, r) {
		return
	}
	if h.options.Token != "" {
		_, password, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(password), []byte(h.options.Token)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="githost"`)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
	}
	if err := spool(r, h.root); err != nil {
		http.Error(w, "body", http.StatusBadRequest)
		return
	}
	defer r.Body.Close()
	backend := cgi.Handler{
		Path: h.git,
		Args: []string{"http-backend"},
		Env: []string{
			"GIT_PROJECT_ROOT=" + h.root,
			"GIT_HTTP_EXPORT_ALL=1",
			"REMOTE_USER=someone", // lets http-backend receive
			"GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=" + os.DevNull,
			"HOME=" + h.root,
		},
		Stderr: io.Discard,
		Logger: log.New(io.Discard, "", 0), // of a client that hung up
	}
	backend.ServeHTTP(w, r)
}

// spool gives a request that came in chunks a length: git sends what is over a
// megabyte so, and CGI has no such thing.
func spool(r *http.Request, dir string) error {
	if r.ContentLength >= 0 {
		return nil
	}
	f, err := os.CreateTemp(dir, "body-*")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return err
	}
	n, err := io.Copy(f, io.LimitReader(r.Body, maxBody))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return err
	}
	r.Body, r.ContentLength, r.TransferEncoding = f, n, nil
	return nil
}
