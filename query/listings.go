package query

import (
	"container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"footfall/internal/api"
	"footfall/sketch"
)

// keptFor is how long a ranking is kept, from when its first page was answered.
const keptFor = 15 * time.Minute

// entryBytes is about what an entry takes beside its listing.
const entryBytes = 512

// errClosed is what a page that follows gets while the exports are closed.
var errClosed = &api.Error{Status: http.StatusServiceUnavailable, Message: "the server stops", RetryAfter: 10 * time.Second}

// listings keeps rankings for the pages that follow a first one, so that the pages
// of one walk fit together while page views come in. It is safe for concurrent use.
//
// A first page hands in its snapshot and is answered; all of it is ranked behind
// its back, by one worker (worker.go), so that a snapshot is not held until the
// next page is asked for, which may be never. To rank all of it first would be
// simpler, and make each first page as slow as a whole listing.
type listings struct {
	ranker  Ranker
	now     func() time.Time
	bound   int // of bytes
	logger  *slog.Logger
	metrics *listingMetrics

	working context.Context // ends with Close
	stop    context.CancelFunc
	stopped chan struct{} // closed by the worker

	mu      sync.Mutex
	entries map[listingKey]*entry // what following pages find, kept or not yet
	recent  *list.List            // kept entries, the last used first
	bytes   int                   // of kept entries
	waiting []*entry              // for the worker, in the order they came
	rested  time.Time             // when the worker may rank again what nobody waits for
	closed  bool

	changed chan struct{} // holds one where more is waiting or asked for, or closed is set
}

// listingKey is what all pages of one walk have in common.
type listingKey struct {
	apiKey  string // its ID
	project sketch.ProjectNumber
	within  sketch.Range
	walk    [sha256.Size]byte // see walkOf
}

// entry is a ranking that is kept, is being made, or waits to be made.
type entry struct {
	key     listingKey
	expires time.Time
	// snapshot is the first page's, until the worker takes it. An entry that waits
	// without one is ranked anew.
	snapshot sketch.Snapshot
	requests int                // that wait for it to be made
	due      time.Time          // when it is made though no request waits; by time.Now, as timers are
	began    time.Time          // its making, by the same clock
	cancel   context.CancelFunc // of its making; nil before
	place    *list.Element      // among the recent; nil while it is not kept

	// made is closed once the three are set for good.
	made    chan struct{}
	anew    bool // ranked for a page that follows, not for a first one
	listing sketch.Listing
	err     error
}

func newEntry(key listingKey, now time.Time, snapshot sketch.Snapshot) *entry {
	return &entry{
		key:      key,
		expires:  now.Add(keptFor),
		snapshot: snapshot,
		due:      time.Now().Add(patience),
		made:     make(chan struct{}),
	}
}

// newListings starts a worker.
func newListings(opts Options) *listings {
	l := &listings{
		ranker:  opts.Ranker,
		now:     opts.Now,
		bound:   opts.ListingBytes,
		logger:  opts.Logger,
		stopped: make(chan struct{}),
		entries: make(map[listingKey]*entry),
		recent:  list.New(),
		changed: make(chan struct{}, 1),
	}
	l.working, l.stop = context.WithCancel(context.Background())
	l.metrics = newListingMetrics(l, opts.Registerer)
	go l.work()
	return l
}

// Close stops the worker, waits for it, and lets go of everything. Requests that
// wait for a ranking get errClosed. It may be called again.
func (l *listings) Close() {
	l.mu.Lock()
	var snapshots []sketch.Snapshot
	for _, e := range l.waiting {
		snapshots = append(snapshots, e.snapshot)
		e.snapshot, e.err = nil, errClosed
		close(e.made)
	}
	l.waiting = nil
	clear(l.entries)
	l.recent.Init()
	l.bytes = 0
	l.closed = true
	l.mu.Unlock()
	closeAll(snapshots...)
	l.stop()
	l.wake()
	<-l.stopped
}

// keep hands in the snapshot of a first page, which replaces an older one, to be
// ranked for the pages that follow. It takes the snapshot over.
func (l *listings) keep(key listingKey, snapshot sketch.Snapshot) {
	now := l.now()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		snapshot.Close()
		return
	}
	l.expire(now)
	replaced := l.remove(key)
	dropped := l.enqueue(newEntry(key, now, snapshot))
	l.wake()
	l.mu.Unlock()
	closeAll(replaced, dropped)
}

