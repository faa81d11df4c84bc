package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"footfall/sketch"
)

// Memory is the store without a disk. It keeps every page view as it came and
// builds each set anew for each answer, so that it shares no shortcut with Store:
// a difference between the two is a mistake in one of them. Its memory grows with
// the page views. It is safe for concurrent use.
type Memory struct {
	now    func() time.Time
	limits Limits

	mu       sync.Mutex
	position sketch.Position
	views    map[sketch.ProjectNumber][]sketch.PageView
	sources  map[sourceKey]sketch.Mark
	receipts map[receiptKey]sketch.Receipt
	deleted  map[sketch.ProjectNumber]bool
}

// NewMemory returns an empty store. A nil now means time.Now.
func NewMemory(now func() time.Time, limits Limits) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{
		now:      now,
		limits:   limits.withDefaults(),
		views:    make(map[sketch.ProjectNumber][]sketch.PageView),
		sources:  make(map[sourceKey]sketch.Mark),
		receipts: make(map[receiptKey]sketch.Receipt),
		deleted:  make(map[sketch.ProjectNumber]bool),
	}
}

// Commit keeps a batch, as Store.Commit does.
func (m *Memory) Commit(ctx context.Context, b sketch.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.Empty() {
		return nil
	}
	if m.deleted[b.Project] {
		return sketch.ErrProjectDeleted
	}
	source := sourceKey{b.Project, b.Mark.Source}
	if last := m.sources[source]; !b.Mark.IsZero() && last.To != b.Mark.From {
		return fmt.Errorf("%w: to offset %d, the batch begins at %d", sketch.ErrSourceMoved, last.To, b.Mark.From)
	}
	if b.Receipt != nil {
		if err := m.keepReceipt(b); err != nil {
			return err
		}
	}
	if !b.Mark.IsZero() {
		m.sources[source] = b.Mark
	}
	m.keepViews(b)
	m.position++
	return nil
}

func (m *Memory) keepReceipt(b sketch.Batch) error {
	maps.DeleteFunc(m.receipts, func(_ receiptKey, r sketch.Receipt) bool { return r.Expired(m.now()) })
	key := receiptKey{b.Project, b.Receipt.Key}
	if _, used := m.receipts[key]; used {
		return sketch.ErrRepeated
	}
	kept := 0
	for other := range m.receipts {
		if other.project == b.Project {
			kept++
		}
	}
	if kept >= m.limits.Receipts {
		return sketch.ErrTooManyReceipts
	}
	m.receipts[key] = *b.Receipt
	return nil
}

// keepViews keeps the page views of a batch, those beyond the limits of paths
// under sketch.OtherPath.
func (m *Memory) keepViews(b sketch.Batch) {
	paths := make(map[string]bool)
	days := make(map[sketch.Day]map[string]bool)
	note := func(v sketch.PageView) {
		if v.Path == sketch.OtherPath {
			return
		}
		if days[v.Day] == nil {
			days[v.Day] = make(map[string]bool)
		}
		days[v.Day][v.Path], paths[v.Path] = true, true
	}
	for _, v := range m.views[b.Project] {
		note(v)
	}
	for v := range b.Views() {
		newToday := !days[v.Day][v.Path] && len(days[v.Day]) >= m.limits.PathsPerDay
		newAtAll := !paths[v.Path] && len(paths) >= m.limits.PathsPerProject
		if newToday || newAtAll {
			v.Path = sketch.OtherPath
		}
		note(v)
		m.views[b.Project] = append(m.views[b.Project], v)
	}
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

// FindReceipt finds a receipt, as Store.FindReceipt does.
func (m *Memory) FindReceipt(_ context.Context, project sketch.ProjectNumber, key [32]byte) (sketch.Receipt, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	receipt, found := m.receipts[receiptKey{project, key}]
	if !found || receipt.Expired(m.now()) {
		return sketch.Receipt{}, false, nil
	}
	return receipt, true, nil
}

// Snapshot ranks the visitors of a range, as the snapshots of Store do.
func (m *Memory) Snapshot(_ context.Context, project sketch.ProjectNumber, within sketch.Range) (sketch.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	site := sketch.NewCell(sketch.SitePrecision)
	paths := make(map[string]*sketch.Cell)
	for _, view := range m.views[project] {
		if !within.Contains(view.Day) {
			continue
		}
		if paths[view.Path] == nil {
			paths[view.Path] = sketch.NewCell(sketch.PathPrecision)
		}
		site.Add(view.Traffic, view.Visitor)
		paths[view.Path].Add(view.Traffic, view.Visitor)
	}
	rows := make([]sketch.Row, 0, len(paths))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		rows = append(rows, sketch.Row{Path: path, Count: paths[path].Count(), Views: paths[path].Views})
	}
	return memorySnapshot{sketch.NewRanking(m.position, site.Count(), rows)}, nil
}

// memorySnapshot is a snapshot, and its listing, with all rows at hand.
type memorySnapshot struct{ ranking *sketch.Ranking }

func (s memorySnapshot) Top(_ context.Context, limit int) (*sketch.Ranking, error) {
	return s.ranking.Slice(0, limit), nil
}

func (s memorySnapshot) All(context.Context) (sketch.Listing, error) { return s, nil }

func (s memorySnapshot) Page(_ context.Context, offset, limit int) (*sketch.Ranking, error) {
	return s.ranking.Slice(offset, limit), nil
}

func (s memorySnapshot) MemoryBytes() int { return 64 * len(s.ranking.Rows) }

func (s memorySnapshot) Close() {}

// DeleteDays forgets the days of a project before a day, as Store.DeleteDays does.
func (m *Memory) DeleteDays(_ context.Context, project sketch.ProjectNumber, before sketch.Day) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.views[project] = slices.DeleteFunc(m.views[project], func(v sketch.PageView) bool { return v.Day < before })
	return nil
}

// DeleteProject forgets a project, as Store.DeleteProject does.
func (m *Memory) DeleteProject(_ context.Context, project sketch.ProjectNumber) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleted[project] = true
	delete(m.views, project)
	maps.DeleteFunc(m.sources, func(key sourceKey, _ sketch.Mark) bool { return key.project == project })
	maps.DeleteFunc(m.receipts, func(key receiptKey, _ sketch.Receipt) bool { return key.project == project })
	return nil
}
