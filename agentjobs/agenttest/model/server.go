package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Bounds of the server, above what a test sends and below what hurts.
const (
	maxBody     = 32 << 20 // bytes of one request
	maxRequests = 10_000   // that are kept; more fail the test
)

// Server is a model on loopback, from Start to the end of its test.
type Server struct {
	// URL is the base of what OpenAI's clients call the base URL, without the
	// "/v1": http://127.0.0.1:port.
	URL string

	t        testing.TB
	script   Script
	key      string
	models   []string
	dialects map[API]dialect

	mutex    sync.Mutex
	requests []Request
	arrived  chan struct{} // closed, and replaced, when a request is kept
}

// Option changes a server that starts.
type Option func(*Server)

// RequireKey has the server refuse requests without this key: 401, kept as
// requests all the same. Without it every key will do.
func RequireKey(key string) Option { return func(s *Server) { s.key = key } }

// Models names what GET /v1/models lists. A request may ask for any other model.
func Models(names ...string) Option { return func(s *Server) { s.models = names } }

// Start starts a server that answers by the script and ends with the test.
func Start(t testing.TB, script Script, options ...Option) *Server {
	t.Helper()
	s := &Server{
		t:       t,
		script:  script,
		models:  []string{"scripted"},
		arrived: make(chan struct{}),
		dialects: map[API]dialect{
			Chat:      chatDialect(),
			Responses: responsesDialect(),
			Messages:  messagesDialect(),
		},
	}
	for _, option := range options {
		option(s)
	}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		// Ends the answers that stall: Close waits for them.
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// Requests returns those that arrived up to now, in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.requests)
}

// Await returns the requests once there are at least count of them, or the
// context's error.
func (s *Server) Await(ctx context.Context, count int) ([]Request, error) {
	for {
		s.mutex.Lock()
		requests, arrived := slices.Clone(s.requests), s.arrived
		s.mutex.Unlock()
		if len(requests) >= count {
			return requests, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return requests, fmt.Errorf("wait for request %d, have %d: %w", count, len(requests), ctx.Err())
		}
	}
}

func (s *Server) keep(request Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.requests) == maxRequests {
		s.t.Errorf("model: more than %d requests", maxRequests)
		return
	}
	s.requests = append(s.requests, request)
	close(s.arrived)
	s.arrived = make(chan struct{})
}

// ServeHTTP answers one request. It is the handler of the server that Start
// started.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := Request{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone()}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	request.Body = body
	dialect, known := s.dialects[API(r.URL.Path)]
	if err == nil && known && r.Method == http.MethodPost {
		err = dialect.decode(&request)
		request.API = API(r.URL.Path)
	}
	s.keep(request)

	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		writeError(w, dialect, http.StatusRequestEntityTooLarge, "request too large")
	case err != nil:
		writeError(w, dialect, http.StatusBadRequest, err.Error())
	case s.key != "" && request.Key() != s.key:
		writeError(w, dialect, http.StatusUnauthorized, "invalid api key")
	case r.URL.Path == "/v1/models" && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, s.list())
	case !known:
		writeError(w, dialect, http.StatusNotFound, "no such path")
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, dialect, http.StatusMethodNotAllowed, "method not allowed")
	default:
		s.answer(w, r, request, dialect)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, request Request, dialect dialect) {
	answer := s.script(request)
	answer.Calls = slices.Clone(answer.Calls)
	for i := range answer.Calls {
		// Not random: the same conversation gets the same answer, byte for byte.
		if answer.Calls[i].ID == "" {
			answer.Calls[i].ID = fmt.Sprintf("call_%d_%d", len(request.Messages), i)
		}
	}
	out := &stream{w: w, client: r.Context()}
	switch {
	case answer.Location != "":
		w.Header().Set("Location", answer.Location)
		if answer.Status == 0 {
			answer.Status = http.StatusTemporaryRedirect
		}
		w.WriteHeader(answer.Status)
	case answer.Status != 0 && answer.Status != http.StatusOK:
		if answer.RetryAfter != "" {
			w.Header().Set("Retry-After", answer.RetryAfter)
		}
		if answer.EchoKey {
			answer.Text += ": " + request.Key()
		}
		writeError(w, dialect, answer.Status, answer.Text)
	case request.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		dialect.stream(out, request, answer)
	case answer.Stall:
		w.Header().Set("Content-Type", "application/json")
		out.stall()
	default:
		answer.Text += strings.Repeat(filler, int(answer.Filler)/len(filler)) + filler[:int(answer.Filler)%len(filler)]
		writeJSON(w, http.StatusOK, dialect.whole(request, answer))
	}
}

func (s *Server) list() any {
	type entry struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	entries := make([]entry, 0, len(s.models))
	for _, name := range s.models {
		entries = append(entries, entry{ID: name, Object: "model"})
	}
	return fields{"object": "list", "data": entries}
}

func writeError(w http.ResponseWriter, dialect dialect, status int, message string) {
	fault := openaiFault
	if dialect.fault != nil {
		fault = dialect.fault
	}
	writeJSON(w, status, fault(status, message))
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone is no fault of the test's model.
	_ = json.NewEncoder(w).Encode(value)
}
