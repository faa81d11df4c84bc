package store

import (
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// DeleteProject removes everything that page views made of a project: its cells,
// its sources, and what the log still holds. Batches that come later are refused
// with sketch.ErrProjectDeleted. Commits of all projects wait while it runs.
//
// The caller removes the project itself first: when the process ends in between,
// the next start finds what no project owns and removes it.
func (s *Store) DeleteProject(ctx context.Context, project sketch.ProjectNumber) error {
	s.queue.mu.Lock()
	s.queue.deleted[project] = true
	s.queue.mu.Unlock()

	// With the writer kept out, a checkpoint reaches the end of the log, so that
	// all of the log is dropped. Cutting it while others append would leave the
	// segment in which the project's last batch lies.
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.awaitFolded(ctx, s.queue.acknowledged()); err != nil {
		return fmt.Errorf("deleting project %d: %w", project, err)
	}
	if err := s.checkpoint(); err != nil {
		return fmt.Errorf("deleting project %d: %w", project, err)
	}
	if err := s.db.Drop(database.VisitsPrefix(project)); err != nil {
		return fmt.Errorf("deleting project %d: %w", project, err)
	}
	return nil
}

// dropOrphans removes what belongs to no project.
func (s *Store) dropOrphans(live func(sketch.ProjectNumber) bool) error {
	var orphans []sketch.ProjectNumber
	err := s.db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.Prefix = database.AllVisitsPrefix()
		opts.PrefetchValues = false
		cursor := txn.NewIterator(opts)
		defer cursor.Close()
		for cursor.Rewind(); cursor.Valid(); {
			project, err := database.VisitsProject(cursor.Item().Key())
			if err != nil {
				return err
			}
			if !live(project) {
				orphans = append(orphans, project)
			}
			cursor.Seek(database.VisitsPrefix(project + 1))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, project := range orphans {
		if err := s.db.Drop(database.VisitsPrefix(project)); err != nil {
			return err
		}
	}
	return nil
}
