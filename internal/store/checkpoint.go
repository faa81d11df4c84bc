package store

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
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
		}
		err := s.checkpoint()
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
	if err := s.db.Write(s.entries(o)); err != nil {
		return err
	}
	return s.db.Update(func(txn *badger.Txn) error {
		return database.SetCounter(txn, checkpointCounter, uint64(o.to))
	})
}

// change is what an overlay makes of one key: exactly one of the others is set.
type change struct {
	key     []byte
	cell    *sketch.Cell
	mark    *sketch.Mark
	receipt *sketch.Receipt
	path    bool // the key is all there is
}

// changes returns what an overlay changes, in the order of the keys.
func (o *overlay) changes() []change {
	var changes []change
	for project, p := range o.projects {
		for day, cells := range p.days {
			changes = append(changes, change{key: database.SiteKey(project, day), cell: cells.site.cell})
			for path, d := range cells.paths {
				changes = append(changes, change{key: database.CellKey(project, day, path), cell: d.cell})
			}
		}
		for path := range p.paths {
			changes = append(changes, change{key: database.PathKey(project, path), path: true})
		}
		for source, mark := range p.sources {
			changes = append(changes, change{key: database.SourceKey(project, source), mark: &mark})
		}
		for key, receipt := range p.receipts {
			changes = append(changes, change{key: database.ReceiptKey(project, key), receipt: receipt})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return bytes.Compare(a.key, b.key) })
	return changes
}

// entries yields the new value of every key that the overlay changes.
func (s *Store) entries(o *overlay) iter.Seq2[database.Entry, error] {
	return func(yield func(database.Entry, error) bool) {
		txn := s.db.Snapshot()
		defer txn.Discard()
		for _, c := range o.changes() {
			entry := database.Entry{Key: c.key}
			switch {
			case c.path:
				known, err := has(txn, c.key)
				if err != nil {
					yield(entry, err)
					return
				}
				if known {
					continue
				}
				entry.Value = sketch.AppendFrame(nil, c.key, database.KindPath, 0, nil)
			case c.mark != nil:
				entry.Value = sketch.AppendFrame(nil, c.key, database.KindSource, 0, appendMark(nil, *c.mark))
			case c.receipt != nil:
				entry.Value = sketch.AppendFrame(nil, c.key, database.KindReceipt, 0, appendReceipt(nil, c.receipt))
			default:
				cell, err := mergedCell(txn, c.key, c.cell, o.to)
				if err != nil {
					yield(entry, err)
					return
				}
				if cell == nil {
					continue
				}
				entry.Value = sketch.AppendCell(nil, c.key, cell)
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func has(txn *badger.Txn, key []byte) (bool, error) {
	_, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for key %q: %w", key, err)
	}
	return true, nil
}

// mergedCell returns the cell under key with a difference added, which holds
// everything up to a position then. It is nil where the stored cell does already:
// an earlier attempt, or a checkpoint that was interrupted, wrote it. The
// difference is not changed: queries may read it.
func mergedCell(txn *badger.Txn, key []byte, difference *sketch.Cell, through sketch.Position) (*sketch.Cell, error) {
	merged := difference.Clone()
	merged.Position = through
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return merged, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading cell %q: %w", key, err)
	}
	err = item.Value(func(value []byte) error {
		position, err := sketch.EncodedPosition(key, value)
		if err == nil && position >= through {
			merged = nil
			return nil
		}
		if err == nil {
			_, err = merged.MergeEncoded(key, value)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading cell %q: %w", key, err)
	}
	return merged, nil
}
