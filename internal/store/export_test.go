package store

import (
	"context"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// Checkpoint writes a checkpoint now, of everything that was acknowledged.
func (s *Store) Checkpoint() error {
	if err := s.awaitFolded(context.Background(), s.Acknowledged()); err != nil {
		return err
	}
	return s.checkpoint()
}

// Kill ends the store as the end of its process does: nothing is written in
// closing.
func (s *Store) Kill() error {
	s.queue.close()
	s.running.Wait()
	return s.log.Close()
}

// InterruptCheckpoint writes, after Kill, a share of the entries of the next
// checkpoint, the first ones, and not its position: what a crash leaves of it.
// Without a share nothing was begun.
func (s *Store) InterruptCheckpoint(share float64) error {
	if share == 0 {
		return nil
	}
	return s.begin(s.active, share)
}

// begin writes a share of the entries of an overlay.
func (s *Store) begin(o *overlay, share float64) error {
	if err := s.giveNumbers(o); err != nil {
		return err
	}
	if err := s.changeDirectories(o, (*part.Directory).RemoveBlocks); err != nil {
		return err
	}
	all := 0
	for _, err := range s.entries(o) {
		if err != nil {
			return err
		}
		all++
	}
	err := s.db.Write(first(s.entries(o), int(share*float64(all))))
	o.leftovers = true
	return err
}

// HoldCheckpoint writes a checkpoint and calls during twice: while a share of its
// entries is written and the others are not, and while all are and the position
// is not.
func (s *Store) HoldCheckpoint(share float64, during func()) error {
	if err := s.awaitFolded(context.Background(), s.Acknowledged()); err != nil {
		return err
	}
	s.checkpointTurn.Lock()
	defer s.checkpointTurn.Unlock()
	s.mu.Lock()
	s.flushing = s.active
	s.active = newOverlay(s.flushing.to)
	s.mu.Unlock()
	if err := s.begin(s.flushing, share); err != nil {
		return err
	}
	during()
	if err := s.begin(s.flushing, 1); err != nil {
		return err
	}
	during()
	if err := s.flush(s.flushing); err != nil {
		return err
	}
	s.mu.Lock()
	s.flushing = nil
	s.flushed++
	s.mu.Unlock()
	return nil
}

func first(entries iter.Seq2[database.Entry, error], n int) iter.Seq2[database.Entry, error] {
	return func(yield func(database.Entry, error) bool) {
		for entry, err := range entries {
			if n--; n < 0 || !yield(entry, err) {
				return
			}
		}
	}
}

// BuildBlocks writes a checkpoint of everything that was acknowledged and builds
// all blocks that are due.
func (s *Store) BuildBlocks() error {
	if err := s.Checkpoint(); err != nil {
		return err
	}
	return s.buildBlocks()
}

// Merge builds all blocks that are due of what was checkpointed.
func (s *Store) Merge() error { return s.buildBlocks() }

// Blocks returns how many blocks a project has.
func (s *Store) Blocks(project sketch.ProjectNumber) (blocks int, err error) {
	err = s.db.View(func(txn *badger.Txn) error {
		directory, err := part.ReadDirectory(txn, project)
		if err == nil {
			blocks = directory.Blocks()
		}
		return err
	})
	return blocks, err
}

// CheckpointPosition returns the position of the last checkpoint.
func (s *Store) CheckpointPosition() (sketch.Position, error) {
	var position uint64
	err := s.db.View(func(txn *badger.Txn) (err error) {
		position, err = database.GetCounter(txn, checkpointCounter)
		return err
	})
	return sketch.Position(position), err
}

// Waiting returns how many batches wait for the writer.
func (s *Store) Waiting() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	waiting := 0
	for _, line := range s.queue.waiting {
		waiting += len(line)
	}
	return waiting
}

// WritingStopped reports whether the writer waits for a checkpoint while batches
// wait for it.
func (s *Store) WritingStopped() bool {
	return s.overlayFull() && s.Waiting() > 0
}
