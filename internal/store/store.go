package store

import (
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/commitlog"
	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// Options says where a store keeps its data and within which bounds.
type Options struct {
	// LogDir holds the segment files of the log.
	LogDir string
	// Database holds everything else. The caller opens and closes it.
	Database *database.DB
	// Live tells which projects exist. What a deletion that was interrupted left
	// of others is removed at the start.
	Live func(sketch.ProjectNumber) bool
	// Now is the clock by which receipts expire; nil means time.Now.
	Now func() time.Time
	// Limits bounds what one project may make the store keep.
	Limits Limits
	// QueueBytes bounds the memory of batches between Commit and folding.
	// 0 means 32 MiB.
	QueueBytes int
	// OverlayBytes is the memory of folded differences at which a checkpoint
	// begins. While one is written, as much again may gather. 0 means 64 MiB.
	OverlayBytes int
	// KnownPaths is how many paths are remembered, 16 bytes each, to hold projects
	// to their limits; beyond it they are read again. 0 means 1,000,000.
	KnownPaths int
	// NumberedPaths is how many paths are remembered for queries, about 48 bytes each;
	// beyond it they are read again. 0 means 300,000.
	NumberedPaths int
	// CacheBytes is the memory of tables and sets that queries read. 0 means 64 MiB.
	CacheBytes int
	// CheckpointInterval is after what time a checkpoint begins, whatever gathered:
	// late page views are merged into their blocks then. 0 means a minute.
	CheckpointInterval time.Duration
	// LogBytes is the size of the log at which a checkpoint begins, and so bounds
	// what a start after a crash has to replay. 0 means 256 MiB.
	LogBytes int64
	// LogFS is the file system of the log. nil means the operating system's.
	LogFS commitlog.FS
	// Room returns an error where the disk has too little room to write on, such as
	// sketch.ErrDiskFull, which every batch is then refused with. It is asked for
	// every batch. nil means that there is always room.
	Room func() error
	// Logger may be nil.
	Logger *slog.Logger
	// Registerer takes the metrics. It may be nil.
	Registerer prometheus.Registerer
}

// Store keeps page views in a log and in Badger. It is safe for concurrent use.
type Store struct {
	db           *database.DB
	now          func() time.Time
	room         func() error
	logger       *slog.Logger
	metrics      *metrics
	limits       Limits
	queueBytes   int
	overlayBytes int
	logBytes     int64

	checkpointInterval time.Duration

	queue    *queue
	projects projects
	seed     maphash.Seed // of the hashes of paths
	answers  sync.Pool    // of chan error, with capacity 1
	buffers  sync.Pool    // of *[]byte, for records

	numbers     *numbering
	cache       *part.Cache
	snapshots   chan struct{} // a place for each that may be open
	rankings    chan struct{} // a place for each that may run at once
	groupUnions sync.Pool     // of *groupUnion
	siteUnions  sync.Pool     // of *sketch.Accumulator

	// writing is held by the writer from before an append until its group is
	// acknowledged, and by a deletion, which keeps the writer out.
	writing sync.Mutex
	log     *commitlog.Log

	// checkpointTurn is held while a checkpoint is written.
	checkpointTurn  sync.Mutex
	checkpointDue   chan struct{} // capacity 1; the overlay or the log has its size
	checkpointAsked chan struct{} // capacity 1; there is no room
	// These are guarded by checkpointTurn.
	swept    time.Time                     // when expired receipts were removed
	unmerged map[sketch.ProjectNumber]bool // may have blocks that are due
	merged   sketch.Day                    // the last one that was looked at all projects on

	turnWanted atomic.Int32  // how many deletions wait for checkpointTurn
	deletions  atomic.Uint64 // of days
	blocksDue  atomic.Int64  // as of the last look

	// Whenever one of these has grown, less may be kept than is remembered of
	// projects.
	refusals atomic.Uint64 // of batches that were decided about
	sweeps   atomic.Uint64 // of expired receipts

	mu       sync.Mutex
	flushed  uint64        // how many overlays were written by checkpoints
	active   *overlay      // takes what is folded
	flushing *overlay      // being written by a checkpoint; nil otherwise. It does not change.
	folded   chan struct{} // closed and replaced whenever active has advanced
	swapped  chan struct{} // closed and replaced whenever active has become flushing

	running sync.WaitGroup
}

// Open opens the store, folds again what the log holds beyond the last
// checkpoint, and starts the writer, the folder and the checkpointer. Damage in
// the log before its tail is a commitlog.ErrDamaged, a damaged value a
// sketch.ErrCorrupted; both name the place.
func Open(opts Options) (*Store, error) {
	if opts.QueueBytes == 0 {
		opts.QueueBytes = 32 << 20
	}
	if opts.OverlayBytes == 0 {
		opts.OverlayBytes = 64 << 20
	}
	if opts.LogBytes == 0 {
		opts.LogBytes = 256 << 20
	}
	if opts.KnownPaths == 0 {
		opts.KnownPaths = 1_000_000
	}
	if opts.NumberedPaths == 0 {
		opts.NumberedPaths = 300_000
	}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = 64 << 20
	}
	if opts.CheckpointInterval == 0 {
		opts.CheckpointInterval = time.Minute
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Room == nil {
		opts.Room = func() error { return nil }
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	seed := maphash.MakeSeed()
	s := &Store{
		seed:               seed,
		numbers:            newNumbering(seed, opts.NumberedPaths),
		db:                 opts.Database,
		now:                opts.Now,
		room:               opts.Room,
		logger:             opts.Logger,
		limits:             opts.Limits.withDefaults(),
		queueBytes:         opts.QueueBytes,
		overlayBytes:       opts.OverlayBytes,
		logBytes:           opts.LogBytes,
		queue:              newQueue(opts.QueueBytes),
		projects:           projects{known: make(map[sketch.ProjectNumber]*project), limit: opts.KnownPaths},
		checkpointInterval: opts.CheckpointInterval,
		cache:              part.NewCache(opts.CacheBytes, opts.Registerer),
		snapshots:          make(chan struct{}, maxSnapshots),
		rankings:           make(chan struct{}, 2*runtime.GOMAXPROCS(0)),
		groupUnions:        sync.Pool{New: func() any { return newGroupUnion(part.Reader{}, nil) }},
		siteUnions:         sync.Pool{New: func() any { return sketch.NewAccumulator(sketch.SitePrecision) }},
		unmerged:           make(map[sketch.ProjectNumber]bool),
		answers:            sync.Pool{New: func() any { return make(chan error, 1) }},
		buffers:            sync.Pool{New: func() any { return new([]byte) }},
		checkpointDue:      make(chan struct{}, 1),
		checkpointAsked:    make(chan struct{}, 1),
		folded:             make(chan struct{}),
		swapped:            make(chan struct{}),
	}
	if err := s.recover(opts); err != nil {
		return nil, err
	}
	// Only now: the gauges look into the log and the overlay, and a start that
	// failed has neither.
	s.metrics = newMetrics(opts.Registerer, s)

	s.blocksDue.Store(1) // Nobody has looked.
	groups := make(chan []*pending, 1)
	s.running.Go(func() { s.write(groups) })
	s.running.Go(func() { s.foldGroups(groups) })
	s.running.Go(s.checkpointWhenDue)
	return s, nil
}

// Close takes no more batches, waits until those that wait are durable and
// folded, writes a checkpoint and closes the log. The database stays open.
func (s *Store) Close() error {
	if !s.queue.close() {
		return nil
	}
	s.running.Wait()
	err := s.checkpoint()
	if closeErr := s.log.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("closing the log: %w", closeErr))
	}
	return err
}

// Acknowledged returns the position of the last batch that was made durable.
func (s *Store) Acknowledged() sketch.Position {
	return s.queue.acknowledged()
}

// Ready returns nil while batches are taken, and else why not: an error that is
// sketch.ErrUnavailable or sketch.ErrDiskFull.
func (s *Store) Ready() error {
	if _, err := s.queue.begin(0); err != nil { // No project has this number.
		return err
	}
	return s.room()
}
