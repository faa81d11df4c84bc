package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// entries yields what an overlay changes in the database, project by project and
// day by day. Of each day the new tables and sets come first, then the root that
// refers to them, then the removal of what the root before referred to: whatever
// a crash leaves off, there is a root, and all that it refers to. The overlay
// does not change meanwhile, and is not changed.
func (s *Store) entries(o *overlay) iter.Seq2[database.Entry, error] {
	return func(yield func(database.Entry, error) bool) {
		txn := s.db.Snapshot()
		defer txn.Discard()
		w := &entryWriter{
			store:     s,
			txn:       txn,
			reader:    part.Reader{Txn: txn},
			through:   o.to,
			leftovers: o.leftovers,
			paths:     sketch.NewAccumulator(sketch.PathPrecision),
			site:      sketch.NewAccumulator(sketch.SitePrecision),
			put: func(e database.Entry) error {
				if !yield(e, nil) {
					return errStopped
				}
				return nil
			},
		}
		for _, project := range slices.Sorted(maps.Keys(o.projects)) {
			if err := w.project(project, o.projects[project]); err != nil {
				if !errors.Is(err, errStopped) {
					yield(database.Entry{}, err)
				}
				return
			}
		}
	}
}

// errStopped: whoever takes the entries wants no more of them.
var errStopped = errors.New("no more entries are wanted")

// entryWriter makes the entries of one overlay.
type entryWriter struct {
	store   *Store
	txn     *badger.Txn
	reader  part.Reader
	through sketch.Position // what the days hold once they are written
	// leftovers says that a checkpoint that was interrupted may have left tables and
	// sets on the overlay's days that no root refers to.
	leftovers bool
	put       func(database.Entry) error

	group part.GroupWriter
	paths *sketch.Accumulator
	site  *sketch.Accumulator
	rows  []part.Row
}

