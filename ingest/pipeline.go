package ingest

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/ingest/useragent"
	"footfall/internal/fairshare"
	"footfall/sketch"
)

// Store makes batches durable. When Commit returns nil, the batch survives the
// end of the process and of the machine, and may be used again.
// sketch.ErrOverloaded, ErrDiskFull, ErrSourceMoved, ErrRepeated, ErrTooManyReceipts,
// ErrBatchTooLarge and ErrProjectDeleted say that nothing of it was kept;
// sketch.ErrUnavailable that nobody knows before the next start.
//
// FindReceipt returns the receipt that a batch left under the SHA-256 of its
// idempotency key. found is false where there is none within its lifetime.
type Store interface {
	Commit(context.Context, sketch.Batch) error
	FindReceipt(ctx context.Context, project sketch.ProjectNumber, key [32]byte) (receipt sketch.Receipt, found bool, err error)
}

// Options gives a pipeline what it works with.
type Options struct {
	Store Store
	Now   func() time.Time
	// MaxBodyBytes bounds the body of a request. 0 means 16 MiB.
	MaxBodyBytes int64
	// MaxLineBytes bounds an event of newline-delimited JSON. 0 means 64 KiB.
	MaxLineBytes int
	// BodyBytes bounds the memory of all bodies that are being read. 0 means 64 MiB.
	// It should be BodiesPerLargest times MaxBodyBytes at least.
	BodyBytes int
	// Registerer takes the metrics. It may be nil.
	Registerer prometheus.Registerer
}

// BodiesPerLargest is how many times the largest body the memory of all bodies
// must have room for, so that it passes while it is alone: an encoded one takes
// one buffer as it is sent and two, while the larger is filled, as it is decoded;
// and a project gets half of what is free.
const BodiesPerLargest = 4

// Pipeline turns page views into committed batches. It is safe for concurrent
// use.
type Pipeline struct {
	store      Store
	now        func() time.Time
	maxBody    int64
	maxLine    int
	buffers    buffers
	decoders   decoders
	classifier *useragent.Classifier
	metrics    *metrics
	readers    sync.Pool // of *reader
}

// reader is what reading a request takes, kept from one request to the next.
type reader struct {
	decoder   *decoder
	validator *validator
}

func (p *Pipeline) takeReader(secret [16]byte) *reader {
	r, ok := p.readers.Get().(*reader)
	if !ok {
		r = &reader{decoder: newDecoder(p.maxLine), validator: newValidator(p)}
	}
	r.validator.begin(secret)
	return r
}

func (p *Pipeline) giveBack(r *reader) {
	r.validator.reset()
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
	if opts.MaxLineBytes == 0 {
		opts.MaxLineBytes = 64 << 10
	}
	if opts.BodyBytes == 0 {
		opts.BodyBytes = BodiesPerLargest * int(opts.MaxBodyBytes)
	}
	memory := fairshare.NewPool(opts.BodyBytes)
	return &Pipeline{
		store:      opts.Store,
		now:        opts.Now,
		maxBody:    opts.MaxBodyBytes,
		maxLine:    opts.MaxLineBytes,
		buffers:    buffers{memory: memory},
		decoders:   newDecoders(runtime.GOMAXPROCS(0)),
		classifier: classifier,
		metrics:    newMetrics(opts.Registerer, memory),
	}, nil
}
