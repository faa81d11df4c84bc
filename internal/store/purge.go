package store

import (
	"context"
	"errors"
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
	defer s.takeTurn()()
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.settle(ctx); err != nil {
		return err
	}
	s.numbers.forget(project)
	return s.db.Drop(database.VisitsPrefix(project))
}

// takeTurn keeps checkpoints and the building of blocks out until release is
// called. It comes before keeping the writer out, which waits for nobody then.
func (s *Store) takeTurn() (release func()) {
	s.turnWanted.Add(1)
	s.checkpointTurn.Lock()
	s.turnWanted.Add(-1)
	return s.checkpointTurn.Unlock
}

// settle brings all that was acknowledged into the database. The caller holds
// checkpointTurn and writing. With the writer kept out, a checkpoint reaches the end
// of the log, so that all of the log is dropped. Cutting it while others append would
// leave the segment in which the last batch of what is deleted lies.
func (s *Store) settle(ctx context.Context) error {
	if err := s.awaitFolded(ctx, s.queue.acknowledged()); err != nil {
		return err
	}
	return s.checkpointInTurn()
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
	defer s.takeTurn()()
	if err := s.unname(ctx, project, before); err != nil {
		return err
	}
	s.deletions.Add(1) // Snapshots from before miss what goes.
	return s.db.Drop(part.PrefixesBefore(project, before)...)
}

// unname takes days out of their directory. What no directory names does not count,
// so this is what deletes them.
func (s *Store) unname(ctx context.Context, project sketch.ProjectNumber, before sketch.Day) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.settle(ctx); err != nil {
		return err
	}
	var directory *part.Directory
	err := s.db.View(func(txn *badger.Txn) (err error) {
		directory, err = part.ReadDirectory(txn, project)
		return err
	})
	if err != nil {
		return err
	}
	if len(directory.RemoveBefore(before)) == 0 {
		return nil
	}
	s.unmerged[project] = true
	return s.writeDirectory(directory)
}

// dropUnnamed removes the parts that no directory names: of days that were being
// deleted, or begun, and of blocks that were taken out of use. Of days that were
// begun the log still holds everything. Without room for that they stay until
// another start.
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
			err = part.Each(txn, project, func(id part.ID) {
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
	err = s.db.Drop(prefixes...)
	if errors.Is(err, sketch.ErrDiskFull) {
		s.logger.Warn("Days and blocks that are not in use stay, for want of room.", "error", err)
		return nil
	}
	return err
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
