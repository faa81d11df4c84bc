package agentjobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"footfall/agentjobs/checkout"
	"footfall/agentjobs/gate"
	"footfall/agentjobs/sandbox"
	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
)

// Options gives jobs what they work with. A zero field takes its default.
type Options struct {
	Database *database.DB
	Registry *access.Registry
	Dir      string // for working copies, one directory a job
	Now      func() time.Time
	Random   io.Reader        // cryptographically secure
	Sandbox  *sandbox.Sandbox // in which agents run

	Gate         gate.Limits     // of a run's way to the model
	Author       checkout.Author // of commits: footfall <footfall@localhost>
	Concurrent   int             // runs at a time: 2
	RunsPerHour  int             // messages that a project may post an hour: 100
	RunTimeout   time.Duration   // of a run: 15 minutes
	RunBytes     uint64          // of disk that must be free for a run to begin, beside the database's reserve
	IdleTimeout  time.Duration   // of a run without an update of the agent: 2 minutes
	ArchiveAfter time.Duration   // since anything happened to a job: 30 days
	Retention    time.Duration   // of an archived job: 90 days
	SweepEvery   time.Duration   // how often what is due is archived and removed: 1 minute
	LogBytes     int             // of a job's log: 4 MiB
	// Insecure takes repositories, forges and models on this machine. It is meant for
	// tests: a project's settings could reach services that listen only here.
	Insecure bool

	Logger     *slog.Logger
	Registerer prometheus.Registerer // may be nil
}

// The bounds of what waits.
const (
	maxWaiting = 20     // messages of a job
	maxActive  = 10_000 // jobs of all projects
)

// Jobs are the agent jobs of all projects. It is safe for concurrent use.
type Jobs struct {
	options  Options
	db       *database.DB
	logger   *slog.Logger
	sockets  string // directory of the gates' sockets
	metrics  *metrics
	watchers *watchers

	ctx  context.Context // ends with Close
	stop context.CancelCauseFunc
	work sync.WaitGroup // runs, removals and the sweep
	// waiting ends with StopWaiting, and with it what requests wait for.
	waiting     context.Context
	stopWaiting context.CancelCauseFunc

	mu sync.Mutex // guards what follows, and makes each change of a job one step
	// started says that runs may begin.
	started  bool
	queue    []*run
	running  map[database.JobID]*run
	posted   map[string][]time.Time // when messages of a project came, of the last hour
	requests map[[32]byte]bool      // idempotency keys whose request is being answered
	// deleted are projects that were deleted while the process runs. A request or a
	// run that began before must not bring anything of them back.
	deleted map[uint64]bool // by number
}

// Why a run ends before it is done.
var (
	errStopping  = errors.New("the service stops")
	errCancelled = errors.New("the job was cancelled")
	errDeadline  = errors.New("the run took longer than it may")
)

// Open returns the jobs of a database. Nothing runs until Start.
func Open(o Options) (*Jobs, error) {
	o.Author = cmp.Or(o.Author, checkout.Author{Name: "footfall", Email: "footfall@localhost"})
	o.Concurrent = cmp.Or(o.Concurrent, 2)
	o.RunsPerHour = cmp.Or(o.RunsPerHour, 100)
	o.RunTimeout = cmp.Or(o.RunTimeout, 15*time.Minute)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute)
	o.ArchiveAfter = cmp.Or(o.ArchiveAfter, 30*24*time.Hour)
	o.Retention = cmp.Or(o.Retention, 90*24*time.Hour)
	o.SweepEvery = cmp.Or(o.SweepEvery, time.Minute)
	o.LogBytes = cmp.Or(o.LogBytes, 4<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of agent jobs: %w", err)
	}
	sockets, err := socketDir(o.Dir)
	if err != nil {
		return nil, err
	}
	js := &Jobs{
		options:  o,
		db:       o.Database,
		sockets:  sockets,
		logger:   o.Logger,
		watchers: newWatchers(),
		running:  make(map[database.JobID]*run),
		posted:   make(map[string][]time.Time),
		requests: make(map[[32]byte]bool),
		deleted:  make(map[uint64]bool),
	}
	js.ctx, js.stop = context.WithCancelCause(context.Background())
	js.waiting, js.stopWaiting = context.WithCancelCause(js.ctx)
	js.metrics = newMetrics(o.Registerer, js.depth)
	return js, nil
}

// Start takes up what a former process left, and begins to run jobs.
func (js *Jobs) Start() error {
	js.mu.Lock()
	defer js.mu.Unlock()
	if err := js.takeUpAll(); err != nil {
		return err
	}
	js.started = true
	js.dispatch()
	js.work.Go(js.sweepAlways)
	return nil
}

// Close stops what runs and waits for it. What ran or waits stays active, and the
// next start takes it up.
func (js *Jobs) Close() {
	js.mu.Lock()
	js.started = false
	js.mu.Unlock()
	js.StopWaiting()
	js.stop(errStopping)
	js.work.Wait()
	if js.sockets != js.options.Dir {
		if err := os.Remove(js.sockets); err != nil {
			js.logger.Warn("The directory of the gates' sockets was not removed.", "error", err)
		}
	}
}

// StopWaiting ends the requests that else last as long as a run does: streams of logs,
// checks, and deletions of projects. A server that stops would wait for them.
func (js *Jobs) StopWaiting() {
	js.watchers.close()
	js.stopWaiting(errStopping)
}

