package part_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// stored is a part of two groups, of which the first has given cells, and a way to
// read all of it.
type stored struct {
	entries entries
	root    part.Root
}

func newStored(t fataler, project sketch.ProjectNumber, cells map[uint8]*sketch.Cell) stored {
	id := part.At(project, part.Day, 20_000)
	s := stored{root: part.Root{ID: id, Position: 900, SiteGeneration: 800, Groups: []part.Group{group, {Number: 4, Generation: 900}}}}
	s.entries = append(s.entries, groupOf(t, id, s.root.Groups[0], cells)...)
	s.entries = append(s.entries, groupOf(t, id, s.root.Groups[1], manyCells(3, 2, 1))...)
	site := sketch.NewAccumulator(sketch.SitePrecision)
	site.AddCell(cellOf(sketch.SitePrecision, 1, 10, 5))
	if err := part.PutSite(&s.root, site, s.entries.put); err != nil {
		t.Fatal(err)
	}
	s.entries = append(s.entries, s.root.Entry())
	return s
}

// read reads everything that the root refers to.
func (s stored) read(txn *badger.Txn, cache *part.Cache) error {
	root, err := part.ReadRoot(txn, s.root.ID)
	if err != nil {
		return err
	}
	if root == nil {
		return part.Missing(s.root.ID)
	}
	r := part.Reader{Txn: txn, Cache: cache}
	for _, g := range root.Groups {
		if _, err := read(r, root.ID, g); err != nil {
			return err
		}
	}
	return r.AccumulateSite(sketch.NewAccumulator(sketch.SitePrecision), root)
}

// replaced returns the entries with another value under one key, nil for none.
func (e entries) replaced(key, value []byte) entries {
	all := slices.Clone(e)
	for i := range all {
		if bytes.Equal(all[i].Key, key) {
			all[i].Value = value
		}
	}
	return all
}

// A damaged value is an error that names its key, and it is not kept: the part
// reads as before once the value is whole again.
func TestDamageIsFound(t *testing.T) {
	db := open(t)
	cells := map[uint8]*sketch.Cell{1: pathCell(1, 3, 2), 2: pathCell(2, 2047, 2046), 3: pathCell(3, 3, 0)}
	whole, other := newStored(t, 7, cells), newStored(t, 8, cells)
	if len(whole.entries) != 7 {
		t.Fatalf("the part has %d values, expected 2 sets and a table, a set and a table, the site's, the root", len(whole.entries))
	}
	check := func(t *testing.T, cache *part.Cache, key, value []byte) {
		t.Helper()
		with(t, db, whole.entries.replaced(key, value), func(txn *badger.Txn) {
			if err := checkCorrupted(whole.read(txn, cache), key); err != nil {
				t.Error(err)
			}
		})
		with(t, db, whole.entries, func(txn *badger.Txn) {
			if err := whole.read(txn, cache); err != nil {
				t.Errorf("read again: %v", err)
			}
		})
	}

	for i, entry := range whole.entries {
		t.Run(fmt.Sprintf("value %d", i), func(t *testing.T) {
			next := whole.entries[(i+1)%len(whole.entries)]
			for name, value := range map[string][]byte{
				"missing":                nil,
				"empty":                  {},
				"zeros":                  make([]byte, len(entry.Value)),
				"cut inside the frame":   entry.Value[:6],
				"cut short":              entry.Value[:len(entry.Value)-1],
				"grown":                  append(bytes.Clone(entry.Value), 0),
				"that of another key":    next.Value,
				"that of another part":   other.entries[i].Value,
				"of another kind":        sketch.AppendFrame(nil, entry.Key, database.KindPath, 0, entry.Value[frameHeader:]),
				"a newer frame's format": append([]byte{2}, entry.Value[1:]...),
			} {
				t.Run(name, func(t *testing.T) { check(t, part.NewCache(1<<20, nil), entry.Key, value) })
			}
			// A checksum that is right is only so by a mistake of ours.
			payload := entry.Value[frameHeader:]
			for _, size := range []int{0, 1, len(payload) - 1} {
				t.Run(fmt.Sprintf("%d bytes, well framed", size), func(t *testing.T) {
					check(t, nil, entry.Key, sketch.AppendFrame(nil, entry.Key, sketch.Kind(entry.Value[1]), 0, payload[:size]))
				})
			}
		})
	}
}

