package part_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// id and group are those of most tests.
var (
	id    = part.At(7, part.Day, 20_000)
	group = part.Group{Number: 3, Generation: 700}
)

// mix is the finalizer of SplitMix64, a bijection: different numbers become
// different hashes, spread like those of a keyed hash.
func mix(x uint64) sketch.Hash {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return sketch.Hash(x ^ x>>31)
}

// cellOf returns a cell of so many humans and AI agents. A third of the fewer are
// both. Those of another seed are others.
func cellOf(p sketch.Precision, seed uint64, humans, agents int) *sketch.Cell {
	c := sketch.NewCell(p)
	for i := range humans {
		c.Add(sketch.Human, mix(seed<<32+uint64(i)))
	}
	for i := range agents {
		c.Add(sketch.AI, mix(seed<<32+uint64(humans-min(humans, agents)/3+i)))
	}
	return c
}

func pathCell(seed uint64, humans, agents int) *sketch.Cell {
	return cellOf(sketch.PathPrecision, seed, humans, agents)
}

func equalCells(a, b *sketch.Cell) bool {
	return a.Views == b.Views && a.Count() == b.Count() &&
		a.Visitors[sketch.Human].Equal(&b.Visitors[sketch.Human]) &&
		a.Visitors[sketch.AI].Equal(&b.Visitors[sketch.AI])
}

// entries gathers what is put.
type entries []database.Entry

func (e *entries) put(entry database.Entry) error {
	*e = append(*e, entry)
	return nil
}

// find returns the value under a key.
func (e entries) find(key []byte) ([]byte, bool) {
	i := slices.IndexFunc(e, func(entry database.Entry) bool { return bytes.Equal(entry.Key, key) })
	if i < 0 {
		return nil, false
	}
	return e[i].Value, true
}

func (e entries) keys() []string {
	keys := make([]string, len(e))
	for i, entry := range e {
		keys[i] = string(entry.Key)
	}
	return keys
}

// fataler is a test, a fuzz target or a property.
type fataler interface{ Fatal(args ...any) }

// groupOf returns what a group of cells, by their slots, is written as.
func groupOf(t fataler, id part.ID, g part.Group, cells map[uint8]*sketch.Cell) (written entries) {
	w := part.NewGroupWriter(id, g, written.put)
	for _, slot := range slots(cells) {
		if err := w.Cell(slot, cells[slot]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return written
}

func slots(cells map[uint8]*sketch.Cell) (all []uint8) {
	for slot := range cells {
		all = append(all, slot)
	}
	slices.Sort(all)
	return all
}

func tableKey(id part.ID, g part.Group) []byte { return setsKey(id, g, 0) }

func setsKey(id part.ID, g part.Group, ordinal uint16) []byte {
	return database.CellsKey(id.Project, uint8(id.Level), id.Run, g.Number, g.Generation, ordinal)
}

func rootKey(id part.ID) []byte { return database.RootKey(id.Project, uint8(id.Level), id.Run) }

func open(t testing.TB) *database.DB {
	t.Helper()
	db, err := database.Open(t.TempDir(), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// write puts entries into the database.
func write(t testing.TB, db *database.DB, all entries) {
	t.Helper()
	if err := db.Write(func(yield func(database.Entry, error) bool) {
		for _, entry := range all {
			if !yield(entry, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}

var errNotKept = errors.New("this is not to be kept")

// with calls fn with a transaction that sees the entries, of which nothing is kept.
func with(t fataler, db *database.DB, all entries, fn func(*badger.Txn)) {
	err := db.Update(func(txn *badger.Txn) error {
		for _, entry := range all {
			if entry.Value == nil {
				if err := txn.Delete(entry.Key); err != nil {
					return err
				}
			} else if err := txn.Set(entry.Key, entry.Value); err != nil {
				return err
			}
		}
		fn(txn)
		return errNotKept
	})
	if !errors.Is(err, errNotKept) {
		t.Fatal(err)
	}
}

// read returns the cells of a group by their slots. It checks that the sets have the
// counts of their rows, also where they are accumulated.
func read(r part.Reader, id part.ID, g part.Group) (map[uint8]*sketch.Cell, error) {
	table := r.Group(id, g)
	rows, err := table.Table(nil)
	if err != nil {
		return nil, err
	}
	cells := make(map[uint8]*sketch.Cell)
	a := sketch.NewAccumulator(sketch.PathPrecision)
	for _, row := range rows {
		sets, err := table.Sets(&row)
		if err != nil {
			return nil, err
		}
		c, err := merged(sketch.PathPrecision, sets, row.Numbers)
		if err != nil {
			return nil, err
		}
		a.Reset([2]uint64{row.Count.Human, row.Count.AI})
		if err := accumulate(&table, a, row); err != nil {
			return nil, err
		}
		if c.Count() != row.Count || a.Count() != row.Count {
			return nil, fmt.Errorf("slot %d has %+v, its sets %+v, accumulated %+v", row.Slot, row.Count, c.Count(), a.Count())
		}
		cells[row.Slot] = c
	}
	if len(cells) != len(rows) {
		return nil, fmt.Errorf("%d rows are in %d slots", len(rows), len(cells))
	}
	return cells, nil
}

// merged returns the cell of sets and of the numbers beside them.
func merged(p sketch.Precision, sets part.Sets, n part.Numbers) (*sketch.Cell, error) {
	c := sketch.NewCell(p)
	c.Views = n.Views
	for traffic, count := range [2]uint64{n.Count.Human, n.Count.AI} {
		if err := c.Visitors[traffic].MergeEncoded(sets[traffic], count); err != nil {
			return nil, fmt.Errorf("%v set: %w", sketch.Traffic(traffic), err)
		}
	}
	return c, nil
}

// rowsOf returns the rows of the group that most tests have.
func rowsOf(t fataler, txn *badger.Txn) []part.Row {
	table := part.Reader{Txn: txn}.Group(id, group)
	rows, err := table.Table(nil)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// checkCells checks that a group holds these cells and no other.
func checkCells(r part.Reader, id part.ID, g part.Group, want map[uint8]*sketch.Cell) error {
	got, err := read(r, id, g)
	if err != nil {
		return err
	}
	if !slices.Equal(slots(got), slots(want)) {
		return fmt.Errorf("slots %v, expected %v", slots(got), slots(want))
	}
	for slot, c := range want {
		if !equalCells(got[slot], c) {
			return fmt.Errorf("slot %d: views %v, %+v, expected %v, %+v", slot, got[slot].Views, got[slot].Count(), c.Views, c.Count())
		}
	}
	return nil
}

// checkCorrupted checks that an error is an ErrCorrupted that names the key.
func checkCorrupted(err error, key []byte) error {
	var corruption *sketch.CorruptionError
	if !errors.Is(err, sketch.ErrCorrupted) || !errors.As(err, &corruption) {
		return fmt.Errorf("%w, expected ErrCorrupted", err)
	}
	if !bytes.Equal(corruption.Key, key) {
		return fmt.Errorf("%w, expected key %q", err, key)
	}
	return nil
}

// accumulate adds both sets of a row.
func accumulate(g *part.GroupReader, into *sketch.Accumulator, row part.Row) error {
	return errors.Join(g.Accumulate(into, sketch.Human, &row), g.Accumulate(into, sketch.AI, &row))
}
