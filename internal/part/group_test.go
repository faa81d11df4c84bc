package part_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"pgregory.net/rapid"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// maxSets is how many bytes sets have that are stored as one value.
const maxSets = 32 << 10

// frameHeader is what stands before the payload of a value.
const frameHeader = 7

func TestGroupRoundTrip(t *testing.T) {
	const exact, dense = 2048, 2049
	tests := []struct {
		name  string
		cells func() map[uint8]*sketch.Cell
		sets  int // values
	}{
		{"one path", func() map[uint8]*sketch.Cell {
			return map[uint8]*sketch.Cell{9: pathCell(1, 2, 1)}
		}, 1},
		{"the first and the last slot", func() map[uint8]*sketch.Cell {
			return map[uint8]*sketch.Cell{0: pathCell(1, 1, 0), 255: pathCell(2, 0, 1)}
		}, 1},
		{"the hash 0", func() map[uint8]*sketch.Cell {
			c := pathCell(1, 1, 0)
			c.Add(sketch.Human, 0)
			c.Add(sketch.AI, 0)
			return map[uint8]*sketch.Cell{4: c}
		}, 1},
		{"255 paths", func() map[uint8]*sketch.Cell { return manyCells(255, 8, 8) }, 1},
		{"256 paths that fill one value", func() map[uint8]*sketch.Cell { return manyCells(256, 8, 8) }, 1},
		{"256 paths, a hash more than one value holds", func() map[uint8]*sketch.Cell {
			cells := manyCells(256, 8, 8)
			cells[255] = pathCell(255, 9, 8)
			return cells
		}, 2},
		{"256 paths of many visitors", func() map[uint8]*sketch.Cell { return manyCells(256, 400, 100) }, 32},
		{"sets at the exact limit", func() map[uint8]*sketch.Cell {
			return map[uint8]*sketch.Cell{1: pathCell(1, exact, exact), 2: pathCell(2, 1, exact), 3: pathCell(3, exact, 1)}
		}, 3},
		{"dense sets", func() map[uint8]*sketch.Cell {
			return map[uint8]*sketch.Cell{1: pathCell(1, dense, dense), 2: pathCell(2, 5000, 3), 3: pathCell(3, 3, 70_000), 4: pathCell(4, 1, 1)}
		}, 3},
		{"dense sets after small ones", func() map[uint8]*sketch.Cell {
			return map[uint8]*sketch.Cell{1: pathCell(1, 1, 1), 2: pathCell(2, dense, dense), 3: pathCell(3, 1, 0)}
		}, 3},
	}
	db := open(t)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, cells := part.Group{Number: uint32(i), Generation: 700}, test.cells()
			written := groupOf(t, id, g, cells)
			if got := len(written) - 1; got != test.sets {
				t.Errorf("the sets are in %d values, expected %d", got, test.sets)
			}
			write(t, db, written)
			if err := db.View(func(txn *badger.Txn) error {
				return checkCells(part.Reader{Txn: txn}, id, g, cells)
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// manyCells returns n cells in the lowest slots.
func manyCells(n, humans, agents int) map[uint8]*sketch.Cell {
	cells := make(map[uint8]*sketch.Cell)
	for slot := range n {
		cells[uint8(slot)] = pathCell(uint64(slot), humans, agents)
	}
	return cells
}

// anyCells draws the cells of a group, most of them small.
func anyCells() *rapid.Generator[map[uint8]*sketch.Cell] {
	size := rapid.OneOf(rapid.IntRange(0, 4), rapid.IntRange(0, 4), rapid.IntRange(0, 700), rapid.IntRange(2047, 2100))
	return rapid.Custom(func(t *rapid.T) map[uint8]*sketch.Cell {
		cells := make(map[uint8]*sketch.Cell)
		for _, slot := range rapid.SliceOfNDistinct(rapid.Byte(), 1, 12, rapid.ID).Draw(t, "slots") {
			c := pathCell(uint64(slot), size.Draw(t, "humans"), size.Draw(t, "agents"))
			c.Add(sketch.Traffic(slot%2), mix(uint64(slot)<<32)) // Every path has a visitor.
			c.Views[sketch.AI] += rapid.Uint64Range(0, 1<<40).Draw(t, "views")
			cells[slot] = c
		}
		return cells
	})
}

// What is read is what was written, in values that are neither too large nor more
// than need be, of which the table is the last: a table on disk has its sets there.
func TestGroupRoundTripOfAnyCells(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		cells := anyCells().Draw(t, "cells")
		written := groupOf(t, id, group, cells)
		var rows []part.Row
		with(t, db, written, func(txn *badger.Txn) {
			if err := checkCells(part.Reader{Txn: txn}, id, group, cells); err != nil {
				t.Fatal(err)
			}
			rows = rowsOf(t, txn)
		})

		last := len(written) - 1
		if !bytes.Equal(written[last].Key, tableKey(id, group)) {
			t.Fatal("the table is not written last")
		}
		size := make([]int, last+1)
		for _, row := range rows {
			if int(row.Offset) != size[row.Ordinal] {
				t.Fatalf("the sets of slot %d stand at byte %d, expected %d", row.Slot, row.Offset, size[row.Ordinal])
			}
			if row.Offset == 0 && size[row.Ordinal-1]+sizeOf(row) <= maxSets && row.Ordinal > 1 {
				t.Fatalf("the sets of slot %d have room in those before", row.Slot)
			}
			size[row.Ordinal] += sizeOf(row)
		}
		for i, entry := range written[:last] {
			if !bytes.Equal(entry.Key, setsKey(id, group, uint16(i+1))) {
				t.Fatalf("sets %d stand under key %q", i+1, entry.Key)
			}
			if got := len(entry.Value) - frameHeader; got != size[i+1] || got > maxSets || got == 0 {
				t.Fatalf("sets %d have %d bytes, those of their rows %d", i+1, got, size[i+1])
			}
		}
	})
}

// A reader keeps the sets that it read last. In which order rows are read, and that
// those of some are missing, changes nothing for the others.
func TestGroupReaderReadsRowsInAnyOrder(t *testing.T) {
	db := open(t)
	const missing = 3
	cells := manyCells(12, 900, 900) // Two in each value.
	written := groupOf(t, id, group, cells)
	if len(written) != 7 {
		t.Fatalf("%d values, expected 7", len(written))
	}
	written = written.replaced(setsKey(id, group, missing), nil)
	rapid.Check(t, func(t *rapid.T) {
		with(t, db, written, func(txn *badger.Txn) {
			r, a := part.Reader{Txn: txn}.Group(id, group), sketch.NewAccumulator(sketch.PathPrecision)
			for _, row := range rapid.SliceOf(rapid.SampledFrom(rowsOf(t, txn))).Draw(t, "rows") {
				sets, err := r.Sets(&row)
				a.Reset([2]uint64{})
				accumulated := accumulate(&r, a, row)
				if row.Ordinal == missing {
					for _, err := range []error{err, accumulated} {
						if err := checkCorrupted(err, setsKey(id, group, missing)); err != nil {
							t.Fatal(err)
						}
					}
					continue
				}
				if err != nil || accumulated != nil {
					t.Fatal(err, accumulated)
				}
				c, err := merged(sketch.PathPrecision, sets, row.Numbers)
				if err != nil || !equalCells(c, cells[row.Slot]) || a.Count() != row.Count {
					t.Fatalf("slot %d: %+v, accumulated %+v, expected %+v, %v", row.Slot, c.Count(), a.Count(), row.Count, err)
				}
			}
		})
	})
}

func sizeOf(row part.Row) int {
	return sketch.PathPrecision.EncodedSize(row.Count.Human) + sketch.PathPrecision.EncodedSize(row.Count.AI)
}

// The three ways to add a path write the same bytes.
func TestGroupWriterWritesAlikeWhateverItIsGiven(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		cells := anyCells().Draw(t, "cells")
		want := groupOf(t, id, group, cells)

		var copied, united entries
		copier, uniter := part.NewGroupWriter(id, group, copied.put), part.NewGroupWriter(id, group, united.put)
		a := sketch.NewAccumulator(sketch.PathPrecision)
		with(t, db, want, func(txn *badger.Txn) {
			r := part.Reader{Txn: txn}.Group(id, group)
			for _, row := range rowsOf(t, txn) {
				sets, err := r.Sets(&row)
				if err != nil {
					t.Fatal(err)
				}
				if err := copier.Sets(row.Slot, row.Numbers, sets); err != nil {
					t.Fatal(err)
				}
				a.Reset([2]uint64{row.Count.Human, row.Count.AI})
				if err := accumulate(&r, a, row); err != nil {
					t.Fatal(err)
				}
				if err := uniter.Union(row.Slot, row.Views, a); err != nil {
					t.Fatal(err)
				}
			}
		})
		for name, w := range map[string]*part.GroupWriter{"Sets": copier, "Union": uniter} {
			if err := w.Close(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for name, got := range map[string]entries{"Sets": copied, "Union": united} {
			if !slices.EqualFunc(got, want, equalEntries) {
				t.Fatalf("%s writes other bytes than Cell", name)
			}
		}
	})
}

func equalEntries(a, b database.Entry) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
}