// Every bit of every value counts. In large sets, one bit of each 128 bytes is tried.
func TestEveryBitFlipIsFound(t *testing.T) {
	db := open(t)
	for _, test := range []struct {
		name  string
		cells map[uint8]*sketch.Cell
		step  int
	}{{"small sets", manyCells(2, 2, 1), 1}, {"dense sets", map[uint8]*sketch.Cell{1: pathCell(1, 2049, 2049)}, 1025}} {
		whole := newStored(t, 7, test.cells)
		for i, entry := range whole.entries {
			t.Run(fmt.Sprintf("%s, value %d", test.name, i), func(t *testing.T) {
				for bit := 0; bit < 8*len(entry.Value); bit += test.step {
					flipped := bytes.Clone(entry.Value)
					flipped[bit/8] ^= 1 << (bit % 8)
					with(t, db, whole.entries.replaced(entry.Key, flipped), func(txn *badger.Txn) {
						if err := checkCorrupted(whole.read(txn, nil), entry.Key); err != nil {
							t.Errorf("bit %d: %v", bit, err)
						}
					})
				}
			})
		}
	}
}

// Sets whose checksum is right and which are none by themselves.
func TestSetsThatAreNoneNameTheirKey(t *testing.T) {
	db := open(t)
	const p = sketch.PathPrecision
	small := groupOf(t, id, group, map[uint8]*sketch.Cell{1: pathCell(1, 3, 2)})
	dense := groupOf(t, id, group, map[uint8]*sketch.Cell{1: pathCell(1, 3000, 3000)})
	tests := []struct {
		name    string
		written entries
		damage  func(payload []byte)
	}{
		{"human hashes that descend", small, func(b []byte) { copy(b, bytes.Repeat([]byte{0xff}, 8)) }},
		{"an AI agent twice", small, func(b []byte) { copy(b[32:], b[24:32]) }},
		{"a human register that is too large", dense, func(b []byte) { b[9] = 52 }},
		{"an AI register that is too large", dense, func(b []byte) { b[2*p.Registers()-1] = 0xff }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			key := setsKey(id, group, 1)
			value, _ := test.written.find(key)
			payload := bytes.Clone(value[frameHeader:])
			test.damage(payload)
			value = sketch.AppendFrame(nil, key, database.KindSets, 0, payload)
			with(t, db, test.written.replaced(key, value), func(txn *badger.Txn) {
				r, a := part.Reader{Txn: txn}.Group(id, group), sketch.NewAccumulator(p)
				if err := checkCorrupted(accumulate(&r, a, rowsOf(t, txn)[0]), key); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("the site's", func(t *testing.T) {
		root := &part.Root{ID: id, Position: 900, SiteGeneration: 800}
		site := sketch.NewAccumulator(sketch.SitePrecision)
		site.AddCell(cellOf(sketch.SitePrecision, 1, 2, 0))
		var written entries
		if err := part.PutSite(root, site, written.put); err != nil {
			t.Fatal(err)
		}
		key := written[0].Key
		payload := bytes.Clone(written[0].Value[frameHeader:])
		copy(payload[8:], payload[:8])
		value := sketch.AppendFrame(nil, key, database.KindSets, 0, payload)
		with(t, db, written.replaced(key, value), func(txn *badger.Txn) {
			a := sketch.NewAccumulator(sketch.SitePrecision)
			if err := checkCorrupted(part.Reader{Txn: txn}.AccumulateSite(a, root), key); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestMissingRootNamesItsKey(t *testing.T) {
	if err := checkCorrupted(part.Missing(id), rootKey(id)); err != nil {
		t.Error(err)
	}
}

// All keys of the part, those too that its root does not refer to, and of no other.
func TestEachKeyOfAPart(t *testing.T) {
	db := open(t)
	older := part.Group{Number: group.Number, Generation: group.Generation - 1}
	own := slices.Concat(groupOf(t, id, older, manyCells(2, 1, 1)), newStored(t, id.Project, manyCells(3, 1, 1)).entries)
	own = own[:len(own)-1] // The root is no table and no sets.
	all := slices.Clone(own)
	for _, other := range []part.ID{
		{Project: id.Project, Run: id.Run + 1}, {Project: id.Project, Run: id.Run - 1},
		{Project: id.Project, Level: 1, Run: id.Run}, {Project: id.Project + 1, Run: id.Run},
	} {
		all = append(all, groupOf(t, other, group, manyCells(2, 1, 1))...)
		all = append(all, (&part.Root{ID: other}).Entry())
	}
	with(t, db, all, func(txn *badger.Txn) {
		var got []string
		err := part.Reader{Txn: txn}.EachKey(id, func(key []byte) error {
			got = append(got, string(key))
			return nil
		})
		want := own.keys()
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, expected %q, %v", got, want, err)
		}
	})
}
