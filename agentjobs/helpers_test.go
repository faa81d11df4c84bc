package agentjobs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/prometheus/client_golang/prometheus"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/agenttest/githost"
	"footfall/agentjobs/agenttest/model"
	"footfall/agentjobs/sandbox"
	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
)

const (
	repository = "example/docs"
	forgeToken = "forge-token-that-nobody-may-see"
	modelKey   = "model-key-that-nobody-may-see"
	modelName  = "scripted-1"
	patience   = 60 * time.Second
)

// bench is a whole service of agent jobs with everything around it: a git host, a
// forge, a model, and the test agent.
type bench struct {
	*agentjobs.Jobs
	t        *testing.T
	options  agentjobs.Options
	project  access.Project
	registry *access.Registry
	router   *api.Router
	key      string
	log      *syncBuffer

	git   *githost.Host
	forge *forgehost.Host
	model *model.Server
	dir   string

	mu  sync.Mutex
	now time.Time // zero for the real time
}

// newBench starts a service whose options are changed by change, if that is not nil.
func newBench(t *testing.T, change func(*agentjobs.Options)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), log: new(syncBuffer)}
	b.git = githost.Start(t, githost.Options{Token: forgeToken})
	b.git.Create(repository, map[string]string{
		"docs/index.md":            "# Docs\n",
		"docs/install.md":          "Run it.\n",
		"README.md":                "A repository.\n",
		".github/workflows/ci.yml": "on: push\n",
	})
	b.forge = forgehost.Start(t, forgehost.Options{Token: forgeToken, Branches: func(string) map[string]string {
		tips := make(map[string]string)
		for _, name := range b.git.Branches(repository) {
			tips[name] = b.git.Tip(repository, name)
		}
		return tips
	}})
	b.model = model.Start(t, model.Editor, model.RequireKey(modelKey), model.Models(modelName))

	db, err := database.Open(filepath.Join(b.dir, "badger"), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.registry, err = access.Open(access.Options{Database: db, Now: b.Clock, Random: rand.Reader, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{Mode: sandbox.Bubblewrap, Self: self, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	b.options = agentjobs.Options{
		Database: db, Registry: b.registry, Dir: filepath.Join(b.dir, "jobs"), Now: b.Clock, Random: rand.Reader,
		Sandbox: box, Insecure: true, Logger: logger,
	}
	if change != nil {
		change(&b.options)
	}
	b.project, err = b.registry.CreateProject("docs")
	if err != nil {
		t.Fatal(err)
	}
	if b.key, _, err = b.registry.CreateKey(access.KeySpec{Scope: access.Admin, Project: "docs"}); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.set(nil)
	t.Cleanup(func() {
		b.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		for _, secret := range []string{forgeToken, modelKey} {
			if strings.Contains(b.log.String(), secret) {
				t.Error("the service's log holds a secret")
			}
		}
		if t.Failed() {
			t.Log(b.log.String())
		}
	})
	return b
}

// open opens the service on its database and starts it.
func (b *bench) open() {
	b.t.Helper()
	options := b.options
	options.Registerer = prometheus.NewRegistry()
	jobs, err := agentjobs.Open(options)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Jobs = jobs
	b.router = api.NewRouter(b.registry, nil, b.options.Logger)
	jobs.Routes(b.router)
	if err := jobs.Start(); err != nil {
		b.t.Fatal(err)
	}
}

// set gives the project settings that work, changed by change.
func (b *bench) set(change func(*agentjobs.Settings)) {
	b.t.Helper()
	argv, err := json.Marshal([]string{testAgent})
	if err != nil {
		b.t.Fatal(err)
	}
	s := agentjobs.Settings{
		Repository: b.git.URL(repository), Ref: "main", Forge: "github", ForgeURL: b.forge.APIURL,
		ForgeTokenFile: b.secret("token", forgeToken), Agent: string(argv),
		Model: modelName, ModelURL: b.model.URL + "/v1", ModelKeyFile: b.secret("key", modelKey),
	}
	if change != nil {
		change(&s)
	}
	if _, err := b.SetSettings(b.project, s); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) secret(name, text string) string {
	b.t.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return file
}

// Clock is the time of the service.
func (b *bench) Clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now.IsZero() {
		return time.Now()
	}
	return b.now
}

// setClock stops the clock at a time.
func (b *bench) setClock(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = now
}

// answer is what the service answered.
type answer struct {
	status int
	header http.Header
	text   string
}

// do sends a request to the project's path of agent jobs.
func (b *bench) do(method, path, body string, header ...string) answer {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, "/v2/agent/docs"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+b.key)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.router.ServeHTTP(w, r)
	return answer{status: w.Code, header: w.Header(), text: w.Body.String()}
}

// want reads the job in an answer of a status.
func (b *bench) want(a answer, status int) agentjobs.Job {
	b.t.Helper()
	if a.status != status {
		b.t.Fatalf("status %d, want %d: %s", a.status, status, a.text)
	}
	var j agentjobs.Job
	if status < 300 {
		decoder := json.NewDecoder(strings.NewReader(a.text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&j); err != nil {
			b.t.Fatalf("%s: %v", a.text, err)
		}
	}
	return j
}

func prompt(text string) string {
	body, err := json.Marshal(map[string]string{"prompt": text})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// post posts a job.
func (b *bench) post(text string) agentjobs.Job {
	b.t.Helper()
	return b.want(b.do(http.MethodPost, "/job", prompt(text)), http.StatusCreated)
}

// message posts a follow-up.
func (b *bench) message(id, text string) agentjobs.Job {
	b.t.Helper()
	return b.want(b.do(http.MethodPost, "/job/"+id+"/message", prompt(text)), http.StatusOK)
}

func (b *bench) job(id string) agentjobs.Job {
	b.t.Helper()
	return b.want(b.do(http.MethodGet, "/job/"+id, ""), http.StatusOK)
}

// await waits until a job is no longer active.
func (b *bench) await(id string) agentjobs.Job {
	b.t.Helper()
	var last agentjobs.Job
	b.until("the job ends", func() bool {
		last = b.job(id)
		return last.Status != agentjobs.Active
	})
	return last
}

// until waits for a condition.
func (b *bench) until(what string, condition func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			b.t.Fatalf("waited for %v until %s", patience, what)
		case <-tick.C:
		}
	}
}

// lines returns the log of a job.
func (b *bench) lines(id string) []agentjobs.Line {
	b.t.Helper()
	a := b.do(http.MethodGet, "/job/"+id+"/log", "")
	if a.status != http.StatusOK {
		b.t.Fatalf("status %d: %s", a.status, a.text)
	}
	var lines []agentjobs.Line
	decoder := json.NewDecoder(strings.NewReader(a.text))
	for {
		var l agentjobs.Line
		err := decoder.Decode(&l)
		if err == io.EOF {
			return lines
		}
		if err != nil {
			b.t.Fatalf("%s: %v", a.text, err)
		}
		lines = append(lines, l)
	}
}

// said reports whether a line of the log of a job holds a text.
func (b *bench) said(id, text string) bool {
	for _, l := range b.lines(id) {
		if strings.Contains(l.Text, text) {
			return true
		}
	}
	return false
}

// syncBuffer is a buffer that several write to.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.String()
}

