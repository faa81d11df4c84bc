package part_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"pgregory.net/rapid"

	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/sketch"
)

// directoryOf returns a directory of these parts.
func directoryOf(t fataler, db *database.DB, parts ...part.ID) (d *part.Directory) {
	with(t, db, nil, func(txn *badger.Txn) {
		var err error
		if d, err = part.ReadDirectory(txn, id.Project); err != nil {
			t.Fatal(err)
		}
	})
	for _, id := range parts {
		added := d.Add
		if id.Level == part.Day {
			added = func(id part.ID) bool { return d.AddDay(id.Range().From) }
		}
		if !added(id) || added(id) || d.Add(id) {
			t.Fatal("a new part is reported to be an old one, or an old one to be new")
		}
	}
	return d
}

// What is stored may never change its meaning: these bytes were worked out from
// the format's description, not taken from the encoder.
func TestDirectoryIsStoredAsTheseBytes(t *testing.T) {
	d := directoryOf(t, open(t), run(1, 2_500), run(0, 20_001), run(0, 20_300), run(0, 20_000), run(3, 39), run(3, 0))
	checkEntry(t, d.Entry(), "76"+"0000000000000007"+"64", "01"+"08"+"00"+"2d9fc3e0"+ // version, kind, precision, checksum
		"03"+"a09c01"+"01"+"ab02"+ // days
		"01"+"c413"+ // blocks of 8 days
		"00"+ // of 64
		"02"+"00"+"27") // of 512
}

func run(level part.Level, run uint32) part.ID {
	return part.ID{Project: id.Project, Level: level, Run: run}
}

// anyParts draws days that are close to each other, and blocks of them or beside
// them. Blocks may be there without the days of which they are made.
func anyParts() *rapid.Generator[[]part.ID] {
	return rapid.Custom(func(t *rapid.T) []part.ID {
		first := rapid.SampledFrom([]sketch.Day{sketch.FirstDay, 20_000, 20_470, sketch.LastDay - 1200}).Draw(t, "first day")
		day := rapid.Map(rapid.OneOf(rapid.Int32Range(0, 30), rapid.Int32Range(0, 1200)), func(n int32) sketch.Day { return first + sketch.Day(n) })
		one := rapid.Custom(func(t *rapid.T) part.ID {
			level := part.Level(rapid.SampledFrom([]uint8{0, 0, 0, 0, 1, 1, 2, 3}).Draw(t, "level"))
			return part.At(id.Project, level, day.Draw(t, "day"))
		})
		return rapid.SliceOfNDistinct(one, 0, 60, rapid.ID).Draw(t, "parts")
	})
}

func anyRange() *rapid.Generator[sketch.Range] {
	return rapid.Custom(func(t *rapid.T) sketch.Range {
		first := rapid.SampledFrom([]sketch.Day{0, sketch.FirstDay, 20_000, 20_470, sketch.LastDay - 1200}).Draw(t, "around")
		from := first + sketch.Day(rapid.Int32Range(-20, 1300).Draw(t, "from"))
		return sketch.Range{From: from, To: from + sketch.Day(rapid.Int32Range(-2, 1300).Draw(t, "days"))}
	})
}

func TestDirectoryRoundTrip(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		parts := anyParts().Draw(t, "parts")
		d := directoryOf(t, db, parts...)
		with(t, db, entries{d.Entry()}, func(txn *badger.Txn) {
			again, err := part.ReadDirectory(txn, id.Project)
			if err != nil {
				t.Fatal(err)
			}
			if other, err := part.ReadDirectory(txn, id.Project+1); err != nil || len(other.Cover(sketch.AllDays())) > 0 {
				t.Fatalf("another project has parts, %v", err)
			}
			blocks := 0
			for _, id := range parts {
				if !again.Has(id) {
					t.Fatalf("%v is missing", id)
				}
				if id.Level > part.Day {
					blocks++
				}
			}
			if again.Blocks() != blocks {
				t.Fatalf("%d blocks, expected %d", again.Blocks(), blocks)
			}
			for _, id := range parts {
				if !again.Remove(id) || again.Remove(id) || again.Has(id) {
					t.Fatalf("%v is not removed once", id)
				}
			}
			if again.Blocks() != 0 || len(again.Cover(sketch.AllDays())) > 0 {
				t.Fatal("more parts were read than were written")
			}
		})
	})
}

// checkCover checks that parts are in the order of their days, within the range, and
// all named, and that no two hold the same day.
func checkCover(t fataler, d *part.Directory, parts []part.ID, within sketch.Range) {
	next := within.From
	for _, id := range parts {
		days := id.Range()
		if days.From < next || days.To > within.To || days.Empty() {
			t.Fatal(fmt.Sprintf("%v lies before %v or after %v", id, next, within.To))
		}
		if !d.Has(id) {
			t.Fatal(fmt.Sprintf("%v is not named", id))
		}
		next = days.To
	}
}

// contains reports whether all days of a part are in a range.
func contains(r sketch.Range, id part.ID) bool { return r.Intersect(id.Range()) == id.Range() }