// Answers to what a client asks that are no success.
var (
	errUnknown      = &api.Error{Status: 404, Message: "there is no such job"}
	errArchived     = &api.Error{Status: 409, Message: "the job is archived; it takes no more messages"}
	errStillActive  = &api.Error{Status: 409, Message: "the job is active; cancel it before it is archived"}
	errManyWaiting  = &api.Error{Status: 429, Message: fmt.Sprintf("%d messages of the job wait already", maxWaiting), RetryAfter: time.Minute}
	errManyActive   = &api.Error{Status: 429, Message: fmt.Sprintf("%d jobs wait already", maxActive), RetryAfter: time.Minute}
	errStopsNow     = &api.Error{Status: 503, Message: errStopping.Error(), RetryAfter: 10 * time.Second}
	errWatchedByAll = &api.Error{Status: 429, Message: fmt.Sprintf("%d logs are being followed already", maxWatchers), RetryAfter: 10 * time.Second}
)

// Create makes a job of a project and queues its first message. also is written in
// the same step.
func (js *Jobs) Create(project access.Project, prompt string, also func(*badger.Txn, *job) error) (Job, error) {
	settings, found, err := js.Settings(project)
	if err != nil {
		return Job{}, err
	}
	if !found {
		return Job{}, errNoRepository
	}
	id, err := uuid.NewV7FromReader(js.options.Random)
	if err != nil {
		return Job{}, fmt.Errorf("making the ID of a job: %w", err)
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	if err := js.mayPost(project); err != nil {
		return Job{}, err
	}
	now := js.time()
	j := &job{
		ID:         database.JobID(id),
		Status:     Active,
		Repository: settings.Repository,
		BaseRef:    settings.Ref,
		Created:    now,
	}
	j.Model = settings.Model
	j.nextBranch()
	err = js.db.Update(func(txn *badger.Txn) error {
		if err := js.post(txn, project, j, prompt, now); err != nil {
			return err
		}
		if err := js.save(txn, project, j); err != nil {
			return err
		}
		return also(txn, j)
	})
	if err != nil {
		return Job{}, fmt.Errorf("creating a job of project %q: %w", project.ID, err)
	}
	js.metrics.moved("", Active)
	js.accepted(project, j, now)
	return j.told(), nil
}

// Message gives a job a follow-up.
func (js *Jobs) Message(project access.Project, id database.JobID, prompt string, also func(*badger.Txn, *job) error) (Job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	now := js.time()
	j, err := js.change(project, id, func(txn *badger.Txn, j *job) error {
		if _, allowed := j.Status.after(messagePosted); !allowed {
			return errArchived
		}
		if j.waiting() >= maxWaiting {
			return errManyWaiting
		}
		if err := js.mayPost(project); err != nil {
			return err
		}
		j.Failure = ""
		j.move(messagePosted)
		if err := js.post(txn, project, j, prompt, now); err != nil {
			return err
		}
		return also(txn, j)
	})
	if err != nil {
		return Job{}, err
	}
	js.accepted(project, j, now)
	return j.told(), nil
}

// post adds a message to a job.
func (js *Jobs) post(txn *badger.Txn, project access.Project, j *job, prompt string, now time.Time) error {
	key := database.JobMessageKey(project.Number, j.ID, j.Messages)
	j.Messages++
	j.Updated = now
	return database.SetJSON(txn, key, database.KindJobMessage, message{Prompt: prompt, Created: now})
}

// accepted counts a message that was kept, and queues its job unless that has a
// place there. The caller holds mu.
func (js *Jobs) accepted(project access.Project, j *job, now time.Time) {
	js.posted[project.ID] = append(js.posted[project.ID], now)
	if r := js.running[j.ID]; r != nil && !r.abandoned {
		return
	}
	if js.queued(j.ID) {
		return
	}
	js.enqueue(project, j.ID, now)
	js.dispatch()
}

// Cancel ends the run of a job that is active, and discards what waits. A job that
// is not active stays as it is.
func (js *Jobs) Cancel(project access.Project, id database.JobID) (Job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	active := false
	j, err := js.change(project, id, func(_ *badger.Txn, j *job) error {
		if active = j.Status == Active; active {
			j.fail(cancelAsked, errCancelled.Error(), js.time())
		}
		return nil
	})
	if err != nil || !active {
		return j.told(), err
	}
	js.drop(id)
	if r := js.running[id]; r != nil {
		r.abandoned = true
		r.cancel(errCancelled)
	} else {
		js.noteOnce(project, id, "The job was cancelled.")
	}
	js.metrics.outcomes.WithLabelValues("cancelled").Inc()
	js.watchers.wake()
	return j.told(), nil
}

// Archive ends a job for good and removes its working copy.
func (js *Jobs) Archive(project access.Project, id database.JobID) (Job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.archive(project, id, archiveAsked)
}

func (js *Jobs) archive(project access.Project, id database.JobID, why happening) (Job, error) {
	done := false
	j, err := js.change(project, id, func(_ *badger.Txn, j *job) error {
		if _, allowed := j.Status.after(why); !allowed || why == archiveDue && !js.idle(j, js.options.Now()) {
			return errStillActive
		}
		if done = j.Status != Archived; done {
			j.move(why)
			j.Archived = js.time()
			j.Updated = j.Archived
			j.Session, j.Answer = "", "" // No run comes that they are for.
		}
		return nil
	})
	if err != nil || !done {
		return j.told(), err
	}
	if js.running[id] == nil { // Else a cancelled run is still ending, and removes it.
		js.work.Go(func() { js.removeCopy(id) })
	}
	return j.told(), nil
}

// Get returns a job.
func (js *Jobs) Get(project access.Project, id database.JobID) (Job, error) {
	j, err := js.load(project, id)
	return j.told(), err
}

// time is the time as it is kept: UTC, to the millisecond.
func (js *Jobs) time() time.Time { return js.options.Now().UTC().Truncate(time.Millisecond) }