// forget lets go of the ranking of an older first page.
func (l *listings) forget(key listingKey) {
	l.mu.Lock()
	dropped := l.remove(key)
	l.mu.Unlock()
	closeAll(dropped)
}

// following returns the ranking for a page that follows: the one that is kept, or
// once it is made, or else one that is ranked anew and kept as well. Requests that
// come meanwhile share it.
func (l *listings) following(ctx context.Context, key listingKey) (sketch.Listing, error) {
	now := l.now()
	l.mu.Lock()
	l.expire(now)
	e := l.entries[key]
	if e != nil && e.place != nil {
		if now.Before(e.expires) {
			l.recent.MoveToFront(e.place)
			l.mu.Unlock()
			l.metrics.kept.Inc()
			return e.listing, nil
		}
		l.remove(key)
		e = nil
	}
	if e == nil {
		if l.closed {
			l.mu.Unlock()
			return nil, errClosed
		}
		e = newEntry(key, now, nil)
		l.enqueue(e)
	}
	e.requests++
	l.wake()
	l.mu.Unlock()

	select {
	case <-e.made:
	case <-ctx.Done():
		l.leave(e)
		return nil, fmt.Errorf("waiting for the ranking of %v: %w", key.within, ctx.Err())
	}
	switch {
	case e.err != nil:
		return nil, e.err
	case e.anew:
		l.metrics.anew.Inc()
	default:
		l.metrics.kept.Inc()
	}
	return e.listing, nil
}

// leave is for a request that waits no more.
func (l *listings) leave(e *entry) {
	l.mu.Lock()
	e.requests--
	dropped := l.abandon(e)
	l.mu.Unlock()
	closeAll(dropped)
}

// The methods below are called with l.mu held. They return a snapshot that is to
// be closed without it, or nil.

// remove takes an entry away from the pages that follow. Requests that wait for it
// already get it all the same.
func (l *listings) remove(key listingKey) sketch.Snapshot {
	e := l.entries[key]
	if e == nil {
		return nil
	}
	delete(l.entries, key)
	if e.place != nil {
		l.recent.Remove(e.place)
		l.bytes -= e.memoryBytes()
		return nil
	}
	return l.abandon(e)
}

// abandon gives up an entry that is of no use: no request waits for it, and none
// would find it, or would find nothing of it but its place in the queue.
func (l *listings) abandon(e *entry) sketch.Snapshot {
	found := l.entries[e.key] == e
	turn := slices.Index(l.waiting, e)
	if e.requests > 0 || found && (turn < 0 || e.snapshot != nil) {
		return nil
	}
	if found {
		delete(l.entries, e.key)
	}
	if turn >= 0 {
		l.waiting = slices.Delete(l.waiting, turn, turn+1)
	}
	if e.cancel != nil {
		e.cancel()
	}
	snapshot := e.snapshot
	e.snapshot = nil
	return snapshot
}

// admit puts a listing that was made among the kept ones, in place of those that
// were not used for longest. One that alone exceeds the bound is not kept.
func (l *listings) admit(e *entry) {
	size := e.memoryBytes()
	if size > l.bound {
		delete(l.entries, e.key)
		return
	}
	for l.bytes+size > l.bound {
		l.remove(l.recent.Back().Value.(*entry).key)
	}
	l.bytes += size
	e.place = l.recent.PushFront(e)
}

// expire removes the kept entries that are too old, from the last used on. One may
// stay behind a younger one that is used less, though nobody gets it: it goes with
// that, or after it, within another 15 minutes.
func (l *listings) expire(now time.Time) {
	for last := l.recent.Back(); last != nil; last = l.recent.Back() {
		e := last.Value.(*entry)
		if now.Before(e.expires) {
			return
		}
		l.remove(e.key)
	}
}

// size returns how many entries are kept, and their bytes.
func (l *listings) size() (entries, bytes int) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	return l.recent.Len(), l.bytes
}

func (e *entry) memoryBytes() int { return e.listing.MemoryBytes() + entryBytes }

func closeAll(snapshots ...sketch.Snapshot) {
	for _, snapshot := range snapshots {
		if snapshot != nil {
			snapshot.Close()
		}
	}
}
