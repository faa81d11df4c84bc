package store

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// entries yields the new value of every key that an overlay changes, in the order
// of the keys: so Badger reads and writes one run of each table. The overlay does
// not change meanwhile, and is not changed.
func entries(db *database.DB, o *overlay) iter.Seq2[database.Entry, error] {
	return func(yield func(database.Entry, error) bool) {
		txn := db.Snapshot()
		defer txn.Discard()
		w := &entryWriter{txn: txn, through: o.to, yield: yield}
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
	txn     *badger.Txn
	through sketch.Position // what the cells hold once they are written
	yield   func(database.Entry, error) bool
	chunk   []byte // keys and values, which live until Badger has written them
}

// chunkBytes is the size of what entries are allocated in. One by one they would be
// the largest part of all allocations.
const chunkBytes = 256 << 10

// room makes the chunk hold so many bytes more.
func (w *entryWriter) room(bytes int) {
	if cap(w.chunk)-len(w.chunk) < bytes {
		w.chunk = make([]byte, 0, max(chunkBytes, bytes))
	}
}

// key copies a key into the chunk.
func (w *entryWriter) key(key []byte) []byte {
	w.room(len(key))
	start := len(w.chunk)
	w.chunk = append(w.chunk, key...)
	return w.chunk[start:len(w.chunk):len(w.chunk)]
}

func (w *entryWriter) put(key, value []byte) error {
	if !w.yield(database.Entry{Key: key, Value: value}, nil) {
		return errStopped
	}
	return nil
}

// project yields the entries of one project. What is called here stands in the
// order of the keys' prefixes.
func (w *entryWriter) project(number sketch.ProjectNumber, p *projectOverlay) error {
	days := slices.Sorted(maps.Keys(p.days))
	for _, day := range days {
		if err := w.day(number, day, p.days[day]); err != nil {
			return err
		}
	}
	receipts := slices.SortedFunc(maps.Keys(p.receipts), func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
	for _, hash := range receipts {
		key := database.ReceiptKey(number, hash)
		value := sketch.AppendFrame(nil, key, database.KindReceipt, 0, appendReceipt(nil, p.receipts[hash]))
		if err := w.put(key, value); err != nil {
			return err
		}
	}
	sources := slices.SortedFunc(maps.Keys(p.sources), func(a, b sketch.Source) int {
		return cmp.Or(cmp.Compare(a.Length, b.Length), slices.Compare(a.Sum[:], b.Sum[:]))
	})
	for _, source := range sources {
		key := database.SourceKey(number, source)
		value := sketch.AppendFrame(nil, key, database.KindSource, 0, appendMark(nil, p.sources[source]))
		if err := w.put(key, value); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.paths)) {
		if err := w.path(database.PathKey(number, path)); err != nil {
			return err
		}
	}
	for _, day := range days {
		if err := w.cell(database.SiteKey(number, day), p.days[day].site, false); err != nil {
			return err
		}
	}
	return nil
}

func (w *entryWriter) day(number sketch.ProjectNumber, day sketch.Day, cells *dayOverlay) error {
	known, err := w.has(database.SiteKey(number, day))
	if err != nil {
		return err
	}
	var key []byte
	for _, path := range slices.Sorted(maps.Keys(cells.paths)) {
		key = append(append(key[:0], database.CellDay(number, day)...), path...)
		// Without a site cell the day has no cell at all in Badger, but for those
		// that an interrupted checkpoint left ahead: they have a floor.
		if err := w.cell(w.key(key), cells.paths[path], !known && cells.paths[path].floor == 0); err != nil {
			return err
		}
	}
	return nil
}

// path yields the entry of a path that has none.
func (w *entryWriter) path(key []byte) error {
	known, err := w.has(key)
	if known || err != nil {
		return err
	}
	return w.put(key, sketch.AppendFrame(nil, key, database.KindPath, 0, nil))
}

// cell yields the cell under key with a difference added, which holds everything
// up to the overlay's end then. fresh says that there is no such cell.
func (w *entryWriter) cell(key []byte, d *difference, fresh bool) error {
	cell := *d.cell // Its sets are shared, and only read.
	if !fresh {
		merged, err := w.merged(key, d.cell)
		if merged == nil || err != nil {
			return err
		}
		cell = *merged
	}
	cell.Position = w.through
	w.room(cell.MemoryBytes() + len(key) + 64) // Encoded it is smaller.
	start := len(w.chunk)
	w.chunk = sketch.AppendCell(w.chunk, key, &cell)
	return w.put(key, w.chunk[start:len(w.chunk):len(w.chunk)])
}

// merged returns the cell under key with a difference added. It is nil where the
// stored cell holds everything up to the overlay's end: an earlier attempt, or a
// checkpoint that was interrupted, wrote it. The difference is not changed, since
// queries may read it.
func (w *entryWriter) merged(key []byte, difference *sketch.Cell) (*sketch.Cell, error) {
	item, err := w.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return difference, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading cell %q: %w", key, err)
	}
	var merged *sketch.Cell
	err = item.Value(func(value []byte) error {
		position, err := sketch.EncodedPosition(key, value)
		if err != nil || position >= w.through {
			return err
		}
		merged = difference.Clone()
		_, err = merged.MergeEncoded(key, value)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading cell %q: %w", key, err)
	}
	return merged, nil
}

func (w *entryWriter) has(key []byte) (bool, error) {
	_, err := w.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for key %q: %w", key, err)
	}
	return true, nil
}
