package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"footfall/sketch"
)

// Memory is the store without a disk. It keeps every visit as it came and builds
// each set anew for each answer, so that it shares no shortcut with Store: a
// difference between the two is a mistake in one of them. Its memory grows with
// the visits. It is safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	position sketch.Position
	visits   map[sketch.ProjectNumber][]sketch.Visit
	sources  map[sourceKey]sketch.Mark
	deleted  map[sketch.ProjectNumber]bool
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		visits:  make(map[sketch.ProjectNumber][]sketch.Visit),
		sources: make(map[sourceKey]sketch.Mark),
		deleted: make(map[sketch.ProjectNumber]bool),
	}
}

// Commit keeps a batch, as Store.Commit does.
func (m *Memory) Commit(ctx context.Context, b sketch.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.Visits) == 0 && b.Mark.IsZero() {
		return nil
	}
	if m.deleted[b.Project] {
		return sketch.ErrProjectDeleted
	}
	if !b.Mark.IsZero() {
		key := sourceKey{b.Project, b.Mark.Source}
		if last := m.sources[key]; last.To != b.Mark.From {
			return fmt.Errorf("%w: to offset %d, the batch begins at %d", sketch.ErrSourceMoved, last.To, b.Mark.From)
		}
		m.sources[key] = b.Mark
	}
	m.visits[b.Project] = append(m.visits[b.Project], b.Visits...)
	m.position++
	return nil
}

// FindSource finds a log by how it begins, as Store.FindSource does.
func (m *Memory) FindSource(_ context.Context, project sketch.ProjectNumber, head []byte) (sketch.Mark, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for length := min(len(head), sketch.SourceHead); length > 0; length-- {
		if mark, found := m.sources[sourceKey{project, sketch.SourceOf(head[:length])}]; found {
			return mark, true, nil
		}
	}
	return sketch.Mark{}, false, nil
}

// Rank ranks the visitors of a range, as Store.Rank does.
func (m *Memory) Rank(_ context.Context, project sketch.ProjectNumber, within sketch.Range) (*sketch.Ranking, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	site := sketch.NewCell(sketch.SitePrecision)
	paths := make(map[string]*sketch.Cell)
	for _, visit := range m.visits[project] {
		if !within.Contains(visit.Day) {
			continue
		}
		if paths[visit.Path] == nil {
			paths[visit.Path] = sketch.NewCell(sketch.PathPrecision)
		}
		site.Add(visit.Traffic, visit.Visitor)
		paths[visit.Path].Add(visit.Traffic, visit.Visitor)
	}
	rows := make([]sketch.Row, 0, len(paths))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		rows = append(rows, sketch.Row{Path: path, Count: paths[path].Count(), Views: paths[path].Views})
	}
	return sketch.NewRanking(m.position, site.Count(), rows), nil
}

// DeleteProject forgets a project, as Store.DeleteProject does.
func (m *Memory) DeleteProject(_ context.Context, project sketch.ProjectNumber) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleted[project] = true
	delete(m.visits, project)
	maps.DeleteFunc(m.sources, func(key sourceKey, _ sketch.Mark) bool { return key.project == project })
	return nil
}
