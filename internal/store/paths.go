package store

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// knownPaths are the paths of a project that have a row of their own, by a hash
// that differs from process to process: nobody can craft paths that collide, and
// by chance one in 2^64 pairs does, which lets one path pass the limit.
type knownPaths struct {
	loaded   bool
	refusals uint64 // as of which it was read
	all      map[uint64]struct{}
	// days are those of single days. They are loaded once a batch might take the
	// project over a limit, and kept up to date from then on: a project with few
	// paths has few on each day too.
	days    map[sketch.Day]map[uint64]struct{}
	hashes  []uint64 // of the batch being decided
	counted int      // as projects.paths has it
	warned  sketch.Day
}

// remembered is how many hashes are in memory.
func (k *knownPaths) remembered() int {
	n := len(k.all)
	for _, day := range k.days {
		n += len(day)
	}
	return n
}

// admitPaths decides which page views of a batch are counted under their own
// path and moves the others to sketch.OtherPath. What comes first has the row:
// this depends on arrival, and so it is decided before the log. undo takes back
// what was decided, of a batch that is refused in the end; the caller holds the
// project from before admitPaths until after undo.
func (s *Store) admitPaths(ctx context.Context, p *project, b *sketch.Batch) (undo func(), err error) {
	k := &p.paths
	if !k.loaded || k.refusals != s.refusals.Load() {
		if err := s.loadPaths(ctx, b.Project, k); err != nil {
			return nil, err
		}
		s.account(b.Project, p)
	}
	k.hashes = k.hashes[:0]
	for _, path := range b.Paths {
		k.hashes = append(k.hashes, maphash.Bytes(s.seed, path))
	}
	if k.days != nil || len(k.all)+len(b.Paths) > min(s.limits.PathsPerDay, s.limits.PathsPerProject) {
		return s.admitWithin(ctx, p, b)
	}
	var fresh []uint64
	for _, hash := range k.hashes {
		if _, known := k.all[hash]; !known {
			k.all[hash] = struct{}{}
			fresh = append(fresh, hash)
		}
	}
	if fresh != nil {
		s.account(b.Project, p)
	}
	return func() {
		for _, hash := range fresh {
			delete(k.all, hash)
		}
	}, nil
}

// admitWithin is admitPaths for a batch that might pass a limit.
func (s *Store) admitWithin(ctx context.Context, p *project, b *sketch.Batch) (undo func(), err error) {
	k := &p.paths
	if k.days == nil {
		k.days = make(map[sketch.Day]map[uint64]struct{})
	}
	added := make(map[sketch.Day]bool) // What this batch adds to a day is nowhere else yet.
	var undone []func()
	undo = func() {
		for _, f := range undone {
			f()
		}
	}
	visits, other := b.Visits, len(b.Paths)
	for i, visit := range b.Visits {
		today := k.days[visit.Day]
		if today == nil {
			if k.remembered() > s.projects.limit {
				maps.DeleteFunc(k.days, func(day sketch.Day, _ map[uint64]struct{}) bool { return !added[day] })
			}
			if today, err = s.loadDay(ctx, b.Project, k, visit.Day); err != nil {
				undo()
				return nil, err
			}
		}
		hash := k.hashes[visit.Path]
		if _, known := today[hash]; known {
			continue
		}
		_, known := k.all[hash]
		if len(today) < s.limits.PathsPerDay && (known || len(k.all) < s.limits.PathsPerProject) {
			today[hash] = struct{}{}
			added[visit.Day] = true
			undone = append(undone, func() { delete(today, hash) })
			if !known {
				k.all[hash] = struct{}{}
				undone = append(undone, func() { delete(k.all, hash) })
			}
			continue
		}
		if len(b.Paths) == other { // The caller's slices stay as they are.
			visits = slices.Clone(b.Visits)
			b.Paths = append(slices.Clip(b.Paths), []byte(sketch.OtherPath))
		}
		visits[i].Path = uint32(other)
	}
	b.Visits = visits
	s.account(b.Project, p)
	return undo, nil
}

