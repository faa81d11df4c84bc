package ingest_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/ingest"
	"footfall/internal/access"
	"footfall/internal/access/accesstest"
	"footfall/internal/api"
	"footfall/sketch"
)

// noon is what the clocks of all tests say.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	browser = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	agent   = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
	crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)

// batches is a Store that keeps what it was given, or refuses it.
type batches struct {
	taken []sketch.Batch
	err   error
}

func (b *batches) Commit(_ context.Context, batch sketch.Batch) error {
	if b.err != nil {
		return b.err
	}
	if batch.Empty() {
		return nil
	}
	kept := sketch.NewBatch(batch.Project, slices.Collect(batch.Views())...) // The batch is used again.
	kept.Mark, kept.Receipt = batch.Mark, batch.Receipt
	b.taken = append(b.taken, kept)
	return nil
}

func (b *batches) FindReceipt(context.Context, sketch.ProjectNumber, [32]byte) (sketch.Receipt, bool, error) {
	return sketch.Receipt{}, false, nil
}

// visits returns all that was committed since the last call.
func (b *batches) visits() []sketch.PageView {
	var all []sketch.PageView
	for _, batch := range b.taken {
		all = slices.AppendSeq(all, batch.Views())
	}
	b.taken = nil
	return all
}

func newPipeline(t testing.TB, store ingest.Store) *ingest.Pipeline {
	t.Helper()
	pipeline, err := ingest.New(ingest.Options{
		Store:        store,
		Now:          func() time.Time { return noon },
		MaxBodyBytes: maxBody,
	})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline
}

const maxBody = 1 << 20

// inlet is the events endpoint of one project, behind the router.
type inlet struct {
	t         testing.TB
	committed *batches
	registry  *access.Registry
	router    *api.Router
	project   access.Project
	key       string
}

func newInlet(t testing.TB) *inlet {
	t.Helper()
	registry := accesstest.Open(t, func() time.Time { return noon })
	in := &inlet{
		t:         t,
		committed: new(batches),
		registry:  registry,
		router:    api.NewRouter(registry, nil, slog.New(slog.DiscardHandler)),
		project:   accesstest.Project(t, registry, "docs"),
		key:       accesstest.Key(t, registry, access.KeySpec{Scope: access.Ingest}),
	}
	newPipeline(t, in.committed).Routes(in.router)
	return in
}

// answer is what the endpoint answers, be it good or bad.
type answer struct {
	status int
	text   string

	Accepted, Rejected, Ignored int
	Errors                      []struct {
		Index int
		Error string
	}
	Error   string
	Details []struct{ Message string }
}

const (
	asJSON  = "application/json"
	asLines = "application/x-ndjson"
)

func (in *inlet) request(contentType string, body io.Reader) *http.Request {
	request := httptest.NewRequestWithContext(in.t.Context(), http.MethodPost, "/v1/analytics/docs/events", body)
	request.Header.Set("Authorization", "Bearer "+in.key)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return request
}

func (in *inlet) post(contentType, body string) answer {
	in.t.Helper()
	return in.do(in.request(contentType, strings.NewReader(body)))
}

func (in *inlet) do(request *http.Request) answer {
	in.t.Helper()
	recorder := httptest.NewRecorder()
	in.router.ServeHTTP(recorder, request)
	a := answer{status: recorder.Code, text: strings.TrimSuffix(recorder.Body.String(), "\n")}
	if err := json.Unmarshal([]byte(a.text), &a); err != nil {
		in.t.Fatalf("%s: %v", a.text, err)
	}
	return a
}

// event is the JSON of an event that breaks no rule, but for what is changed: nil
// leaves a field out.
func event(changes map[string]any) string {
	fields := map[string]any{"path": "/", "visitorId": "v", "traffic": "human"}
	for name, value := range changes {
		fields[name] = value
		if value == nil {
			delete(fields, name)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // Strings and numbers; a test holds something else.
	}
	return string(text)
}

// quote writes a string as JSON.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // No string fails.
	}
	return string(text)
}
