package part_test

import (
	"bytes"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// The targets give a decoder any payload under a checksum that is right: a fuzzer
// would never guess one. What is taken is stored again as the bytes that it came
// from, and what is refused is an error that names the key.

func FuzzRoot(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(uvarints(0, 0, 0, 0, 0, 0, 0, 0))
	f.Add(uvarints(1000, 3, 2, 5, 4, 2, 10, 2, 7, 0, 9, 1000))
	f.Add(uvarints(1000, 3, 2, 1<<62, 4, 2, 10, 1, uint64(part.Site)-1, 0))
	f.Add(uvarints(1000, 3, 2, 5, 4, 2, 10, 1<<40))
	f.Add(uvarints(1000, 3, 2, 5, 4, 2, 10, 2, 7, 0, 0, 0)) // a group twice
	f.Add([]byte{0xe8, 0x87, 0, 3, 2, 5, 4, 2, 10, 0})      // a number too long
	db := open(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		key := rootKey(id)
		entry := database.Entry{Key: key, Value: sketch.AppendFrame(nil, key, database.KindRoot, 0, payload)}
		with(t, db, entries{entry}, func(txn *badger.Txn) {
			root, err := part.ReadRoot(txn, id)
			if err != nil {
				if err := checkCorrupted(err, key); err != nil || root != nil {
					t.Fatal(root, err)
				}
				return
			}
			if again := root.Entry(); !equalEntries(again, entry) {
				t.Fatalf("% x is stored again as % x", entry.Value, again.Value)
			}
			checkCount(t, root.Site.Count)
			for i, g := range root.Groups {
				if i > 0 && g.Number <= root.Groups[i-1].Number || g.Number == part.Site || g.Generation > root.Position {
					t.Fatalf("group %d of %+v", i, root)
				}
			}
		})
	})
}

func checkCount(t *testing.T, c sketch.Count) {
	t.Helper()
	if c.Total < max(c.Human, c.AI) || c.Total > c.Human+c.AI || c.Human+c.AI < c.Human {
		t.Fatalf("the total is out of its bounds: %+v", c)
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{0, 1, 0, 0, 0, 0})
	f.Add([]byte{4, 7, 2, 5, 4, 2, 5, 6, 0, 1, 1, 1, 255, 1, 1, 0, 3, 0})
	f.Add([]byte{4, 7, 2, 5, 4, 2, 4, 6, 0, 1, 1, 1}) // a slot twice
	f.Add([]byte{4, 6, 2, 5, 4, 2})                   // no sets
	f.Add(append([]byte{4}, uvarints(1, 0, 1<<62, 1<<62, 1<<62)...))
	f.Add(append([]byte{4}, uvarints(1, 0, 1<<62+1, 0, 0)...))
	db := open(f)
	for _, n := range []int{1, 256} {
		written := groupOf(f, id, group, manyCells(n, 90, 60))
		f.Add(written[len(written)-1].Value[frameHeader:])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		with(t, db, entries{tableEntry(payload)}, func(txn *badger.Txn) {
			table := part.Reader{Txn: txn}.Group(id, group)
			rows, err := table.Table(nil)
			if err != nil {
				if err := checkCorrupted(err, tableKey(id, group)); err != nil || rows != nil {
					t.Fatal(rows, err)
				}
				return
			}
			if again := encodeTable(rows); !bytes.Equal(again, payload) {
				t.Fatalf("% x is stored again as % x", payload, again)
			}
			var end part.Place
			for i, row := range rows {
				checkCount(t, row.Count)
				if begins := row.Ordinal == end.Ordinal+1 && row.Offset == 0; !begins && row.Place != end {
					t.Fatalf("row %d stands at %+v, the one before ends at %+v", i, row.Place, end)
				}
				end = part.Place{Ordinal: row.Ordinal, Offset: row.Offset + uint32(sizeOf(row))}
			}
		})
	})
}

func FuzzDirectory(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(uvarints(0, 0, 0, 0))
	f.Add(uvarints(3, 20_000, 1, 7, 1, 2_500, 0, 1, 39))
	f.Add(uvarints(2, 20_000, 0, 0, 0, 0)) // a day twice
	f.Add(uvarints(1<<40, 20_000, 0, 0, 0))
	f.Add(uvarints(2, 1<<32-1, 1, 0, 0, 0)) // beyond all runs
	db := open(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		key := database.DirectoryKey(id.Project)
		entry := database.Entry{Key: key, Value: sketch.AppendFrame(nil, key, database.KindDirectory, 0, payload)}
		with(t, db, entries{entry}, func(txn *badger.Txn) {
			directory, err := part.ReadDirectory(txn, id.Project)
			if err != nil {
				if err := checkCorrupted(err, key); err != nil || directory != nil {
					t.Fatal(directory, err)
				}
				return
			}
			checkCover(t, directory, directory.Cover(sketch.AllDays()), sketch.AllDays())
			directory.Due(func(sketch.Range) bool { return true })
			if again := directory.Entry(); !equalEntries(again, entry) {
				t.Fatalf("% x is stored again as % x", entry.Value, again.Value)
			}
		})
	})
}

// FuzzSets reads the sets of any row from any payload.
func FuzzSets(f *testing.F) {
	written := groupOf(f, id, group, map[uint8]*sketch.Cell{1: pathCell(1, 3, 2), 2: pathCell(2, 1, 1)})
	f.Add(written[0].Value[frameHeader:], uint32(0), uint64(3), uint64(2))
	f.Add(written[0].Value[frameHeader:], uint32(40), uint64(1), uint64(1))
	f.Add(written[0].Value[frameHeader:], uint32(48), uint64(1), uint64(1)) // sets end too late
	f.Add([]byte(nil), uint32(0), uint64(0), uint64(0))
	f.Add([]byte{1}, ^uint32(0), ^uint64(0), ^uint64(0))
	db := open(f)
	f.Fuzz(func(t *testing.T, payload []byte, offset uint32, human, ai uint64) {
		key := setsKey(id, group, 1)
		entry := database.Entry{Key: key, Value: sketch.AppendFrame(nil, key, database.KindSets, 0, payload)}
		row := part.Row{Place: part.Place{Ordinal: 1, Offset: offset}}
		row.Count = sketch.Count{Human: human, AI: ai}
		with(t, db, entries{entry}, func(txn *badger.Txn) {
			r, a := part.Reader{Txn: txn}.Group(id, group), sketch.NewAccumulator(sketch.PathPrecision)
			sets, err := r.Sets(&row)
			accumulated := accumulate(&r, a, row)
			if accumulated != nil {
				if err := checkCorrupted(accumulated, key); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil {
				if err := checkCorrupted(err, key); err != nil || accumulated == nil {
					t.Fatal(err, accumulated)
				}
				return
			}
			if got, want := bytes.Join(sets[:], nil), payload[offset:][:sizeOf(row)]; !bytes.Equal(got, want) {
				t.Fatalf("% x, expected % x", got, want)
			}
			if accumulated == nil && !bytes.Equal(a.AppendEncoded(a.AppendEncoded(nil, sketch.Human), sketch.AI), bytes.Join(sets[:], nil)) {
				t.Fatalf("% x is stored again as other bytes", sets)
			}
		})
	})
}
