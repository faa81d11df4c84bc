package part_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"pgregory.net/rapid"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// What is stored may never change its meaning: these bytes were worked out from
// the format's description, not taken from the encoder.
func TestRootIsStoredAsTheseBytes(t *testing.T) {
	root := part.Root{
		ID:             part.ID{Project: 7, Level: 1, Run: 300},
		Position:       1000,
		Site:           part.Numbers{Views: [2]uint64{300, 5}, Count: sketch.Count{Human: 10, AI: 4, Total: 12}},
		SiteGeneration: 998,
		Groups:         []part.Group{{Number: 0, Generation: 1000}, {Number: 3, Generation: 700}, {Number: 200, Generation: 1}},
	}
	const key = "76" + "0000000000000007" + "72" + "01" + "0000012c"
	const value = "01" + "09" + "00" + "c5383d0a" + // version, kind, precision, checksum
		"e807" + "ac02" + "05" + // position, views of humans and of AI agents
		"0a" + "04" + "02" + // distinct humans, AI agents, and those who are both
		"02" + "03" + // the site's generation, groups
		"00" + "00" + "03" + "ac02" + "c501" + "e707"
	checkEntry(t, root.Entry(), key, value)
}

func checkEntry(t *testing.T, entry database.Entry, key, value string) {
	t.Helper()
	if got := hex.EncodeToString(entry.Key); got != key {
		t.Errorf("stored under\n%s, expected\n%s", got, key)
	}
	if got := hex.EncodeToString(entry.Value); got != value {
		t.Errorf("stored as\n%s, expected\n%s", got, value)
	}
}

// anyCount draws counts whose total is in its bounds, as those of cells are.
func anyCount() *rapid.Generator[sketch.Count] {
	number := rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64Range(2040, 2060), rapid.Uint64Range(0, 1<<62))
	return rapid.Custom(func(t *rapid.T) sketch.Count {
		c := sketch.Count{Human: number.Draw(t, "human"), AI: number.Draw(t, "ai")}
		c.Total = rapid.Uint64Range(max(c.Human, c.AI), c.Human+c.AI).Draw(t, "total")
		return c
	})
}

func anyGeneration(position sketch.Position) *rapid.Generator[sketch.Position] {
	return rapid.Map(rapid.Uint64Range(0, uint64(position)), func(n uint64) sketch.Position { return sketch.Position(n) })
}

func anyRoot() *rapid.Generator[part.Root] {
	number := rapid.OneOf(rapid.Uint32Range(0, 20), rapid.Uint32Range(0, part.Site-1))
	return rapid.Custom(func(t *rapid.T) part.Root {
		root := part.Root{
			ID: part.ID{
				Project: sketch.ProjectNumber(rapid.Uint64().Draw(t, "project")),
				Level:   part.Level(rapid.Uint8Max(uint8(part.MaxLevel)).Draw(t, "level")),
				Run:     rapid.Uint32().Draw(t, "run"),
			},
			Position: sketch.Position(rapid.Uint64().Draw(t, "position")),
			Site: part.Numbers{
				Views: [2]uint64{rapid.Uint64().Draw(t, "human views"), rapid.Uint64().Draw(t, "AI views")},
				Count: anyCount().Draw(t, "site"),
			},
			Groups: []part.Group{},
		}
		generation := anyGeneration(root.Position)
		root.SiteGeneration = generation.Draw(t, "site generation")
		numbers := rapid.SliceOfDistinct(number, rapid.ID).Draw(t, "groups")
		slices.Sort(numbers)
		for _, n := range numbers {
			root.Groups = append(root.Groups, part.Group{Number: n, Generation: generation.Draw(t, "generation")})
		}
		return root
	})
}

func TestRootRoundTrip(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		root := anyRoot().Draw(t, "root")
		with(t, db, entries{root.Entry()}, func(txn *badger.Txn) {
			again, err := part.ReadRoot(txn, root.ID)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(again, &root) {
				t.Fatalf("read\n%+v, expected\n%+v", again, root)
			}
			other := root.ID
			other.Run++
			if again, err := part.ReadRoot(txn, other); again != nil || err != nil {
				t.Fatalf("a part without a root has %+v, %v", again, err)
			}
		})
	})
}

func TestRootFindsItsGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := anyRoot().Draw(t, "root")
		want := make(map[uint32]part.Group)
		for _, g := range root.Groups {
			want[g.Number] = g
		}
		looked := rapid.SliceOf(rapid.Uint32Range(0, 20)).Draw(t, "numbers")
		for _, g := range root.Groups {
			looked = append(looked, g.Number-1, g.Number, g.Number+1)
		}
		for _, number := range looked {
			group, found := root.Find(number)
			if _, there := want[number]; found != there || group != want[number] {
				t.Fatalf("group %d: %+v, %t", number, group, found)
			}
		}
	})
}

// A checkpoint puts the groups that it wrote into a root.
func TestPutPutsOneGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := anyRoot().Draw(t, "root")
		want := make(map[uint32]part.Group)
		for _, g := range root.Groups {
			want[g.Number] = g
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "groups") {
			g := part.Group{Number: rapid.Uint32Range(0, part.Site-1).Draw(t, "number"), Generation: sketch.Position(i)}
			if len(root.Groups) > 0 && rapid.Bool().Draw(t, "one that is there") {
				g.Number = rapid.SampledFrom(root.Groups).Draw(t, "group").Number
			}
			root.Put(g)
			want[g.Number] = g
		}
		if len(root.Groups) != len(want) {
			t.Fatalf("%d groups, expected %d", len(root.Groups), len(want))
		}
		for i, g := range root.Groups {
			if g != want[g.Number] {
				t.Fatalf("%+v, expected %+v", g, want[g.Number])
			}
			if i > 0 && g.Number <= root.Groups[i-1].Number {
				t.Fatalf("group %d stands after group %d", g.Number, root.Groups[i-1].Number)
			}
		}
	})
}

