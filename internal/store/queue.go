package store

import (
	"errors"
	"fmt"
	"sync"

	"footfall/internal/fairshare"
	"footfall/sketch"
)

// pending is a batch between Commit and folding.
type pending struct {
	project  sketch.ProjectNumber
	record   []byte
	buffer   *[]byte // to keep the record's memory in; nil for a small one
	mark     sketch.Mark
	receipt  *sketch.Receipt
	position sketch.Position
	done     chan error // capacity 1; answered once the batch is durable
	// refused is the answer, where it is an error.
	refused error
	// settled is closed with the answer, for others that wait for the same
	// receipt. nil without one.
	settled chan struct{}
}

// bytes is the memory that the queue accounts a batch with.
func (p *pending) bytes() int {
	const header = 256
	return header + cap(p.record)
}

func (p *pending) answer(err error) {
	p.refused = err
	p.done <- err
	if p.settled != nil {
		close(p.settled)
	}
}

// queue holds the batches between Commit and folding, within a bound of bytes
// that projects share.
type queue struct {
	pool *fairshare.Pool

	mu      sync.Mutex
	arrived *sync.Cond
	// waiting are the batches not yet given to the log, those of a project in
	// their order; turns are the projects that have some, the next first.
	waiting map[sketch.ProjectNumber][]*pending
	turns   []sketch.ProjectNumber
	closed  chan struct{}
	failure error         // of the log; latched
	failed  chan struct{} // closed with the first failure
	// released is closed and replaced whenever batches were folded or refused.
	released chan struct{}
	acked    sketch.Position
	// refusals counts how often what had been decided about was refused.
	refusals uint64
	// sources and receipts are those of the batches not yet folded.
	sources  map[sourceKey]*pendingSource
	receipts map[receiptKey]*pending
	deleted  map[sketch.ProjectNumber]bool
}

type sourceKey struct {
	project sketch.ProjectNumber
	source  sketch.Source
}

// pendingSource is a source of which batches are between Commit and folding.
type pendingSource struct {
	to      int64 // offset behind the last of them
	batches int
}

type receiptKey struct {
	project sketch.ProjectNumber
	key     [32]byte
}

func newQueue(limit int) *queue {
	q := &queue{
		pool:     fairshare.NewPool(limit),
		waiting:  make(map[sketch.ProjectNumber][]*pending),
		closed:   make(chan struct{}),
		failed:   make(chan struct{}),
		released: make(chan struct{}),
		sources:  make(map[sourceKey]*pendingSource),
		receipts: make(map[receiptKey]*pending),
		deleted:  make(map[sketch.ProjectNumber]bool),
	}
	q.arrived = sync.NewCond(&q.mu)
	return q
}

// begin returns how often what had been decided about was refused, for push, or why
// no batch of a project is taken.
func (q *queue) begin(project sketch.ProjectNumber) (refusals uint64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refusals, q.refusal(project)
}

// push queues a batch that was decided about since begin, or refuses it and keeps
// nothing of it.
func (q *queue) push(p *pending, refusals uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refusal(p.project); err != nil {
		return err
	}
	if q.refusals != refusals {
		return sketch.ErrOverloaded // What it rests on may have been refused.
	}
	if !q.pool.Take(p.project, p.bytes()) {
		return sketch.ErrOverloaded
	}
	if !p.mark.IsZero() {
		key := sourceKey{p.project, p.mark.Source}
		source := q.sources[key]
		if source == nil {
			source = new(pendingSource)
			q.sources[key] = source
		}
		source.to = p.mark.To
		source.batches++
	}
	if p.receipt != nil {
		q.receipts[receiptKey{p.project, p.receipt.Key}] = p
	}
	line := q.waiting[p.project]
	if len(line) == 0 {
		q.turns = append(q.turns, p.project)
	}
	q.waiting[p.project] = append(line, p)
	q.arrived.Signal()
	return nil
}

// refusal returns why no batch of a project is taken, if so. The caller holds
// q.mu.
func (q *queue) refusal(project sketch.ProjectNumber) error {
	switch {
	case q.isClosed():
		return fmt.Errorf("%w: it is closed", sketch.ErrUnavailable)
	case q.failure != nil:
		return fmt.Errorf("%w: %w", sketch.ErrUnavailable, q.failure)
	case q.deleted[project]:
		return sketch.ErrProjectDeleted
	}
	return nil
}

// A group is what shares one sync: at most about groupBytes, of which a project
// gets turnBytes, or one batch, before the next one has its turn. So the batch
// of a project that sends little waits for two groups, however much another one
// has queued, unless so many projects have that a group is full of their turns.
const (
	groupBytes = 1 << 20
	turnBytes  = 64 << 10
)

