package forgehost

import (
	"cmp"
	"net/http"
	"strings"
)

// Answer is given in the place of the host's own.
type Answer struct {
	Method string // of the requests that get it; empty for any
	Path   string // how their path ends; empty for any
	Times  int    // how many requests get it; 0 for all that come

	Status int // 0 stands for 200
	Header map[string]string
	Body   string

	Done bool // what was asked is done all the same, and only its answer replaced
	Cut  bool // the connection is closed instead of an answer, after Body where a Status is given
	Hang bool // nothing is answered until the client leaves
}

// Inject makes requests get an answer. Where several would fit, the one that was
// injected first is given.
func (h *Host) Inject(a Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = append(h.answers, &a)
}

// take returns the answer injected for a request, or nil.
func (h *Host) take(method, path string) *Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, a := range h.answers {
		if a.Method != "" && a.Method != method || !strings.HasSuffix(path, a.Path) {
			continue
		}
		if a.Times == 1 {
			h.answers = append(h.answers[:i:i], h.answers[i+1:]...)
		}
		taken := *a
		a.Times = max(0, a.Times-1)
		return &taken
	}
	return nil
}

func (a *Answer) write(w http.ResponseWriter, r *http.Request) {
	if a.Hang {
		<-r.Context().Done()
		return
	}
	for key, value := range a.Header {
		w.Header().Set(key, value)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	if a.Cut && a.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
	_, _ = w.Write([]byte(a.Body)) // A client that left is no failure of the test.
	if a.Cut {
		_ = http.NewResponseController(w).Flush() // It has failed only where the client left.
		panic(http.ErrAbortHandler)
	}
}
