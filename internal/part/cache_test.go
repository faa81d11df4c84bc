package part_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"footfall/internal/part"
	"footfall/sketch"
)

// metrics are what a cache reports.
type metrics struct{ bytes, hits, misses int }

func gather(t fataler, registry *prometheus.Registry) (m metrics) {
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch {
			case family.GetName() == "footfall_part_cache_bytes":
				m.bytes = int(metric.GetGauge().GetValue())
			case metric.GetLabel()[0].GetValue() == "hit":
				m.hits = int(metric.GetCounter().GetValue())
			default:
				m.misses = int(metric.GetCounter().GetValue())
			}
		}
	}
	return m
}

// shelf is groups that differ in one part of their keys each, and their cells.
type shelf struct {
	ids    []part.ID
	groups []part.Group
	cells  []map[uint8]*sketch.Cell
}

// newShelf writes groups whose keys differ from the first in one number each, and
// more of other numbers. Each has three values of sets.
func newShelf(t testing.TB, more int) (shelf, entries) {
	var s shelf
	var all entries
	add := func(id part.ID, g part.Group) {
		seed := uint64(len(s.ids))
		cells := map[uint8]*sketch.Cell{0: pathCell(1000+seed, 2, 1), 1: pathCell(2000+seed, 2049, 2049), 2: pathCell(3000+seed, 1, 5)}
		s.ids, s.groups, s.cells = append(s.ids, id), append(s.groups, g), append(s.cells, cells)
		all = append(all, groupOf(t, id, g, cells)...)
	}
	add(id, group)
	add(part.ID{Project: id.Project + 1, Level: id.Level, Run: id.Run}, group)
	add(part.ID{Project: id.Project, Level: id.Level + 1, Run: id.Run}, group)
	add(part.ID{Project: id.Project, Level: id.Level, Run: id.Run + 1}, group)
	add(id, part.Group{Number: group.Number + 1, Generation: group.Generation})
	add(id, part.Group{Number: group.Number, Generation: group.Generation + 1})
	for i := range more {
		add(id, part.Group{Number: group.Number + 2 + uint32(i), Generation: group.Generation})
	}
	return s, all
}

func (s shelf) check(r part.Reader, i int) error {
	return checkCells(r, s.ids[i], s.groups[i], s.cells[i])
}