func TestCoverHoldsEachDayOnceInTheLargestBlocks(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		parts, within := anyParts().Draw(t, "parts"), anyRange().Draw(t, "range")
		d := directoryOf(t, db, parts...)
		cover := d.Cover(within)
		all := within.Intersect(sketch.AllDays())
		checkCover(t, d, cover, all)
		for _, named := range parts {
			if !contains(all, named) {
				continue
			}
			// It stands in the cover, or a larger one does that holds it.
			if !slices.ContainsFunc(cover, func(id part.ID) bool { return contains(id.Range(), named) }) {
				t.Fatalf("%v of %v is not held by %v", named, within, cover)
			}
		}
		for i, id := range cover {
			if !slices.Contains(parts, id) {
				t.Fatalf("part %d of the cover of %v is %v", i, within, id)
			}
		}
	})
}

// A block is made of what covers its days, itself left out.
func TestCoverBlockIsTheCoverBelowIt(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		parts := anyParts().Draw(t, "parts")
		level := part.Level(rapid.Uint8Range(1, uint8(part.MaxLevel)).Draw(t, "level"))
		block := part.At(id.Project, level, sketch.Day(rapid.Int32Range(20_000, 21_000).Draw(t, "day")))
		with, without := directoryOf(t, db, parts...), directoryOf(t, db, parts...)
		with.Add(block)
		for _, named := range parts {
			if named.Level >= level {
				without.Remove(named)
			}
		}
		if got, want := with.CoverBlock(block), without.Cover(block.Range()); !slices.Equal(got, want) {
			t.Fatalf("%v, expected %v", got, want)
		}
	})
}

// A late page view makes the blocks of its day worthless, and no others.
func TestRemoveBlocksRemovesThoseOfADay(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		parts := anyParts().Draw(t, "parts")
		day := sketch.Day(rapid.Int32Range(20_000, 20_100).Draw(t, "day"))
		d := directoryOf(t, db, parts...)
		want := slices.DeleteFunc(slices.Clone(parts), func(id part.ID) bool { return id.Level > part.Day && id.Range().Contains(day) })
		if removed := d.RemoveBlocks(day); removed != (len(want) < len(parts)) {
			t.Fatalf("%t is reported, %d of %d parts are left", removed, len(want), len(parts))
		}
		for _, id := range parts {
			if d.Has(id) != slices.Contains(want, id) {
				t.Fatalf("%v is named: %t", id, d.Has(id))
			}
		}
	})
}

// A block is due where it is not there, its days are over, and those that the project
// has are of more than one part of the level below.
func TestDueBlocks(t *testing.T) {
	db := open(t)
	rapid.Check(t, func(t *rapid.T) {
		parts := anyParts().Draw(t, "parts")
		today := rapid.SampledFrom([]sketch.Day{20_010, 20_480, 20_700, sketch.LastDay}).Draw(t, "today")
		d := directoryOf(t, db, parts...)

		below := make(map[part.ID]map[part.ID]bool)
		for _, named := range parts {
			for level := part.Day + 1; named.Level == part.Day && level <= part.MaxLevel; level++ {
				block := part.At(id.Project, level, named.Range().From)
				if below[block] == nil {
					below[block] = make(map[part.ID]bool)
				}
				below[block][part.At(id.Project, level-1, named.Range().From)] = true
			}
		}
		var want []part.ID
		for block, children := range below {
			if len(children) > 1 && block.Range().To <= today && !slices.Contains(parts, block) {
				want = append(want, block)
			}
		}
		slices.SortFunc(want, func(a, b part.ID) int {
			if a.Level != b.Level {
				return int(a.Level) - int(b.Level)
			}
			return int(int64(a.Run) - int64(b.Run))
		})
		if got := d.Due(func(days sketch.Range) bool { return days.To <= today }); !slices.Equal(got, want) {
			t.Fatalf("due are %v, expected %v", got, want)
		}
	})
}

func TestPayloadsThatAreNoDirectoryAreRefused(t *testing.T) {
	tests := map[string][]byte{
		"nothing":                              nil,
		"three levels":                         uvarints(0, 0, 0),
		"five levels":                          uvarints(0, 0, 0, 0, 0),
		"runs that are not there":              uvarints(2, 20_000),
		"the largest number of runs":           uvarints(math.MaxUint64),
		"as many runs as would fill memory":    uvarints(1 << 24),
		"a run twice":                          uvarints(2, 20_000, 0, 0, 0, 0),
		"runs that go round":                   uvarints(2, 20_000, 1<<32-1, 0, 0, 0),
		"runs that go round in 64 bits":        uvarints(2, 20_000, math.MaxUint64-1, 0, 0, 0),
		"a number that does not end":           {0, 0, 0, 0x80},
		"a number that is longer than need be": {0, 0, 0, 0x80, 0},
	}
	db := open(t)
	key := database.DirectoryKey(id.Project)
	directory := func(txn *badger.Txn) error {
		_, err := part.ReadDirectory(txn, id.Project)
		return err
	}
	for name, payload := range tests {
		t.Run(name, func(t *testing.T) { refused(t, db, key, database.KindDirectory, payload, directory) })
	}
	t.Run("a flipped bit", func(t *testing.T) {
		value := sketch.AppendFrame(nil, key, database.KindDirectory, 0, uvarints(2, 20_000, 1, 0, 0, 0))
		for bit := range 8 * len(value) {
			flipped := bytes.Clone(value)
			flipped[bit/8] ^= 1 << (bit % 8)
			with(t, db, entries{{Key: key, Value: flipped}}, func(txn *badger.Txn) {
				if err := checkCorrupted(directory(txn), key); err != nil {
					t.Errorf("bit %d: %v", bit, err)
				}
			})
		}
	})
}