// take waits for batches and returns those of the next group, or nil once the
// queue is closed and empty.
func (q *queue) take() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.turns) == 0 {
		if q.isClosed() {
			return nil
		}
		q.arrived.Wait()
	}
	var group []*pending
	for bytes := 0; len(q.turns) > 0 && bytes < groupBytes; {
		project := q.turns[0]
		q.turns = q.turns[1:]
		line := q.waiting[project]
		taken := 0
		for turn := 0; taken < len(line) && turn < turnBytes; taken++ {
			turn += len(line[taken].record)
			bytes += len(line[taken].record)
		}
		group = append(group, line[:taken]...)
		if taken < len(line) {
			q.waiting[project] = line[taken:]
			q.turns = append(q.turns, project)
		} else {
			delete(q.waiting, project)
		}
	}
	return group
}

// admit turns away the batches of a group whose project was deleted while they
// waited, and the whole group once the log has failed.
func (q *queue) admit(group []*pending) []*pending {
	admitted := make([]*pending, 0, len(group))
	var refused []*pending
	var reasons []error
	q.mu.Lock()
	for _, p := range group {
		switch {
		case q.failure != nil:
			refused, reasons = append(refused, p), append(reasons, fmt.Errorf("%w: %w", sketch.ErrUnavailable, q.failure))
		case q.deleted[p.project]:
			refused, reasons = append(refused, p), append(reasons, sketch.ErrProjectDeleted)
		default:
			admitted = append(admitted, p)
		}
	}
	q.mu.Unlock()
	for i, p := range refused {
		p.answer(reasons[i])
	}
	q.release(refused)
	return admitted
}

// acknowledge answers a group that was appended up to position last. The
// position is published before any answer, so that a query which begins after an
// answer waits for the batch to be folded.
func (q *queue) acknowledge(group []*pending, last sketch.Position) {
	q.mu.Lock()
	q.acked = last
	q.mu.Unlock()
	first := last - sketch.Position(len(group)) + 1
	for i, p := range group {
		p.position = first + sketch.Position(i)
		p.answer(nil)
	}
}

// fail answers a group that could not be appended, and refuses all that follows:
// what a failed write or sync left on disk is not known.
func (q *queue) fail(group []*pending, err error) {
	q.mu.Lock()
	if q.failure == nil {
		close(q.failed)
	}
	q.failure = errors.Join(q.failure, err)
	group = append(group, q.clear()...)
	q.mu.Unlock()
	for _, p := range group {
		p.answer(fmt.Errorf("%w: %w", sketch.ErrUnavailable, err))
	}
	q.release(group)
}

// refuse answers a group of which nothing was kept, and all that wait: they may
// rest on it, as the next part of an import does. It returns how many they were.
func (q *queue) refuse(group []*pending, err error) int {
	q.mu.Lock()
	q.refusals++
	group = append(group, q.clear()...)
	q.mu.Unlock()
	// Before the answers: who sends again at once must not meet what it held.
	for _, p := range group {
		p.refused = err
	}
	q.release(group)
	for _, p := range group {
		p.answer(err)
	}
	return len(group)
}

// clear returns what waits, which waits no more. The caller holds q.mu.
func (q *queue) clear() (waiting []*pending) {
	for _, line := range q.waiting {
		waiting = append(waiting, line...)
	}
	clear(q.waiting)
	q.turns = nil
	return waiting
}

// release gives back what batches that were folded or refused held.
func (q *queue) release(group []*pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range group {
		q.pool.Give(p.project, p.bytes())
		if !p.mark.IsZero() {
			key := sourceKey{p.project, p.mark.Source}
			source := q.sources[key]
			if p.refused != nil {
				// Those behind it were refused too; those before it were not.
				source.to = min(source.to, p.mark.From)
			}
			if source.batches--; source.batches == 0 {
				delete(q.sources, key)
			}
		}
		if p.receipt != nil {
			delete(q.receipts, receiptKey{p.project, p.receipt.Key})
		}
	}
	close(q.released)
	q.released = make(chan struct{})
}

// idle reports whether no batch of a project is between Commit and folding, and
// returns a channel that is closed when that may have changed.
func (q *queue) idle(project sketch.ProjectNumber) (bool, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pool.Held(project) == 0, q.released
}

// sourceEnd returns the offset behind the last batch of a source that is not yet
// folded. found is false where there is none.
func (q *queue) sourceEnd(project sketch.ProjectNumber, source sketch.Source) (to int64, found bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	pending := q.sources[sourceKey{project, source}]
	if pending == nil {
		return 0, false
	}
	return pending.to, true
}

// receipt returns the batch not yet folded that has a receipt of this key, or nil.
func (q *queue) receipt(project sketch.ProjectNumber, key [32]byte) *pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.receipts[receiptKey{project, key}]
}

func (q *queue) acknowledged() sketch.Position {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.acked
}

func (q *queue) isDeleted(project sketch.ProjectNumber) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.deleted[project]
}

// close makes the queue refuse new batches. It reports false when it was closed
// before.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed() {
		return false
	}
	close(q.closed)
	q.arrived.Broadcast()
	return true
}

// ended reports whether the queue was closed or the log has failed.
func (q *queue) ended() bool {
	select {
	case <-q.failed:
		return true
	default:
		return q.isClosed()
	}
}

func (q *queue) isClosed() bool {
	select {
	case <-q.closed:
		return true
	default:
		return false
	}
}
