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
	if err := s.dropVisits(ctx, project); err != nil {
		return fmt.Errorf("deleting project %d: %w", project, err)
	}
	// Only now: whoever decides about a batch may wait for the writer.
	s.forgetProject(project)
	return nil
}

func (s *Store) dropVisits(ctx context.Context, project sketch.ProjectNumber) error {
	// With the writer kept out, a checkpoint reaches the end of the log, so that
	// all of the log is dropped. Cutting it while others append would leave the
	// segment in which the project's last batch lies.
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.awaitFolded(ctx, s.queue.acknowledged()); err != nil {
		return err
	}
	if err := s.checkpoint(); err != nil {
		return err
	}
	s.checkpointTurn.Lock() // No block is built meanwhile.
	defer s.checkpointTurn.Unlock()
	s.numbers.forget(project)
	return s.db.Drop(database.VisitsPrefix(project))
}

// dropOrphans removes what belongs to no project.
func (s *Store) dropOrphans(live func(sketch.ProjectNumber) bool) error {
	var numbers []sketch.ProjectNumber
	err := s.db.View(func(txn *badger.Txn) (err error) {
		numbers, err = storedProjects(txn)
		return err
	})
	if err != nil {
		return err
	}
	for _, project := range numbers {
		if live(project) {
			continue
		}
		if err := s.db.Drop(database.VisitsPrefix(project)); err != nil {
			return err
		}
	}
	return nil
}

// storedProjects returns the projects that have something of page views in
// Badger. Each costs one seek.
func storedProjects(txn *badger.Txn) ([]sketch.ProjectNumber, error) {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = database.AllVisitsPrefix()
	opts.PrefetchValues = false
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	var numbers []sketch.ProjectNumber
	for cursor.Rewind(); cursor.Valid(); {
		project, err := database.VisitsProject(cursor.Item().Key())
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, project)
		cursor.Seek(database.VisitsPrefix(project + 1))
	}
	return numbers, nil
}