// What a cache takes is bounded, and what it returns is what stands under the key,
// whatever it kept before: none of it, a part, or all.
func TestCacheReturnsWhatIsStored(t *testing.T) {
	db := open(t)
	s, all := newShelf(t, 3)
	write(t, db, all)
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.OneOf(rapid.IntRange(0, 400_000), rapid.SampledFrom([]int{0, 159, 161, 33_000, 1 << 30})).Draw(t, "limit")
		registry := prometheus.NewRegistry()
		cache := part.NewCache(limit, registry)
		if err := db.View(func(txn *badger.Txn) error {
			r := part.Reader{Txn: txn, Cache: cache}
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(s.ids)-1), 1, 8).Draw(t, "groups") {
				if err := s.check(r, i); err != nil {
					return fmt.Errorf("%v, %+v: %w", s.ids[i], s.groups[i], err)
				}
				if got := gather(t, registry); got.bytes > limit || got.bytes < 0 {
					return fmt.Errorf("%d bytes are kept, the limit is %d", got.bytes, limit)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// What is in memory is not read again: here there is nothing to read any more.
func TestCacheKeepsWhatItHasRoomFor(t *testing.T) {
	db := open(t)
	s, all := newShelf(t, 0)
	registry := prometheus.NewRegistry()
	cache := part.NewCache(1<<20, registry)
	with(t, db, all, func(txn *badger.Txn) {
		for i := range s.ids {
			if err := s.check(part.Reader{Txn: txn, Cache: cache}, i); err != nil {
				t.Error(err)
			}
		}
	})
	before := gather(t, registry)
	with(t, db, nil, func(txn *badger.Txn) {
		for i := range s.ids {
			if err := s.check(part.Reader{Txn: txn, Cache: cache}, i); err != nil {
				t.Error(err)
			}
		}
	})
	after := gather(t, registry)
	if after.misses != before.misses || after.bytes != before.bytes || after.hits <= before.hits {
		t.Errorf("%+v became %+v", before, after)
	}
	if want := len(all); before.misses != want {
		t.Errorf("%d misses, expected one for each of %d values", before.misses, want)
	}
	values := 0
	for _, entry := range all {
		values += len(entry.Value)
	}
	if after.bytes < values || after.bytes > 2*values {
		t.Errorf("%d bytes are counted of %d", after.bytes, values)
	}
}

// The values that were used last are kept.
func TestCacheForgetsWhatWasUsedLeast(t *testing.T) {
	db := open(t)
	s, all := newShelf(t, 2)
	registry := prometheus.NewRegistry()
	const limit = 5 * 35_000 / 2 // Two groups and a half.
	cache := part.NewCache(limit, registry)
	misses := func(txn *badger.Txn, i int) int {
		before := gather(t, registry)
		if err := s.check(part.Reader{Txn: txn, Cache: cache}, i); err != nil {
			t.Error(err)
		}
		return gather(t, registry).misses - before.misses
	}
	with(t, db, all, func(txn *badger.Txn) {
		for i, group := range []int{0, 1, 0, 2, 0, 3, 0} {
			if want := i > 0 && group == 0; (misses(txn, group) == 0) != want {
				t.Errorf("reading %d: in memory is %t", i, !want)
			}
		}
		if misses(txn, 1) == 0 {
			t.Error("what was used least is in memory still")
		}
	})
}

// What is larger than the cache passes it by, and is read each time.
func TestCacheSmallerThanAValue(t *testing.T) {
	db := open(t)
	s, all := newShelf(t, 0)
	registry := prometheus.NewRegistry()
	cache := part.NewCache(1000, registry)
	with(t, db, all, func(txn *badger.Txn) {
		for range 3 {
			if err := s.check(part.Reader{Txn: txn, Cache: cache}, 0); err != nil {
				t.Error(err)
			}
		}
	})
	if got := gather(t, registry); got.bytes > 1000 {
		t.Errorf("%d bytes are kept", got.bytes)
	}
}

// Queries share one cache, which is too small for all that they read.
func TestCacheIsSafeForConcurrentUse(t *testing.T) {
	db := open(t)
	s, all := newShelf(t, 8)
	write(t, db, all)
	registry := prometheus.NewRegistry()
	const limit = 5 * 35_000
	cache := part.NewCache(limit, registry)
	var readers sync.WaitGroup
	for reader := range uint64(8) {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(reader, 0))
			for range 10 {
				if err := db.View(func(txn *badger.Txn) error {
					return s.check(part.Reader{Txn: txn, Cache: cache}, random.IntN(len(s.ids)))
				}); err != nil {
					t.Error(err)
				}
				if got := gather(t, registry).bytes; got > limit {
					t.Errorf("%d bytes are kept, the limit is %d", got, limit)
				}
			}
		})
	}
	readers.Wait()
}

// Readers that miss one value at once keep it once.
func TestCacheCountsEachValueOnce(t *testing.T) {
	db := open(t)
	s, all := newShelf(t, 0)
	write(t, db, all)
	registry := prometheus.NewRegistry()
	cache := part.NewCache(1<<30, registry)
	readAll := func(cache *part.Cache) {
		if err := db.View(func(txn *badger.Txn) error {
			for i := range s.ids {
				if err := s.check(part.Reader{Txn: txn, Cache: cache}, i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() { readAll(cache) })
	}
	readers.Wait()

	alone := prometheus.NewRegistry()
	readAll(part.NewCache(1<<30, alone))
	if got, want := gather(t, registry).bytes, gather(t, alone).bytes; got != want {
		t.Errorf("%d bytes are counted, one reader alone counts %d", got, want)
	}
}