func (w *entryWriter) project(number sketch.ProjectNumber, p *projectOverlay) error {
	numbers, err := w.number(number, p)
	if err != nil {
		return err
	}
	for _, day := range slices.Sorted(maps.Keys(p.days)) {
		if err := w.day(part.At(number, part.Day, day), p.days[day], numbers); err != nil {
			return err
		}
	}
	receipts := slices.SortedFunc(maps.Keys(p.receipts), func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
	for _, hash := range receipts {
		key := database.ReceiptKey(number, hash)
		value := sketch.AppendFrame(nil, key, database.KindReceipt, 0, appendReceipt(nil, p.receipts[hash]))
		if err := w.put(database.Entry{Key: key, Value: value}); err != nil {
			return err
		}
	}
	sources := slices.SortedFunc(maps.Keys(p.sources), func(a, b sketch.Source) int {
		return cmp.Or(cmp.Compare(a.Length, b.Length), slices.Compare(a.Sum[:], b.Sum[:]))
	})
	for _, source := range sources {
		key := database.SourceKey(number, source)
		value := sketch.AppendFrame(nil, key, database.KindSource, 0, appendMark(nil, p.sources[source]))
		if err := w.put(database.Entry{Key: key, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

// number returns the numbers of the overlay's paths, which giveNumbers gave.
func (w *entryWriter) number(project sketch.ProjectNumber, p *projectOverlay) ([]uint32, error) {
	if len(p.names) == 0 {
		return nil, nil
	}
	known, err := w.store.numbers.project(w.store.db, project)
	if err != nil {
		return nil, err
	}
	defer known.mu.Unlock()
	numbers := make([]uint32, len(p.names))
	for i, name := range p.names {
		var found bool
		if numbers[i], found = known.find(name); !found {
			return nil, fmt.Errorf("path %q of project %d was given no number", name, project)
		}
	}
	return numbers, nil
}

func (w *entryWriter) day(id part.ID, today *dayOverlay, numbers []uint32) error {
	old, err := namedRoot(w.txn, id)
	if err != nil {
		return err
	}
	if w.leftovers {
		if err := w.sweep(id, old); err != nil {
			return err
		}
	}
	if len(today.cells) == 0 || old != nil && old.Position >= w.through {
		return nil // An earlier attempt, or a checkpoint that was interrupted, wrote all of it.
	}
	root := &part.Root{ID: id, Position: w.through, SiteGeneration: w.through}
	if old == nil {
		old = &part.Root{ID: id}
	}
	root.Groups = slices.Clone(old.Groups)

	cells := make([]numberedCell, len(today.cells))
	for i, d := range today.cells {
		cells[i] = numberedCell{number: numbers[d.path], cell: d.cell}
	}
	slices.SortFunc(cells, func(a, b numberedCell) int { return cmp.Compare(a.number, b.number) })
	var replaced []func() error
	for len(cells) > 0 {
		number, _ := part.GroupOf(cells[0].number)
		next, found := old.Find(number)
		group := part.Group{Number: number, Generation: w.through}
		old := w.reader.Group(id, next)
		w.rows = w.rows[:0]
		if found {
			if w.rows, err = old.Table(w.rows); err != nil {
				return err
			}
			ordinals := w.rows[len(w.rows)-1].Ordinal
			replaced = append(replaced, func() error { return part.RemoveGroup(id, next, ordinals, w.put) })
		}
		if cells, err = w.write(id, &old, group, cells); err != nil {
			return err
		}
		root.Put(group)
	}
	if err := w.putSite(root, old, today.site.cell); err != nil {
		return err
	}
	if err := w.put(root.Entry()); err != nil {
		return err
	}
	for _, remove := range replaced {
		if err := remove(); err != nil {
			return err
		}
	}
	if old.Position > 0 {
		return part.RemoveSite(old, w.put)
	}
	return nil
}

// write writes a group anew: the rows that it had and the cells at the head of
// cells that belong to it. It returns the cells behind them.
func (w *entryWriter) write(id part.ID, old *part.GroupReader, group part.Group, cells []numberedCell) ([]numberedCell, error) {
	w.group.Reset(id, group, w.put)
	rows := w.rows
	for {
		mine := len(cells) > 0 && cells[0].number/part.GroupPaths == group.Number
		var slot uint8
		if mine {
			_, slot = part.GroupOf(cells[0].number)
		}
		var err error
		switch {
		case len(rows) == 0 && !mine:
			return cells, w.group.Close()
		case !mine || len(rows) > 0 && rows[0].Slot < slot:
			var sets part.Sets
			if sets, err = old.Sets(&rows[0]); err == nil {
				err = w.group.Sets(rows[0].Slot, rows[0].Numbers, sets)
			}
			rows = rows[1:]
		case len(rows) == 0 || rows[0].Slot > slot:
			err = w.group.Cell(slot, cells[0].cell)
			cells = cells[1:]
		default:
			err = w.union(old, &rows[0], cells[0].cell)
			rows, cells = rows[1:], cells[1:]
		}
		if err != nil {
			return nil, err
		}
	}
}

func (w *entryWriter) union(old *part.GroupReader, row *part.Row, cell *sketch.Cell) error {
	w.paths.Reset(expected(row.Count, cell))
	for _, t := range [...]sketch.Traffic{sketch.Human, sketch.AI} {
		if err := old.Accumulate(w.paths, t, row); err != nil {
			return err
		}
	}
	w.paths.AddCell(cell)
	return w.group.Union(row.Slot, addViews(row.Views, cell.Views), w.paths)
}

func (w *entryWriter) putSite(root, old *part.Root, cell *sketch.Cell) error {
	w.site.Reset(expected(old.Site.Count, cell))
	if old.Position > 0 {
		if err := w.reader.AccumulateSite(w.site, old); err != nil {
			return err
		}
	}
	w.site.AddCell(cell)
	root.Site.Views = addViews(old.Site.Views, cell.Views)
	return part.PutSite(root, w.site, w.put)
}

// expected is how many visitors, by Traffic, what is stored and a cell can have.
func expected(stored sketch.Count, cell *sketch.Cell) [2]uint64 {
	return [2]uint64{
		stored.Human + cell.Visitors[sketch.Human].Most(),
		stored.AI + cell.Visitors[sketch.AI].Most(),
	}
}

func addViews(a, b [2]uint64) [2]uint64 {
	return [2]uint64{a[sketch.Human] + b[sketch.Human], a[sketch.AI] + b[sketch.AI]}
}

// sweep removes what a day has in the database beside what its root refers to.
func (w *entryWriter) sweep(id part.ID, root *part.Root) error {
	return w.reader.EachKey(id, func(key []byte) error {
		if root != nil && root.Refers(key) {
			return nil
		}
		return w.put(database.Entry{Key: bytes.Clone(key)})
	})
}
