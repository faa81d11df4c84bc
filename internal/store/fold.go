package store

import (
	"context"

	"footfall/sketch"
)

// foldGroups folds acknowledged batches in the order of their positions.
func (s *Store) foldGroups(groups <-chan []*pending) {
	defer close(s.checkpointDue)
	for group := range groups {
		s.mu.Lock()
		for _, p := range group {
			// Without floors folding reads nothing and can not fail.
			_ = s.active.fold(p.position, p.batch, nil)
		}
		gathered := s.active.bytes
		close(s.folded)
		s.folded = make(chan struct{})
		s.mu.Unlock()
		s.queue.release(group)

		if gathered >= s.overlayBytes || s.log.Size() >= s.logBytes {
			select {
			case s.checkpointDue <- struct{}{}:
			default: // One is due already.
			}
		}
		if gathered >= 2*s.overlayBytes {
			s.awaitCheckpoint()
		}
	}
}

// awaitCheckpoint waits for the checkpoint that runs. The queue fills meanwhile
// and refuses what it can not hold.
func (s *Store) awaitCheckpoint() {
	s.checkpointTurn.Lock()
	defer s.checkpointTurn.Unlock()
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
