package store

import (
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/commitlog"
	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// recover brings the store to the state that was acknowledged: it removes what
// an interrupted deletion left and folds the log behind the checkpoint again.
func (s *Store) recover(opts Options) error {
	if err := s.dropOrphans(opts.Live); err != nil {
		return fmt.Errorf("removing what is left of deleted projects: %w", err)
	}
	if err := s.dropUnnamed(); err != nil {
		return fmt.Errorf("removing days and blocks that are not in use: %w", err)
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
	s.active.leftovers = true
	if err := s.active.fold(at, b, s.storedPosition); err != nil {
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

// storedPosition reads from Badger how far a day was written by a checkpoint that
// was interrupted.
func (s *Store) storedPosition(project sketch.ProjectNumber, day sketch.Day) (position sketch.Position, err error) {
	err = s.db.View(func(txn *badger.Txn) error {
		root, err := namedRoot(txn, part.At(project, part.Day, day))
		if root != nil {
			position = root.Position
		}
		return err
	})
	return position, err
}

// namedRoot returns the root of a part that its directory names, or nil. One that it
// does not name was written by a checkpoint that was interrupted before it named
// the day, and the log still holds all of such a day.
func namedRoot(txn *badger.Txn, id part.ID) (*part.Root, error) {
	directory, err := part.ReadDirectory(txn, id.Project)
	if err != nil || !directory.Has(id) {
		return nil, err
	}
	root, err := part.ReadRoot(txn, id)
	if err == nil && root == nil {
		err = part.Missing(id)
	}
	return root, err
}
