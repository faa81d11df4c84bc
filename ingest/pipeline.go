package ingest

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/ingest/useragent"
	"footfall/sketch"
)

// Committer makes batches durable. When Commit returns nil, the batch survives
// the end of the process and of the machine. sketch.ErrOverloaded,
// ErrSourceMoved, ErrBatchTooLarge and ErrProjectDeleted say that nothing of it
// was kept; sketch.ErrUnavailable that nobody knows before the next start.
type Committer interface {
	Commit(context.Context, sketch.Batch) error
}

// Options gives a pipeline what it works with.
type Options struct {
	Committer Committer
	Now       func() time.Time
	// MaxBodyBytes bounds the body of a request. 0 means 16 MiB.
	MaxBodyBytes int64
	// Registerer takes the metrics. It may be nil.
	Registerer prometheus.Registerer
}

// Pipeline turns page views into committed batches. It is safe for concurrent
// use.
type Pipeline struct {
	committer  Committer
	now        func() time.Time
	maxBody    int64
	classifier *useragent.Classifier
	metrics    *metrics
	readers    sync.Pool // of *reader
}

// reader is what reading a request takes, kept from one request to the next.
type reader struct {
	body      bytes.Buffer
	validator *validator
}

// maxKeptBody bounds the body buffer that a reader keeps: one large request must
// not hold its memory for as long as the process runs.
const maxKeptBody = 1 << 20

func (p *Pipeline) takeReader(secret [16]byte) *reader {
	r, ok := p.readers.Get().(*reader)
	if !ok {
		r = &reader{validator: newValidator(p)}
	}
	r.validator.begin(secret)
	return r
}

func (p *Pipeline) giveBack(r *reader) {
	if r.body.Cap() > maxKeptBody {
		r.body = bytes.Buffer{}
	}
	r.body.Reset()
	p.readers.Put(r)
}

// userAgentCache is how many user agents the classifier remembers: a site's
// readers use some thousands, and one entry takes a few hundred bytes.
const userAgentCache = 32 << 10

// New returns a pipeline. It compiles the tables of user agents, which takes
// some tens of milliseconds and fails only when the tables are damaged.
func New(opts Options) (*Pipeline, error) {
	classifier, err := useragent.New(userAgentCache)
	if err != nil {
		return nil, err
	}
	if opts.MaxBodyBytes == 0 {
		opts.MaxBodyBytes = 16 << 20
	}
	return &Pipeline{
		committer:  opts.Committer,
		now:        opts.Now,
		maxBody:    opts.MaxBodyBytes,
		classifier: classifier,
		metrics:    newMetrics(opts.Registerer),
	}, nil
}

// commit makes the visits of one request durable as one batch.
func (p *Pipeline) commit(ctx context.Context, project sketch.ProjectNumber, visits []sketch.Visit, mark sketch.Mark) error {
	if err := p.committer.Commit(ctx, sketch.Batch{Project: project, Visits: visits, Mark: mark}); err != nil {
		return err
	}
	p.metrics.accept(visits)
	return nil
}
