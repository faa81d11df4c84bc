package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// buildBlocks builds the blocks that are due, until a checkpoint is. It runs where
// checkpoints do, in turns with them: so no day changes while it is merged, and
// whoever takes a late view waits for one block at most.
//
// Blocks are built of days that are over and that the overlay has nothing of. So a
// day that late views keep coming for is merged once they pause.
func (s *Store) buildBlocks() error {
	s.checkpointTurn.Lock()
	defer s.checkpointTurn.Unlock()
	s.mu.Lock()
	interrupted := s.flushing != nil
	s.mu.Unlock()
	if interrupted {
		return nil // A checkpoint failed, and some days are ahead of others.
	}
	today := sketch.DayOf(s.now())
	if today != s.merged {
		// The days that ended since may complete a block of any project.
		if err := s.findUnmerged(); err != nil {
			return err
		}
		s.merged = today
	}
	due := 0
	for project := range s.unmerged {
		left, err := s.buildProject(project, today)
		switch {
		case errors.Is(err, sketch.ErrDiskFull), errors.Is(err, database.ErrFailed):
			return fmt.Errorf("merging the days of project %d: %w", project, err)
		case err != nil:
			// Answers are right without the block, or tell what is damaged. Nobody
			// else's page views are refused for it. It is tried again tomorrow.
			s.logger.Error("Merging days failed.", "project", uint64(project), "error", err)
		}
		if left == 0 {
			delete(s.unmerged, project)
		}
		due += left
	}
	s.blocksDue.Store(int64(due))
	return nil
}

func (s *Store) findUnmerged() error {
	return s.db.View(func(txn *badger.Txn) error {
		projects, err := storedProjects(txn)
		for _, project := range projects {
			s.unmerged[project] = true
		}
		return err
	})
}

// buildProject builds what is due of one project and returns how many blocks it
// left.
func (s *Store) buildProject(project sketch.ProjectNumber, today sketch.Day) (left int, err error) {
	for {
		var directory *part.Directory
		err := s.db.View(func(txn *badger.Txn) (err error) {
			directory, err = part.ReadDirectory(txn, project)
			return err
		})
		if err != nil {
			return 0, err
		}
		due := directory.Due(func(days sketch.Range) bool { return days.To <= today })
		quiet := slices.IndexFunc(due, func(id part.ID) bool { return !s.pending(id) })
		if quiet < 0 || s.isBusy() || s.queue.isDeleted(project) {
			return len(due), nil
		}
		if err := s.buildBlock(directory, due[quiet]); err != nil {
			return 0, err
		}
	}
}

// isBusy reports whether building has to stop for a checkpoint, or for good.
func (s *Store) isBusy() bool {
	select {
	case <-s.queue.closed:
		return true
	default:
		return len(s.checkpointDue) > 0 || len(s.checkpointAsked) > 0 || s.turnWanted.Load() > 0
	}
}

// pending reports whether the overlay has something of the days of a part.
func (s *Store) pending(id part.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.active.projects[id.Project]
	if p == nil {
		return false
	}
	days := id.Range()
	for day := days.From; day < days.To; day++ {
		if p.days[day] != nil {
			return true
		}
	}
	return false
}

// buildBlock merges the parts that a block is made of, and names the block in the
// directory once all of it is written and synced.
func (s *Store) buildBlock(directory *part.Directory, id part.ID) error {
	if err := s.db.Write(s.removeLeftovers(id)); err != nil {
		return fmt.Errorf("clearing %v: %w", id, err)
	}
	if err := s.db.Write(s.blockEntries(id, directory.CoverBlock(id))); err != nil {
		return fmt.Errorf("writing %v: %w", id, err)
	}
	directory.Add(id)
	if err := s.writeDirectory(directory); err != nil {
		return fmt.Errorf("naming %v: %w", id, err)
	}
	s.metrics.blocks.Inc()
	return nil
}

func (s *Store) writeDirectory(d *part.Directory) error {
	return s.db.Write(func(yield func(database.Entry, error) bool) { yield(d.Entry(), nil) })
}

// removeLeftovers yields the removal of what a block has in the database: an
// earlier one that was taken out of the directory, or one that was never finished.
func (s *Store) removeLeftovers(id part.ID) func(func(database.Entry, error) bool) {
	return func(yield func(database.Entry, error) bool) {
		txn := s.db.Snapshot()
		defer txn.Discard()
		_ = part.Reader{Txn: txn}.EachKey(id, func(key []byte) error {
			if !yield(database.Entry{Key: bytes.Clone(key)}, nil) {
				return errStopped
			}
			return nil
		})
	}
}

// blockEntries yields the tables and sets of a block, then its root.
func (s *Store) blockEntries(id part.ID, of []part.ID) func(func(database.Entry, error) bool) {
	return func(yield func(database.Entry, error) bool) {
		txn := s.db.Snapshot()
		defer txn.Discard()
		put := func(e database.Entry) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		}
		if err := mergeParts(txn, id, of, put); err != nil && !errors.Is(err, errStopped) {
			yield(database.Entry{}, err)
		}
	}
}

// mergeParts puts a part that holds what others hold.
func mergeParts(txn *badger.Txn, id part.ID, of []part.ID, put func(database.Entry) error) error {
	reader := part.Reader{Txn: txn}
	roots, err := readRoots(txn, of)
	if err != nil {
		return err
	}
	// A block holds its days, whatever their positions. What tells it from an earlier
	// one is the version of the database that it is made from, since the directory
	// was written in between. The highest position of its days would not: these may
	// have become fewer.
	version := sketch.Position(txn.ReadTs())
	merged := &part.Root{ID: id, Position: version, SiteGeneration: version}
	var count [2]uint64
	for _, root := range roots {
		merged.Site.Views = addViews(merged.Site.Views, root.Site.Views)
		count[sketch.Human] += root.Site.Count.Human
		count[sketch.AI] += root.Site.Count.AI
	}

	var writer part.GroupWriter
	group := newGroupUnion(reader, roots)
	for _, number := range groupNumbers(roots) {
		if err := group.load(number, nil); err != nil {
			return err
		}
		g := part.Group{Number: number, Generation: version}
		writer.Reset(id, g, put)
		for slot := range part.GroupPaths {
			if err := group.write(&writer, uint8(slot)); err != nil {
				return err
			}
		}
		if err := writer.Close(); err != nil {
			return err
		}
		merged.Groups = append(merged.Groups, g)
	}

	site := sketch.NewAccumulator(sketch.SitePrecision)
	site.Reset(count)
	for _, root := range roots {
		if err := reader.AccumulateSite(site, root); err != nil {
			return err
		}
	}
	if err := part.PutSite(merged, site, put); err != nil {
		return err
	}
	return put(merged.Entry())
}
