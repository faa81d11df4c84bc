package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"footfall/internal/commitlog"
	"footfall/sketch"
)

// Commit makes a batch durable: when it returns nil, the batch's record is
// synced to disk, and every ranking that begins afterwards holds it. The batch
// may be used again once Commit has returned.
//
// ErrOverloaded, ErrDiskFull, ErrSourceMoved, ErrRepeated, ErrTooManyReceipts,
// ErrBatchTooLarge and ErrProjectDeleted of package sketch say that nothing of
// the batch was kept. An error of the context says so too; it is looked at before
// the batch is queued and not afterwards: from there on the answer is the log's.
// After ErrUnavailable it is not known before the next start. Batches that wait at
// the same time share one sync.
func (s *Store) Commit(ctx context.Context, b sketch.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.Empty() {
		return nil
	}
	started := time.Now()
	done, err := s.enqueue(ctx, b)
	for first, repeated := errors.AsType[*inFlight](err); repeated; first, repeated = errors.AsType[*inFlight](err) {
		// Both get the same answer, once it is known that there is one.
		select {
		case <-first.batch.settled:
		case <-ctx.Done():
			return ctx.Err()
		}
		if first.batch.refused == nil {
			return sketch.ErrRepeated
		}
		done, err = s.enqueue(ctx, b)
	}
	if err != nil {
		return err
	}
	err = <-done
	s.answers.Put(done)
	s.metrics.commitSeconds.Observe(time.Since(started).Seconds())
	return err
}

// enqueue takes every decision about a batch, and queues its record. Batches of
// one project take turns at it: what was decided first is then first in the log
// too, so a start after a crash never finds a batch that rests on one which is
// not there.
func (s *Store) enqueue(ctx context.Context, b sketch.Batch) (chan error, error) {
	// At once, where nothing was done for it yet.
	if s.queue.pool.Used() >= s.queueBytes {
		s.metrics.refused(sketch.ErrOverloaded, 1)
		return nil, sketch.ErrOverloaded
	}
	if err := s.room(); err != nil {
		s.askCheckpoint()
		s.metrics.refused(err, 1)
		return nil, err
	}
	project := s.lockProject(b.Project)
	defer project.mu.Unlock()
	refusals, err := s.queue.begin(b.Project)
	if err != nil {
		return nil, err
	}
	if err := s.checkMark(b); err != nil {
		return nil, err
	}
	if err := s.checkReceipt(ctx, project, b); err != nil {
		return nil, err
	}
	undo, err := s.admitPaths(ctx, project, &b)
	if err != nil {
		return nil, err
	}
	p := s.newPending(b)
	if len(p.record) > commitlog.MaxPayload {
		// The log would refuse it too, but with it all that waits beside it, and
		// whoever may send page views could stop the store.
		err = fmt.Errorf("committing a record of %d bytes: %w", len(p.record), sketch.ErrBatchTooLarge)
	} else {
		err = s.queue.push(p, refusals)
	}
	if err != nil {
		undo()
		s.metrics.refused(err, 1)
		return nil, err
	}
	s.reportOverflow(project, b)
	if b.Receipt != nil {
		project.receipts.count++
	}
	return p.done, nil
}

func (s *Store) newPending(b sketch.Batch) *pending {
	p := &pending{project: b.Project, mark: b.Mark, receipt: b.Receipt, done: s.answers.Get().(chan error)}
	const small = 4 << 10 // of which a kept buffer would be accounted as more
	if size := recordBytes(b); size <= small {
		p.record = appendRecord(make([]byte, 0, size), b)
	} else {
		p.buffer = s.buffers.Get().(*[]byte)
		p.record = appendRecord(slices.Grow((*p.buffer)[:0], size), b)
	}
	if b.Receipt != nil {
		p.settled = make(chan struct{})
	}
	return p
}

// checkMark holds a batch of a source to begin where the last one ended.
func (s *Store) checkMark(b sketch.Batch) error {
	if b.Mark.IsZero() {
		return nil
	}
	to, pending := s.queue.sourceEnd(b.Project, b.Mark.Source)
	if !pending {
		last, _, err := s.mark(b.Project, b.Mark.Source)
		if err != nil {
			return err
		}
		to = last.To
	}
	if to != b.Mark.From {
		return fmt.Errorf("%w: to offset %d, the batch begins at %d", sketch.ErrSourceMoved, to, b.Mark.From)
	}
	return nil
}

// write is the writer: it takes what waits as one group, which shares one sync,
// and hands on what it made durable to be folded.
func (s *Store) write(groups chan<- []*pending) {
	defer close(groups)
	for {
		s.awaitCheckpoint()
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
	if err := s.room(); err != nil {
		// Before anything was tried: a write that fails would latch the log.
		s.refuse(group, err)
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

// refuse refuses a group for want of room, and all that wait with it.
func (s *Store) refuse(group []*pending, err error) {
	s.refusals.Add(1) // Before the answers: who sees one reads again what is kept.
	s.metrics.refused(err, s.queue.refuse(group, err))
	s.askCheckpoint()
}
