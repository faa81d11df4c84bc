package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// checkpointCounter names the position up to which the cells in Badger hold the
// log.
const checkpointCounter = "checkpoint"

// retryInterval is when a checkpoint that found no room is tried again.
const retryInterval = 5 * time.Second

// checkpointWhenDue writes a checkpoint whenever one is due, until folding ends,
// and builds blocks in between.
func (s *Store) checkpointWhenDue() {
	var tried time.Time
	retry := time.NewTimer(retryInterval)
	retry.Stop()
	defer retry.Stop()
	tick := time.NewTicker(s.checkpointInterval)
	defer tick.Stop()
	// What became complete while no process ran is merged at once.
	s.finish(s.buildBlocks(), retry)
	for {
		select {
		case _, more := <-s.checkpointDue:
			if !more {
				return
			}
		case <-retry.C:
		case <-tick.C:
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
		if err == nil {
			s.sweepWhenDue()
			err = s.buildBlocks()
		}
		s.finish(err, retry)
	}
}

// finish deals with how a checkpoint, or the building of blocks, ended.
func (s *Store) finish(err error, retry *time.Timer) {
	switch {
	case errors.Is(err, sketch.ErrDiskFull):
		// Nothing is lost: the log and the overlay keep what could not be written.
		// The queue fills meanwhile and refuses what it can not hold.
		s.logger.Warn("A checkpoint waits for room on the disk.", "error", err)
		retry.Reset(retryInterval)
	case err != nil:
		// The log keeps everything, so nothing is lost. But the overlay can not be
		// emptied anymore: better to refuse than to grow.
		s.logger.Error("Writing a checkpoint failed. Nothing more is acknowledged until a restart.", "error", err)
		s.queue.fail(nil, err)
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
// any step leaves a log that still holds all that the days may lack, and the roots
// of days say by their own position what replay must skip.
func (s *Store) checkpoint() error {
	s.checkpointTurn.Lock()
	defer s.checkpointTurn.Unlock()
	return s.checkpointInTurn()
}

// checkpointInTurn is checkpoint for whoever holds checkpointTurn.
func (s *Store) checkpointInTurn() error {
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
			flushing.leftovers = true
			return fmt.Errorf("writing the checkpoint at position %d: %w", flushing.to, err)
		}
		// Before it is gone from the overlays: until someone looks, each may be due.
		s.blocksDue.Add(int64(flushing.daysBefore(sketch.DayOf(s.now()))))
		s.mu.Lock()
		s.flushing = nil
		s.flushed++
		s.mu.Unlock()
		s.metrics.checkpointSeconds.Observe(time.Since(started).Seconds())
		for project := range flushing.projects {
			s.unmerged[project] = true
		}
	}

	if err := s.log.DropThrough(through); err != nil {
		return fmt.Errorf("cutting the log at position %d: %w", through, err)
	}
	return nil
}

// flush writes an overlay into Badger, then its position.
func (s *Store) flush(o *overlay) error {
	if err := s.giveNumbers(o); err != nil {
		return err
	}
	// Synced before one of these days changes: a block that is in its directory has
	// what its days have.
	if err := s.changeDirectories(o, (*part.Directory).RemoveBlocks); err != nil {
		return err
	}
	if err := s.db.Write(s.entries(o)); err != nil {
		return err
	}
	// Only now, so that every day of a directory has a root. A root that no
	// directory names counts for nothing, here and at a start.
	if err := s.changeDirectories(o, (*part.Directory).AddDay); err != nil {
		return err
	}
	return s.db.Update(func(txn *badger.Txn) error {
		return database.SetCounter(txn, checkpointCounter, uint64(o.to))
	})
}

// changeDirectories changes the directories of the overlay's projects for each of
// their days, and writes those that changed. They are independent of each other,
// and too many for one transaction.
func (s *Store) changeDirectories(o *overlay, change func(*part.Directory, sketch.Day) bool) error {
	txn := s.db.Snapshot()
	defer txn.Discard()
	var changed []database.Entry
	for project, p := range o.projects {
		directory, err := part.ReadDirectory(txn, project)
		if err != nil {
			return err
		}
		differs := false
		for day := range p.days {
			differs = change(directory, day) || differs
		}
		if differs {
			changed = append(changed, directory.Entry())
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return s.db.Write(func(yield func(database.Entry, error) bool) {
		for _, entry := range changed {
			if !yield(entry, nil) {
				return
			}
		}
	})
}