// reportOverflow counts the page views of a batch that was taken which are under
// sketch.OtherPath, and logs the first ones of a day.
func (s *Store) reportOverflow(p *project, b sketch.Batch) {
	if last := len(b.Paths) - 1; last < 0 || string(b.Paths[last]) != sketch.OtherPath {
		return
	}
	moved := 0
	for i := range b.Visits {
		if int(b.Visits[i].Path) == len(b.Paths)-1 {
			moved++
		}
	}
	s.metrics.overflow.Add(float64(moved))
	if today := sketch.DayOf(s.now()); p.paths.warned != today {
		p.paths.warned = today
		s.logger.Warn("A project has more paths than have rows of their own. The further ones count in one row.",
			"project", uint64(b.Project), "row", sketch.OtherPath, "perDay", s.limits.PathsPerDay, "perProject", s.limits.PathsPerProject)
	}
}

// loadPaths reads which paths of a project have a row of their own.
func (s *Store) loadPaths(ctx context.Context, project sketch.ProjectNumber, k *knownPaths) error {
	refusals := s.refusals.Load()
	all := make(map[uint64]struct{})
	txn, err := s.settled(ctx, project, func(p *projectOverlay) {
		for path := range p.paths {
			all[maphash.String(s.seed, path)] = struct{}{}
		}
	})
	if err != nil {
		return err
	}
	defer txn.Discard()
	err = database.EachKey(txn, database.PathPrefix(project), func(key []byte) error {
		all[maphash.Bytes(s.seed, database.SplitPathKey(key))] = struct{}{}
		return nil
	})
	if err != nil {
		return err
	}
	delete(all, maphash.String(s.seed, sketch.OtherPath))
	k.all, k.days, k.loaded, k.refusals = all, nil, true, refusals
	return nil
}

// loadDay reads which paths have a row of their own on a day.
func (s *Store) loadDay(ctx context.Context, project sketch.ProjectNumber, k *knownPaths, day sketch.Day) (map[uint64]struct{}, error) {
	today := make(map[uint64]struct{})
	txn, err := s.settled(ctx, project, func(p *projectOverlay) {
		if cells := p.days[day]; cells != nil {
			for _, d := range cells.cells {
				today[maphash.String(s.seed, p.names[d.path])] = struct{}{}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	defer txn.Discard()
	if err := s.storedPaths(txn, project, day, today); err != nil {
		return nil, fmt.Errorf("reading which paths %v has: %w", day, err)
	}
	delete(today, maphash.String(s.seed, sketch.OtherPath))
	k.days[day] = today
	return today, nil
}

// storedPaths adds the hashes of the paths that a day has in Badger.
func (s *Store) storedPaths(txn *badger.Txn, project sketch.ProjectNumber, day sketch.Day, hashes map[uint64]struct{}) error {
	root, err := namedRoot(txn, part.At(project, part.Day, day))
	if root == nil || err != nil {
		return err
	}
	known, err := s.numbers.project(s.db, project)
	if err != nil {
		return err
	}
	defer known.mu.Unlock()
	reader := part.Reader{Txn: txn, Cache: s.cache}
	var rows []part.Row
	for _, group := range root.Groups {
		table := reader.Group(root.ID, group)
		if rows, err = table.Table(rows[:0]); err != nil {
			return err
		}
		for _, row := range rows {
			hashes[known.hashes[part.NumberOf(group.Number, row.Slot)]] = struct{}{}
		}
	}
	return nil
}

// settled waits until all batches of a project are folded, and then returns what
// Badger holds, having shown what the overlays hold beyond it.
func (s *Store) settled(ctx context.Context, project sketch.ProjectNumber, show func(*projectOverlay)) (*badger.Txn, error) {
	if err := s.awaitIdle(ctx, project); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range []*overlay{s.active, s.flushing} {
		if o != nil && o.projects[project] != nil {
			show(o.projects[project])
		}
	}
	return s.db.Snapshot(), nil
}