// hold keeps runs at the fetch of the repository, until release is called. It holds
// those that begin, not those that are past it.
func (b *bench) hold() (release func()) {
	b.t.Helper()
	open := make(chan struct{})
	b.git.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-open:
		case <-r.Context().Done():
		}
		return false
	})
	release = sync.OnceFunc(func() { close(open) })
	b.t.Cleanup(release)
	return release
}

// keys returns the database's keys that begin with a prefix.
func (b *bench) keys(prefix []byte) (keys []string) {
	b.t.Helper()
	err := b.options.Database.View(func(txn *badger.Txn) error {
		return database.EachKey(txn, prefix, func(key []byte) error {
			keys = append(keys, string(key))
			return nil
		})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return keys
}

// copies returns what lies in the directory of working copies.
func (b *bench) copies() (names []string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.options.Dir)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// reason is why a job failed, empty where it did not.
func reason(j agentjobs.Job) string {
	if j.FailureReason == nil {
		return ""
	}
	return *j.FailureReason
}

// addOther makes a project named other with the same settings.
func (b *bench) addOther() {
	b.t.Helper()
	settings, _, err := b.Settings(b.project)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.SetSettings(projectOf(b.t, b, "other"), settings); err != nil {
		b.t.Fatal(err)
	}
}

// projectOf makes another project, without settings.
func projectOf(t *testing.T, b *bench, id string) access.Project {
	t.Helper()
	project, err := b.registry.CreateProject(id)
	if err != nil {
		t.Fatal(err)
	}
	return project
}
