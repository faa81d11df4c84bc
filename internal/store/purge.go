package store

import (
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
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
	resume, err := s.settle(ctx)
	if err != nil {
		return err
	}
	defer resume()
	s.numbers.forget(project)
	return s.db.Drop(database.VisitsPrefix(project))
}

// settle brings all that was acknowledged into the database, and keeps writing,
// checkpoints and the building of blocks out until resume is called.
func (s *Store) settle(ctx context.Context) (resume func(), err error) {
	// With the writer kept out, a checkpoint reaches the end of the log, so that
	// all of the log is dropped. Cutting it while others append would leave the
	// segment in which the last batch of what is deleted lies.
	s.writing.Lock()
	defer func() {
		if err != nil {
			s.writing.Unlock()
		}
	}()
	if err := s.awaitFolded(ctx, s.queue.acknowledged()); err != nil {
		return nil, err
	}
	if err := s.checkpoint(); err != nil {
		return nil, err
	}
	s.checkpointTurn.Lock()
	return func() {
		s.checkpointTurn.Unlock()
		s.writing.Unlock()
	}, nil
}

// DeleteDays removes what page views made of a project's days before a day. Those
// that come later for such a day count again. Paths keep their place among those
// that a project may have. Commits of all projects wait while it runs. What an
// interruption leaves of days that are deleted, the next start removes.
func (s *Store) DeleteDays(ctx context.Context, project sketch.ProjectNumber, before sketch.Day) error {
	if err := s.dropDays(ctx, project, before); err != nil {
		return fmt.Errorf("deleting the days of project %d before %v: %w", project, before, err)
	}
	// Which paths these days had is remembered. Only now: whoever decides about a
	// batch may wait for the writer.
	s.forgetProject(project)
	return nil
}

func (s *Store) dropDays(ctx context.Context, project sketch.ProjectNumber, before sketch.Day) error {
	resume, err := s.settle(ctx)
	if err != nil {
		return err
	}
	defer resume()
	var directory *part.Directory
	err = s.db.View(func(txn *badger.Txn) (err error) {
		directory, err = part.ReadDirectory(txn, project)
		return err
	})
	if err != nil {
		return err
	}
	parts := directory.RemoveBefore(before)
	if len(parts) == 0 {
		return nil
	}
	// What no directory names does not count, so this is what deletes them.
	if err := s.writeDirectory(directory); err != nil {
		return err
	}
	s.unmerged[project] = true
	var prefixes [][]byte
	for _, id := range parts {
		prefixes = append(prefixes, id.Keys()...)
	}
	return s.db.Drop(prefixes...)
}

// dropUnnamed removes the parts that no directory names: of days that were being
// deleted, or begun, and of blocks that were taken out of use. Of days that were
// begun the log still holds everything.
func (s *Store) dropUnnamed() error {
	var prefixes [][]byte
	err := s.db.View(func(txn *badger.Txn) error {
		projects, err := storedProjects(txn)
		if err != nil {
			return err
		}
		for _, project := range projects {
			directory, err := part.ReadDirectory(txn, project)
			if err != nil {
				return err
			}
			err = part.EachRoot(txn, project, func(id part.ID) {
				if !directory.Has(id) {
					prefixes = append(prefixes, id.Keys()...)
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(prefixes) == 0 {
		return err
	}
	return s.db.Drop(prefixes...)
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
