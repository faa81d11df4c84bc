package store

import (
	"context"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
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

// InterruptCheckpoint writes, after Kill, those cells and sources of the next
// checkpoint that keep chooses by their keys, and not its position: what a crash
// leaves of it.
func (s *Store) InterruptCheckpoint(keep func(key []byte) bool) error {
	return s.db.Write(filter(entries(s.db, s.active), keep))
}

// HoldCheckpoint writes a checkpoint and calls during twice: while the cells that
// first chooses by their keys are written and the others are not, and while all
// are and the position is not.
func (s *Store) HoldCheckpoint(first func(key []byte) bool, during func()) error {
	if err := s.awaitFolded(context.Background(), s.Acknowledged()); err != nil {
		return err
	}
	s.checkpointTurn.Lock()
	defer s.checkpointTurn.Unlock()
	s.mu.Lock()
	s.flushing = s.active
	s.active = newOverlay(s.flushing.to)
	s.mu.Unlock()
	if err := s.db.Write(filter(entries(s.db, s.flushing), first)); err != nil {
		return err
	}
	during()
	others := func(key []byte) bool { return !first(key) }
	if err := s.db.Write(filter(entries(s.db, s.flushing), others)); err != nil {
		return err
	}
	during()
	err := s.db.Update(func(txn *badger.Txn) error {
		return database.SetCounter(txn, checkpointCounter, uint64(s.flushing.to))
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.flushing = nil
	s.mu.Unlock()
	return nil
}

func filter(entries iter.Seq2[database.Entry, error], keep func(key []byte) bool) iter.Seq2[database.Entry, error] {
	return func(yield func(database.Entry, error) bool) {
		for entry, err := range entries {
			if (err != nil || keep(entry.Key)) && !yield(entry, err) {
				return
			}
		}
	}
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
