package store

import (
	"context"
	"fmt"
	"time"

	"footfall/sketch"
)

// foldGroups folds acknowledged batches in the order of their positions.
func (s *Store) foldGroups(groups <-chan []*pending) {
	defer close(s.checkpointDue)
	var batch record
	for group := range groups {
		gathered := 0
		for _, p := range group {
			gathered = s.fold(p, &batch)
		}
		s.mu.Lock()
		close(s.folded)
		s.folded = make(chan struct{})
		s.mu.Unlock()
		s.queue.release(group)
		for _, p := range group {
			s.keepBuffer(p)
		}

		if gathered >= s.overlayBytes || s.log.Size() >= s.logBytes {
			select {
			case s.checkpointDue <- struct{}{}:
			default: // One is due already.
			}
		}
	}
}

// fold folds one batch and returns the size of the overlay. The lock is not held
// from one batch to the next: a group can be large, and queries wait for it.
func (s *Store) fold(p *pending, batch *record) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Without floors folding reads nothing; a record that does not decode though it
	// was encoded a moment ago is a mistake in the program. What is acknowledged and
	// not folded would be missing from every answer, so there is no going on.
	err := batch.decode(p.record)
	if err == nil {
		err = s.active.fold(p.position, batch, nil)
	}
	if err != nil {
		panic(fmt.Sprintf("folding the batch at position %d: %v", p.position, err))
	}
	return s.active.bytes
}

// maxKeptBuffer bounds the memory of a record that is kept for another one.
const maxKeptBuffer = 256 << 10

func (s *Store) keepBuffer(p *pending) {
	if p.buffer != nil && cap(p.record) <= maxKeptBuffer {
		*p.buffer = p.record
		s.buffers.Put(p.buffer)
	}
	p.record, p.buffer = nil, nil
}

// awaitCheckpoint makes the writer wait until the overlay that grew full is being
// written, which the one before it may be still. The queue fills meanwhile and
// refuses what it can not hold. Were it folding that waits, then so would whoever
// asks for what is acknowledged, for as long as the disk has no room.
func (s *Store) awaitCheckpoint() {
	for {
		s.mu.Lock()
		swapped := s.swapped
		s.mu.Unlock()
		if !s.overlayFull() {
			return
		}
		again := time.NewTimer(waitInterval)
		select {
		case <-swapped:
		case <-s.queue.failed: // No checkpoint will come.
		case <-s.queue.closed: // What the queue holds is written, room or not.
		case <-again.C:
			if err := s.room(); err != nil {
				s.refuse(nil, err)
			}
			continue
		}
		again.Stop()
		if s.queue.ended() {
			return
		}
	}
}

// waitInterval is how often what waits for a checkpoint asks whether the disk has
// room, without which none may come for long.
const waitInterval = 100 * time.Millisecond

func (s *Store) overlayFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active.bytes >= s.overlayBytes
}

// awaitFolded waits until everything up to a position was folded.
func (s *Store) awaitFolded(ctx context.Context, through sketch.Position) error {
	for {
		s.mu.Lock()
		done, advanced := s.active.to >= through, s.folded
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitIdle waits until no batch of a project is between Commit and folding. The
// caller holds the project, so none comes.
func (s *Store) awaitIdle(ctx context.Context, project sketch.ProjectNumber) error {
	for {
		idle, changed := s.queue.idle(project)
		if idle {
			return nil
		}
		select {
		case <-changed:
		case <-s.queue.failed:
			_, err := s.queue.begin(project)
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