// What a part has and its root does not refer to is left from before.
func TestRootRefersToItsOwnAlone(t *testing.T) {
	root := &part.Root{ID: id, Position: 900, SiteGeneration: 800, Groups: []part.Group{{Number: 1, Generation: 900}, group}}
	older, missing := part.Group{Number: 3, Generation: 699}, part.Group{Number: 2, Generation: 900}
	tests := []struct {
		name string
		key  []byte
		want bool
	}{
		{"a table", tableKey(id, group), true},
		{"sets", setsKey(id, group, 1), true},
		{"the last sets that there can be", setsKey(id, group, 256), true},
		{"the table of an older generation", tableKey(id, older), false},
		{"sets of an older generation", setsKey(id, older, 1), false},
		{"a group that is not there", tableKey(id, missing), false},
		{"the generation of another group", tableKey(id, part.Group{Number: 1, Generation: 700}), false},
		{"the site's sets", setsKey(id, part.Group{Number: part.Site, Generation: 800}, 1), true},
		{"older sets of the site", setsKey(id, part.Group{Number: part.Site, Generation: 700}, 1), false},
	}
	for _, test := range tests {
		if got := root.Refers(test.key); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

// uvarints are numbers in their shortest form.
func uvarints(numbers ...uint64) (b []byte) {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// refused checks that a payload under a checksum that is right is refused, and not
// by allocating what it announces.
func refused(t *testing.T, db *database.DB, key []byte, kind sketch.Kind, payload []byte, read func(*badger.Txn) error) {
	t.Helper()
	entry := database.Entry{Key: key, Value: sketch.AppendFrame(nil, key, kind, 0, payload)}
	with(t, db, entries{entry}, func(txn *badger.Txn) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read(txn)
		runtime.ReadMemStats(&after)
		if err := checkCorrupted(err, key); err != nil {
			t.Errorf("% x: %v", payload, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
			t.Errorf("% x: %d bytes are allocated", payload, allocated)
		}
	})
}

func TestPayloadsThatAreNoRootAreRefused(t *testing.T) {
	const most = 1 << 62
	// position, views, counts, and the site's generation
	head := []uint64{1000, 3, 2, 5, 4, 2, 10}
	with := func(more ...uint64) []byte { return uvarints(slices.Concat(head, more)...) }
	instead := func(i int, value uint64) []byte {
		numbers := slices.Concat(head, []uint64{0})
		numbers[i] = value
		return uvarints(numbers...)
	}
	whole := with(2, 7, 0, 9, 1000)
	tests := map[string][]byte{
		"nothing":                                nil,
		"no groups":                              with(),
		"a number that does not end":             append(with(), 0x80),
		"a number beyond 64 bits":                append(bytes.Repeat([]byte{0xff}, 10), 1),
		"a number that is longer than need be":   append([]byte{0xe8, 0x87, 0}, uvarints(append(slices.Clone(head[1:]), 0)...)...),
		"0 that is longer than need be":          append(with(), 0x80, 0),
		"more humans than there can be":          instead(3, most+1),
		"more AI agents than there can be":       instead(4, most+1),
		"more who are both than humans":          uvarints(1000, 3, 2, 1, 4, 2, 10, 0),
		"more who are both than AI agents":       uvarints(1000, 3, 2, 4, 1, 2, 10, 0),
		"a site generation after the position":   instead(6, 1001),
		"groups that are not there":              with(1),
		"more groups than there are":             with(3, 7, 0, 9, 1000),
		"fewer groups than there are":            with(1, 7, 0, 9, 1000),
		"the largest number of groups":           with(math.MaxUint64),
		"as many groups as would fill memory":    with(1 << 24),
		"as many groups as bytes":                append(with(4096), make([]byte, 4096)...),
		"a group twice":                          with(2, 7, 0, 0, 0),
		"groups that go round":                   with(2, 7, 0, 1<<32-1, 0),
		"a group that goes round in 64 bits":     with(2, 7, 0, math.MaxUint64-1, 0),
		"the group of the site":                  with(1, uint64(part.Site), 0),
		"a group of the site by two steps":       with(2, 7, 0, uint64(part.Site)-7, 0),
		"a generation after the position":        with(1, 7, 1001),
		"a generation that goes round":           with(1, 7, math.MaxUint64),
		"a byte that follows":                    append(bytes.Clone(whole), 0),
		"a root that follows":                    append(bytes.Clone(whole), whole...),
		"a group whose generation does not end":  append(with(1, 7), 0x80),
		"a group whose number is longer than it": append(append(with(1), 0x87, 0), 0),
	}
	db := open(t)
	root := func(txn *badger.Txn) error {
		root, err := part.ReadRoot(txn, id)
		if root != nil {
			t.Errorf("read as %+v", root)
		}
		return err
	}
	for name, payload := range tests {
		t.Run(name, func(t *testing.T) { refused(t, db, rootKey(id), database.KindRoot, payload, root) })
	}
	t.Run("cut short", func(t *testing.T) {
		for n := range whole {
			refused(t, db, rootKey(id), database.KindRoot, whole[:n], root)
		}
	})
	t.Run("what they all differ from is taken", func(t *testing.T) {
		for _, payload := range [][]byte{whole, with(0), instead(4, most), with(1, uint64(part.Site)-1, 0)} {
			key := rootKey(id)
			entry := database.Entry{Key: key, Value: sketch.AppendFrame(nil, key, database.KindRoot, 0, payload)}
			withRoot(t, db, entry)
		}
	})
}

func withRoot(t *testing.T, db *database.DB, entry database.Entry) {
	t.Helper()
	with(t, db, entries{entry}, func(txn *badger.Txn) {
		root, err := part.ReadRoot(txn, id)
		if err != nil {
			t.Error(err)
		} else if !equalEntries(root.Entry(), entry) {
			t.Errorf("% x is stored again as % x", entry.Value, root.Entry().Value)
		}
	})
}
