package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"footfall/internal/commitlog"
	"footfall/sketch"
)

// pending is a batch between Commit and folding.
type pending struct {
	batch    sketch.Batch
	record   []byte
	bytes    int // of memory, as the queue accounts it
	position sketch.Position
	done     chan error // capacity 1; answered once the batch is durable
}

// queue holds the batches between Commit and folding, within a bound of bytes.
type queue struct {
	mu      sync.Mutex
	arrived *sync.Cond
	waiting []*pending
	bytes   int // of all that was not yet folded
	limit   int
	closed  bool
	failure error // of the log; latched
	acked   sketch.Position
	// marks are the latest of each source among the batches not yet folded.
	marks   map[sourceKey]sketch.Mark
	deleted map[sketch.ProjectNumber]bool
}

type sourceKey struct {
	project sketch.ProjectNumber
	source  sketch.Source
}

func newQueue(limit int) *queue {
	q := &queue{
		limit:   limit,
		marks:   make(map[sourceKey]sketch.Mark),
		deleted: make(map[sketch.ProjectNumber]bool),
	}
	q.arrived = sync.NewCond(&q.mu)
	return q
}

// Commit makes a batch durable: when it returns nil, the batch's record is
// synced to disk, and every ranking that begins afterwards holds it.
//
// ErrOverloaded, ErrSourceMoved, ErrBatchTooLarge and ErrProjectDeleted of package
// sketch say that nothing of the batch was kept. An error of the context says so
// too; it is looked at before the batch is queued and not afterwards: from there
// on the answer is the log's. After ErrUnavailable it is not known before the next
// start. Batches that wait at the same time share one sync.
func (s *Store) Commit(ctx context.Context, b sketch.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.Visits) == 0 && b.Mark.IsZero() {
		return nil
	}
	started := time.Now()
	const visitBytes = 48 // of a sketch.Visit and its share of the path's string
	p := &pending{batch: b, record: appendRecord(make([]byte, 0, 256+32*len(b.Visits)), b), done: make(chan error, 1)}
	p.bytes = len(p.record) + visitBytes*len(b.Visits)
	if len(p.record) > commitlog.MaxPayload {
		// The log would refuse it too, but with it all that waits beside it, and
		// whoever may send page views could stop the store.
		return fmt.Errorf("committing a record of %d bytes: %w", len(p.record), sketch.ErrBatchTooLarge)
	}
	if err := s.enqueue(p); err != nil {
		return err
	}
	err := <-p.done
	s.metrics.commitSeconds.Observe(time.Since(started).Seconds())
	return err
}

func (s *Store) enqueue(p *pending) error {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.refusal(); err != nil {
		return err
	}
	switch {
	case q.deleted[p.batch.Project]:
		return sketch.ErrProjectDeleted
	case q.bytes > 0 && q.bytes+p.bytes > q.limit:
		// A batch larger than the whole queue still passes when it is alone.
		s.metrics.overloaded.Inc()
		return sketch.ErrOverloaded
	}
	if mark := p.batch.Mark; !mark.IsZero() {
		key := sourceKey{p.batch.Project, mark.Source}
		last, pending := q.marks[key]
		if !pending {
			var err error
			if last, _, err = s.mark(p.batch.Project, mark.Source); err != nil {
				return err
			}
		}
		if last.To != mark.From {
			return fmt.Errorf("%w: to offset %d, the batch begins at %d", sketch.ErrSourceMoved, last.To, mark.From)
		}
		q.marks[key] = mark
	}
	q.waiting = append(q.waiting, p)
	q.bytes += p.bytes
	q.arrived.Signal()
	return nil
}

// write is the writer: it takes all batches that wait as one group, which shares
// one sync, and hands on what it made durable to be folded.
func (s *Store) write(groups chan<- []*pending) {
	defer close(groups)
	for {
		group := s.queue.take()
		if group == nil {
			return
		}
		if group = s.append(group); len(group) > 0 {
			groups <- group
		}
	}
}

// append makes a group durable, acknowledges it and returns what is to be folded.
func (s *Store) append(group []*pending) []*pending {
	s.writing.Lock()
	defer s.writing.Unlock()
	group = s.queue.admit(group)
	if len(group) == 0 {
		return nil
	}
	records := make([][]byte, len(group))
	for i, p := range group {
		records[i] = p.record
	}
	started := time.Now()
	last, err := s.log.Append(records...)
	s.metrics.appendSeconds.Observe(time.Since(started).Seconds())
	if err != nil {
		err = fmt.Errorf("appending to the log: %w", err)
		s.logger.Error("Nothing more is acknowledged until a restart.", "error", err)
		s.queue.fail(group, err)
		return nil
	}
	s.queue.acknowledge(group, last)
	return group
}

// admit turns away the batches of a group whose project was deleted while they
// waited, and the whole group once the log has failed.
func (q *queue) admit(group []*pending) []*pending {
	q.mu.Lock()
	refusal := q.failure
	var admitted, refused []*pending
	for _, p := range group {
		if refusal != nil || q.deleted[p.batch.Project] {
			refused = append(refused, p)
		} else {
			admitted = append(admitted, p)
		}
	}
	q.mu.Unlock()
	for _, p := range refused {
		if refusal != nil {
			p.done <- fmt.Errorf("%w: %w", sketch.ErrUnavailable, refusal)
		} else {
			p.done <- sketch.ErrProjectDeleted
		}
	}
	q.release(refused)
	return admitted
}

// refusal returns why no batch is taken, if so. The caller holds q.mu.
func (q *queue) refusal() error {
	switch {
	case q.closed:
		return fmt.Errorf("%w: it is closed", sketch.ErrUnavailable)
	case q.failure != nil:
		return fmt.Errorf("%w: %w", sketch.ErrUnavailable, q.failure)
	}
	return nil
}

// take waits for batches and returns all that wait, or nil once the queue is
// closed and empty.
func (q *queue) take() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		if q.closed {
			return nil
		}
		q.arrived.Wait()
	}
	group := q.waiting
	q.waiting = nil
	return group
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
		p.record = nil
		p.done <- nil
	}
}

// fail answers a group that could not be appended, and refuses all that follows:
// what a failed write or sync left on disk is not known.
func (q *queue) fail(group []*pending, err error) {
	q.mu.Lock()
	q.failure = errors.Join(q.failure, err)
	group = append(group, q.waiting...)
	q.waiting = nil
	q.mu.Unlock()
	for _, p := range group {
		p.done <- fmt.Errorf("%w: %w", sketch.ErrUnavailable, err)
	}
	q.release(group)
}

// release gives back the memory of batches that were folded or refused.
func (q *queue) release(group []*pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range group {
		q.bytes -= p.bytes
		if mark := p.batch.Mark; !mark.IsZero() {
			key := sourceKey{p.batch.Project, mark.Source}
			if q.marks[key] == mark {
				delete(q.marks, key)
			}
		}
	}
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

func (q *queue) waitingBytes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

// close makes the queue refuse new batches. It reports false when it was closed
// before.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.closed = true
	q.arrived.Broadcast()
	return true
}
