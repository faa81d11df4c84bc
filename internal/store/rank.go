package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// Rank returns the distinct visitors of every path of a project that was seen in
// the range, and of the whole site, as of one log position: at least that of the
// last batch acknowledged before the call. A cell in Badger that is damaged is a
// sketch.ErrCorrupted that names its key; where cells are missing, it names what
// their keys begin with.
func (s *Store) Rank(ctx context.Context, project sketch.ProjectNumber, within sketch.Range) (*sketch.Ranking, error) {
	started := time.Now()
	defer func() { s.metrics.rankSeconds.Observe(time.Since(started).Seconds()) }()
	if err := s.awaitFolded(ctx, s.queue.acknowledged()); err != nil {
		return nil, err
	}

	// The overlays and the snapshot are taken at one instant: a checkpoint
	// replaces overlays under the same lock, and writes cells only in between.
	// So Badger holds of the flushing overlay some cells or all, told by their
	// position, and of the active one none.
	s.mu.Lock()
	active := s.active.snapshot(project, within)
	var flushing view
	if s.flushing != nil {
		flushing = s.flushing.view(project, within)
	}
	txn := s.db.Snapshot()
	s.mu.Unlock()
	defer txn.Discard()

	u := newUnion()
	err := u.addStored(ctx, txn, project, within, flushing)
	if err != nil {
		return nil, fmt.Errorf("ranking the visitors of %v: %w", within, err)
	}
	u.addView(active)
	ranking := u.ranking(active.to)
	// Each view stands in one cell of a page and in one of the site. Badger ends
	// an iteration at a block that it can not read without an error (as of
	// 4.9.6), so this is what tells that cells are missing. Those of a project
	// that is being deleted go while they are read.
	if ranking.Views != u.site.Views && !s.queue.isDeleted(project) {
		return nil, fmt.Errorf("ranking the visitors of %v: %w", within, &sketch.CorruptionError{
			Key:    database.VisitsPrefix(project),
			Reason: fmt.Sprintf("its pages have %v views, the site %v: cells are missing", ranking.Views, u.site.Views),
		})
	}
	return ranking, nil
}

// union unites the cells of a range, path by path.
type union struct {
	site  *sketch.Cell
	paths map[string]*sketch.Cell
}

func newUnion() *union {
	return &union{site: sketch.NewCell(sketch.SitePrecision), paths: make(map[string]*sketch.Cell)}
}

func (u *union) path(path []byte) *sketch.Cell {
	cell := u.paths[string(path)]
	if cell == nil {
		cell = sketch.NewCell(sketch.PathPrecision)
		u.paths[string(path)] = cell
	}
	return cell
}

// addStored adds the cells in Badger, and those of the flushing overlay that
// Badger does not hold yet. flushing is consumed: what Badger holds is taken out
// of it.
func (u *union) addStored(ctx context.Context, txn *badger.Txn, project sketch.ProjectNumber, within sketch.Range, flushing view) error {
	err := eachCell(ctx, txn, database.SitePrefix(project), database.SiteKey(project, within.From), func(key, value []byte) (bool, error) {
		day, err := database.SplitSiteKey(key)
		if err != nil || day >= within.To {
			return false, err
		}
		position, err := u.site.MergeEncoded(key, value)
		if err == nil && position >= flushing.to {
			delete(flushing.sites, day)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	err = eachCell(ctx, txn, database.CellPrefix(project), database.CellDay(project, within.From), func(key, value []byte) (bool, error) {
		day, path, err := database.SplitCellKey(key)
		if err != nil || day >= within.To {
			return false, err
		}
		position, err := u.path(path).MergeEncoded(key, value)
		if err == nil && position >= flushing.to {
			delete(flushing.paths[day], string(path))
		}
		return true, err
	})
	if err != nil {
		return err
	}
	u.addView(flushing)
	return nil
}

func (u *union) addView(v view) {
	for _, cell := range v.sites {
		u.site.Merge(cell)
	}
	for _, paths := range v.paths {
		for path, cell := range paths {
			u.path([]byte(path)).Merge(cell)
		}
	}
}

func (u *union) ranking(at sketch.Position) *sketch.Ranking {
	rows := make([]sketch.Row, 0, len(u.paths))
	for path, cell := range u.paths {
		rows = append(rows, sketch.Row{Path: path, Count: cell.Count(), Views: cell.Views})
	}
	return sketch.NewRanking(at, u.site.Count(), rows)
}

// eachCell calls visit with the keys and values under prefix from start on until
// visit returns false. Both slices die with the call.
func eachCell(ctx context.Context, txn *badger.Txn, prefix, start []byte, visit func(key, value []byte) (bool, error)) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = prefix
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	for cursor.Seek(start); cursor.Valid(); cursor.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		more := false
		err := cursor.Item().Value(func(value []byte) (err error) {
			more, err = visit(cursor.Item().Key(), value)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}
