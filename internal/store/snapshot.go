package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/part"
	"footfall/sketch"
)

// snapshot is a sketch.Snapshot: the parts that hold the range, and what the
// overlays have beyond them.
type snapshot struct {
	store     *Store
	project   sketch.ProjectNumber
	within    sketch.Range
	at        sketch.Position
	closed    bool
	deletions uint64 // of days, as of before

	txn    *badger.Txn
	reader part.Reader
	roots  []*part.Root
	cells  groupedCells   // of the overlays
	sites  []*sketch.Cell // of the overlays
	names  *pathNames
	places places // in which order paths of equal totals stand
}

// maxSnapshots bounds how many snapshots are open. Each keeps cells of the overlay
// that were replaced since, and what Badger replaced. It is more than those that
// wait for their following pages, so these hold nobody up.
const maxSnapshots = 24

// Snapshot returns the page views of a project and range as of one log position:
// at least that of the last batch acknowledged before the call. A value in Badger
// that is damaged or missing is a sketch.ErrCorrupted that names its key, here and
// in what the snapshot returns.
func (s *Store) Snapshot(ctx context.Context, project sketch.ProjectNumber, within sketch.Range) (sketch.Snapshot, error) {
	if err := s.awaitFolded(ctx, s.queue.acknowledged()); err != nil {
		return nil, err
	}
	select {
	case s.snapshots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	deletions := s.deletions.Load()
	views, txn := s.views(project, within)
	v := &snapshot{
		store:     s,
		project:   project,
		within:    within,
		at:        views[0].to,
		deletions: deletions,
		txn:       txn,
		reader:    part.Reader{Txn: txn, Cache: s.cache},
	}
	if err := v.open(views); err != nil {
		v.Close()
		return nil, v.failed(err)
	}
	return v, nil
}

// views returns the overlays' cells and a transaction as of one instant: between the
// two, no overlay was written to its end. A checkpoint replaces overlays under the
// same lock, and writes roots only in between; so Badger holds of the flushing overlay
// some days or all, told by their position, and of the active one none. The
// transaction is not begun under the lock: it may wait for a write of Badger's.
func (s *Store) views(project sketch.ProjectNumber, within sketch.Range) ([]view, *badger.Txn) {
	for {
		s.mu.Lock()
		flushed := s.flushed
		s.mu.Unlock()
		txn := s.db.Snapshot()
		s.mu.Lock()
		if s.flushed != flushed {
			s.mu.Unlock()
			txn.Discard()
			continue
		}
		views := []view{s.active.view(project, within)}
		if s.flushing != nil {
			views = append(views, s.flushing.view(project, within))
		}
		s.mu.Unlock()
		return views, txn
	}
}

// Close lets go of the transaction and of the overlays' cells.
func (v *snapshot) Close() {
	if v.closed {
		return
	}
	v.closed = true
	v.txn.Discard()
	v.cells, v.sites = groupedCells{}, nil
	<-v.store.snapshots
}

// failed says what was being done. A project that is being deleted goes while it is
// read.
func (v *snapshot) failed(err error) error {
	if v.store.queue.isDeleted(v.project) {
		return sketch.ErrProjectDeleted
	}
	if v.store.deletions.Load() != v.deletions {
		return fmt.Errorf("ranking the visitors of %v: %w: %w", v.within, sketch.ErrDaysDeleted, err)
	}
	return fmt.Errorf("ranking the visitors of %v: %w", v.within, err)
}

func (v *snapshot) open(views []view) error {
	directory, err := part.ReadDirectory(v.txn, v.project)
	if err != nil {
		return err
	}
	if v.roots, err = readRoots(v.txn, directory.Cover(v.within)); err != nil {
		return err
	}
	if len(views) > 1 {
		views[1].days = slices.DeleteFunc(views[1].days, func(d dayView) bool { return v.holds(d.day, views[1].to) })
	}
	numbers, err := v.number(views)
	if err != nil {
		return err
	}
	for i, view := range views {
		for _, day := range view.days {
			v.sites = append(v.sites, day.site)
		}
		v.cells.count(view, numbers[i])
	}
	v.cells.allocate()
	for i, view := range views {
		v.cells.add(view, numbers[i])
	}
	return nil
}

// holds reports whether a root of the snapshot holds a day up to a position. Of a
// block there is nothing to ask: it is taken out of its directory before one of its
// days is written.
func (v *snapshot) holds(day sketch.Day, position sketch.Position) bool {
	id := part.At(v.project, part.Day, day)
	return slices.ContainsFunc(v.roots, func(r *part.Root) bool { return r.ID == id && r.Position >= position })
}

// number gives the paths of the overlays their numbers: those that the project
// gave, and behind them further ones to those that have none.
func (v *snapshot) number(views []view) ([][]uint32, error) {
	known, err := v.store.numbers.project(v.store.db, v.project)
	if err != nil {
		return nil, err
	}
	unlock := sync.OnceFunc(known.mu.Unlock)
	defer unlock()
	v.names = &pathNames{project: v.project, known: uint32(len(known.hashes))}
	further := make(map[string]uint32)
	numbers := make([][]uint32, len(views))
	for i, view := range views {
		if len(view.days) == 0 {
			continue
		}
		numbers[i] = make([]uint32, len(view.names))
		for path, name := range view.names {
			number, found := known.find(name)
			if !found {
				if number, found = further[name]; !found {
					number = v.names.known + uint32(len(further))
					further[name] = number
					v.names.further = append(v.names.further, name)
				}
			}
			numbers[i][path] = number
		}
	}
	// Under the lock it has the known paths and no others: whoever gives numbers waits.
	txn := v.store.db.Snapshot()
	defer txn.Discard()
	if v.places.known, err = known.places(txn, v.project); err != nil {
		return nil, err
	}
	unlock()
	v.places.further, err = placeFurther(txn, v.project, v.places.known, v.names.further)
	return numbers, err
}
