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

func (s *Store) checkpointWhenDue() {
	for range s.checkpointDue {
		if err := s.checkpoint(); err != nil {
			// The log keeps everything, so nothing is lost. But the overlay can
			// not be emptied anymore: better to refuse than to grow.
			s.logger.Error("Writing a checkpoint failed. Nothing more is acknowledged until a restart.", "error", err)
			s.queue.fail(nil, err)
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
	if s.flushing != nil {
		s.mu.Unlock()
		return errors.New("an earlier checkpoint failed")
	}
	if s.active.to > s.active.from {
		s.flushing = s.active
		s.active = newOverlay(s.flushing.to)
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

// entries yields the new value of every cell and source that the overlay
// touches, in the order of their keys.
func (s *Store) entries(o *overlay) iter.Seq2[database.Entry, error] {
	type change struct {
		key  []byte
		cell *sketch.Cell // nil for a source
		mark sketch.Mark
	}
	var changes []change
	for project, p := range o.projects {
		for day, cells := range p.days {
			changes = append(changes, change{key: database.SiteKey(project, day), cell: cells.site.cell})
			for path, d := range cells.paths {
				changes = append(changes, change{key: database.CellKey(project, day, path), cell: d.cell})
			}
		}
		for source, mark := range p.sources {
			changes = append(changes, change{key: database.SourceKey(project, source), mark: mark})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return bytes.Compare(a.key, b.key) })

	return func(yield func(database.Entry, error) bool) {
		txn := s.db.Snapshot()
		defer txn.Discard()
		for _, c := range changes {
			entry := database.Entry{Key: c.key}
			if c.cell == nil {
				entry.Value = sketch.AppendFrame(nil, c.key, database.KindSource, 0, appendMark(nil, c.mark))
			} else {
				cell, err := mergedCell(txn, c.key, c.cell)
				if err != nil {
					yield(entry, err)
					return
				}
				// Everything up to o.to that concerns the cell is in it now. A
				// cell that an interrupted checkpoint left ahead stays ahead.
				cell.Position = max(cell.Position, o.to)
				entry.Value = sketch.AppendCell(nil, c.key, cell)
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// mergedCell returns the cell under key with a difference added. The difference
// is not changed: queries may read it.
func mergedCell(txn *badger.Txn, key []byte, difference *sketch.Cell) (*sketch.Cell, error) {
	merged := difference.Clone()
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return merged, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading cell %q: %w", key, err)
	}
	err = item.Value(func(value []byte) error {
		_, err := merged.MergeEncoded(key, value)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading cell %q: %w", key, err)
	}
	return merged, nil
}
