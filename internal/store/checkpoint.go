package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// checkpointCounter names the position up to which the cells in Badger hold the
// log.
const checkpointCounter = "checkpoint"

// retryInterval is when a checkpoint that found no room is tried again.
const retryInterval = 5 * time.Second

// checkpointWhenDue writes a checkpoint whenever one is due, until folding ends.
func (s *Store) checkpointWhenDue() {
	var tried time.Time
	retry := time.NewTimer(retryInterval)
	retry.Stop()
	defer retry.Stop()
	for {
		select {
		case _, more := <-s.checkpointDue:
			if !more {
				return
			}
		case <-retry.C:
		case <-s.checkpointAsked:
			if time.Since(tried) < retryInterval {
				continue
			}
		}
		tried = time.Now()
		err := s.checkpoint()
		for err == nil && s.overlayFull() {
			// It grew full while an attempt before this one waited for room, and
			// the writer waits for it.
			s.sweepWhenDue()
			err = s.checkpoint()
		}
		switch {
		case errors.Is(err, sketch.ErrDiskFull):
			// Nothing is lost: the log and the overlay keep what could not be
			// written. The queue fills meanwhile and refuses what it can not hold.
			s.logger.Warn("A checkpoint waits for room on the disk.", "error", err)
			retry.Reset(retryInterval)
		case err != nil:
			// The log keeps everything, so nothing is lost. But the overlay can
			// not be emptied anymore: better to refuse than to grow.
			s.logger.Error("Writing a checkpoint failed. Nothing more is acknowledged until a restart.", "error", err)
			s.queue.fail(nil, err)
		default:
			s.sweepWhenDue()
		}
	}
}

// askCheckpoint asks for a checkpoint, which cuts the log and so makes room.
func (s *Store) askCheckpoint() {
	select {
	case s.checkpointAsked <- struct{}{}:
	default: // It is asked for already.
	}
}

// checkpoint writes the overlay into the cells, then the position up to which
// that was done, then cuts the log there. The order is the point: a crash after
// any step leaves a log that still holds all that the cells may lack, and cells
// say by their own position what replay must skip.
func (s *Store) checkpoint() error {
	s.checkpointTurn.Lock()
	defer s.checkpointTurn.Unlock()

	s.mu.Lock()
	// What an attempt before left unwritten goes first.
	if s.flushing == nil && s.active.to > s.active.from {
		s.flushing = s.active
		s.active = newOverlay(s.flushing.to)
		close(s.swapped)
		s.swapped = make(chan struct{})
	}
	flushing, through := s.flushing, s.active.from
	s.mu.Unlock()

	if flushing != nil {
		started := time.Now()
		if err := s.flush(flushing); err != nil {
			return fmt.Errorf("writing the checkpoint at position %d: %w", flushing.to, err)
		}
		s.mu.Lock()
		s.flushing = nil
		s.mu.Unlock()
		s.metrics.checkpointSeconds.Observe(time.Since(started).Seconds())
	}

	if err := s.log.DropThrough(through); err != nil {
		return fmt.Errorf("cutting the log at position %d: %w", through, err)
	}
	return nil
}

// flush writes an overlay into Badger, then its position.
func (s *Store) flush(o *overlay) error {
	if err := s.db.Write(entries(s.db, o)); err != nil {
		return err
	}
	return s.db.Update(func(txn *badger.Txn) error {
		return database.SetCounter(txn, checkpointCounter, uint64(o.to))
	})
}