// A checkpoint writes thousands of groups with one writer, and its entries wait in
// a queue.
func TestGroupWriterIsUsedAgain(t *testing.T) {
	first, second := manyCells(100, 80, 20), map[uint8]*sketch.Cell{7: pathCell(1, 3, 3)}
	other := part.Group{Number: 4, Generation: 700}
	var written entries
	w := part.NewGroupWriter(id, group, written.put)
	for i, cells := range []map[uint8]*sketch.Cell{first, second} {
		if i > 0 {
			w.Reset(id, other, written.put)
		}
		for _, slot := range slots(cells) {
			if err := w.Cell(slot, cells[slot]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := slices.Concat(groupOf(t, id, group, first), groupOf(t, id, other, second))
	if !slices.EqualFunc(written, want, equalEntries) {
		t.Error("a writer that is used again writes other bytes than a new one")
	}
}

func TestGroupWriterReturnsTheErrorOfPut(t *testing.T) {
	failed := errors.New("no room")
	cells := manyCells(3, 3000, 3000)
	for fail := range 4 {
		n := 0
		w := part.NewGroupWriter(id, group, func(database.Entry) error {
			if n++; n == fail+1 {
				return failed
			}
			return nil
		})
		var err error
		for slot := uint8(0); slot < 3 && err == nil; slot++ {
			err = w.Cell(slot, cells[slot])
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, failed) {
			t.Errorf("entry %d: %v", fail, err)
		}
	}
}

func TestGroupWriterPanicsWhereSlotsDoNotAscend(t *testing.T) {
	for _, slots := range [][2]uint8{{5, 5}, {5, 4}, {255, 0}, {0, 0}} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			w := part.NewGroupWriter(id, group, new(entries).put)
			if err := w.Cell(slots[0], pathCell(1, 1, 1)); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_ = w.Cell(slots[1], pathCell(1, 1, 1))
		})
	}
}

