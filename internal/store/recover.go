package store

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/commitlog"
	"footfall/internal/database"
	"footfall/sketch"
)

// recover brings the store to the state that was acknowledged: it removes what
// an interrupted deletion left and folds the log behind the checkpoint again.
func (s *Store) recover(opts Options) error {
	if err := s.dropOrphans(opts.Live); err != nil {
		return fmt.Errorf("removing what is left of deleted projects: %w", err)
	}
	var after sketch.Position
	err := s.db.View(func(txn *badger.Txn) error {
		position, err := database.GetCounter(txn, checkpointCounter)
		after = sketch.Position(position)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the checkpoint: %w", err)
	}
	s.active = newOverlay(after)

	var batch record
	log, err := commitlog.Open(commitlog.Options{
		Dir:    opts.LogDir,
		FS:     opts.LogFS,
		After:  after,
		Logger: s.logger,
	}, func(at sketch.Position, encoded []byte) error {
		return s.replay(at, encoded, &batch, opts.Live)
	})
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	s.log = log
	s.queue.acked = log.Last()
	if replayed := log.Last() - after; replayed > 0 {
		s.logger.Info("The log was replayed.", "batches", uint64(replayed), "position", uint64(log.Last()))
	}
	return nil
}

func (s *Store) replay(at sketch.Position, encoded []byte, b *record, live func(sketch.ProjectNumber) bool) error {
	if err := b.decode(encoded); err != nil {
		return err
	}
	if !live(b.project) {
		*b = record{project: b.project} // Only the position counts.
	}
	if err := s.active.fold(at, b, storedPositions{s.db}); err != nil {
		return err
	}
	if s.active.bytes < s.overlayBytes {
		return nil
	}
	if s.room() != nil {
		// The log's size bounds what is folded in memory instead. It is asked before:
		// to what was written in part nothing may be added.
		return nil
	}
	// The log is being read, so it is cut by a later checkpoint.
	if err := s.flush(s.active); err != nil {
		return err
	}
	s.active = newOverlay(at)
	return nil
}

// storedPositions reads from Badger how far a cell was written by a checkpoint
// that was interrupted.
type storedPositions struct{ db *database.DB }

func (p storedPositions) site(project sketch.ProjectNumber, day sketch.Day) (sketch.Position, error) {
	return p.read(database.SiteKey(project, day))
}

func (p storedPositions) path(project sketch.ProjectNumber, day sketch.Day, path string) (sketch.Position, error) {
	return p.read(database.CellKey(project, day, path))
}

func (p storedPositions) read(key []byte) (position sketch.Position, err error) {
	err = p.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading cell %q: %w", key, err)
		}
		return item.Value(func(value []byte) error {
			position, err = sketch.EncodedPosition(key, value)
			return err
		})
	})
	return position, err
}
