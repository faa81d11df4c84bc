package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// places are where paths stand in byte order.
type places struct {
	known   []uint32 // by number
	further []uint64 // by number, less the known ones
}

// has reports whether there is a path with a number.
func (p places) has(number uint32) bool { return int(number) < len(p.known)+len(p.further) }

// of returns a number that is lower for a path that comes before another.
func (p places) of(number uint32) uint64 {
	if int(number) < len(p.known) {
		return (uint64(p.known[number]) + 1) << 32
	}
	return p.further[int(number)-len(p.known)]
}

// placeFurther places each of further paths, in their own order, before the first
// known one that comes behind it. Few are looked for one by one; with many, all keys
// are gone through once.
func placeFurther(txn *badger.Txn, project sketch.ProjectNumber, known []uint32, further []string) ([]uint64, error) {
	order := make([]int, len(further))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(further[a], further[b]) })
	found := make([]uint64, len(further))
	if len(known) == 0 {
		for i, path := range order {
			found[path] = uint64(i)
		}
		return found, nil
	}
	const seek = 16 // times what going on to the next key takes
	if seek*len(further) > len(known) {
		return found, placeMany(txn, project, further, order, found)
	}
	opts := badger.DefaultIteratorOptions
	opts.Prefix = database.PathPrefix(project)
	opts.PrefetchValues = false
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	for i, path := range order {
		before := uint64(len(known))
		if cursor.Seek(database.PathKey(project, further[path])); cursor.Valid() {
			key := cursor.Item().Key()
			number, err := readNumber(txn, key)
			if err != nil {
				return nil, err
			}
			if int(number) < len(known) {
				before = uint64(known[number])
			}
		}
		found[path] = before<<32 | uint64(i+1)
	}
	return found, nil
}

func placeMany(txn *badger.Txn, project sketch.ProjectNumber, further []string, order []int, found []uint64) error {
	place, next := uint64(0), 0
	put := func(before func(path string) bool) {
		for ; next < len(order) && before(further[order[next]]); next++ {
			found[order[next]] = place<<32 | uint64(next+1)
		}
	}
	err := database.EachKey(txn, database.PathPrefix(project), func(key []byte) error {
		put(func(path string) bool { return path < string(database.SplitPathKey(key)) })
		place++
		return nil
	})
	put(func(string) bool { return true })
	return err
}

// places returns by number the place of each path among all in byte order.
func (p *pathNumbers) places(txn *badger.Txn, project sketch.ProjectNumber) ([]uint32, error) {
	if p.order != nil {
		return p.order, nil
	}
	order := make([]uint32, len(p.hashes))
	place := uint32(0)
	err := p.each(txn, project, func(_ []byte, number uint32) {
		if int(number) < len(order) {
			order[number] = place
		}
		place++
	})
	if err != nil {
		return nil, fmt.Errorf("ordering the paths of project %d: %w", project, err)
	}
	p.order = order
	return order, nil
}