// Removing a group leaves nothing of it, and all of everything else.
func TestRemoveRemovesWhatTheWriterWrote(t *testing.T) {
	db := open(t)
	others := slices.Concat(
		groupOf(t, id, part.Group{Number: group.Number, Generation: group.Generation + 1}, manyCells(3, 1, 1)),
		groupOf(t, id, part.Group{Number: group.Number + 1, Generation: group.Generation}, manyCells(3, 1, 1)),
	)
	rapid.Check(t, func(t *rapid.T) {
		written := groupOf(t, id, group, anyCells().Draw(t, "cells"))
		var removed entries
		with(t, db, slices.Concat(written, others), func(txn *badger.Txn) {
			rows := rowsOf(t, txn)
			if err := part.RemoveGroup(id, group, rows[len(rows)-1].Ordinal, removed.put); err != nil {
				t.Fatal(err)
			}
		})
		for _, entry := range removed {
			if entry.Value != nil {
				t.Fatalf("key %q is written", entry.Key)
			}
		}
		got, want := removed.keys(), written.keys()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%d keys are removed, %d were written:\n%q\n%q", len(got), len(want), got, want)
		}
	})
}

func TestRemoveReturnsTheErrorOfPut(t *testing.T) {
	failed := errors.New("no room")
	put := func(database.Entry) error { return failed }
	if err := part.RemoveGroup(id, group, 1, put); !errors.Is(err, failed) {
		t.Errorf("RemoveGroup: %v", err)
	}
	if err := part.RemoveSite(&part.Root{ID: id}, put); !errors.Is(err, failed) {
		t.Errorf("RemoveSite: %v", err)
	}
}
