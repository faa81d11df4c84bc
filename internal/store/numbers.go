package store

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"footfall/internal/database"
	"footfall/sketch"
)

// Parts know paths by number. A path gets the next number of its project when a
// checkpoint first writes a cell of it, and keeps it. Two keys hold that: from path
// to number, and back.
//
// In memory a path takes about 48 bytes, however long it is: it is found by a
// hash that differs from process to process. By chance two paths of a project have
// the same one in one of 2^64 pairs, and then count as one.

// pathNumbers are the numbers of the paths of one project.
type pathNumbers struct {
	seed maphash.Seed

	mu      sync.Mutex
	loaded  bool
	removed bool // from memory; another one may have been read since
	byHash  map[uint64]uint32
	hashes  []uint64 // by number
	order   []uint32 // by number: its place among the paths in byte order; nil until it is asked for
}

// numbering has the numbers of the projects that were used last.
type numbering struct {
	seed  maphash.Seed
	limit int // of paths in memory

	mu       sync.Mutex
	projects *simplelru.LRU[sketch.ProjectNumber, *pathNumbers]
}

func newNumbering(seed maphash.Seed, limit int) *numbering {
	// It is bounded by paths, in shrink.
	recent, _ := simplelru.NewLRU[sketch.ProjectNumber, *pathNumbers](math.MaxInt, nil)
	return &numbering{seed: seed, limit: limit, projects: recent}
}

// project returns the numbers of a project, locked and loaded. Whoever gives
// numbers holds them until these are in the database: else they would be read
// again without those.
func (n *numbering) project(db *database.DB, project sketch.ProjectNumber) (*pathNumbers, error) {
	p := n.lock(project)
	if !p.loaded {
		if err := db.View(func(txn *badger.Txn) error { return p.load(txn, project) }); err != nil {
			p.mu.Unlock()
			return nil, fmt.Errorf("reading the paths of project %d: %w", project, err)
		}
		n.shrink(project)
	}
	return p, nil
}

func (n *numbering) lock(project sketch.ProjectNumber) *pathNumbers {
	for {
		n.mu.Lock()
		p, known := n.projects.Get(project)
		if !known {
			p = &pathNumbers{seed: n.seed}
			n.projects.Add(project, p)
		}
		n.mu.Unlock()
		p.mu.Lock()
		if !p.removed {
			return p
		}
		p.mu.Unlock()
	}
}

// shrink forgets projects until the paths of the others fit, but for one, which may
// be none.
func (n *numbering) shrink(but sketch.ProjectNumber) {
	n.mu.Lock()
	defer n.mu.Unlock()
	paths := 0
	for _, project := range slices.Backward(n.projects.Keys()) {
		p, _ := n.projects.Peek(project)
		if project == but {
			paths += len(p.hashes)
		} else if p.mu.TryLock() { // Else it is in use.
			const least = 8 // what a project without paths takes
			paths += least + len(p.hashes)
			if paths > n.limit {
				p.removed = true
				n.projects.Remove(project)
			}
			p.mu.Unlock()
		}
	}
}

func (n *numbering) forget(project sketch.ProjectNumber) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.projects.Remove(project)
}

func (p *pathNumbers) load(txn *badger.Txn, project sketch.ProjectNumber) error {
	p.byHash, p.hashes, p.order, p.loaded = make(map[uint64]uint32), nil, nil, false
	var order []uint32
	place := uint32(0)
	err := p.each(txn, project, func(path []byte, number uint32) {
		for len(p.hashes) <= int(number) {
			p.hashes, order = append(p.hashes, 0), append(order, 0)
		}
		hash := maphash.Bytes(p.seed, path)
		p.byHash[hash], p.hashes[number], order[number] = number, hash, place
		place++
	})
	if err == nil && int(place) != len(order) {
		// Numbers have no gaps. Without this path, another would get its number.
		err = sketch.Corrupted(database.PathPrefix(project), "it has %d paths, and numbers up to %d", place, len(order)-1)
	}
	p.order, p.loaded = order, err == nil
	return err
}

// each calls visit with the paths of a project that have numbers, in byte order.
func (p *pathNumbers) each(txn *badger.Txn, project sketch.ProjectNumber, visit func(path []byte, number uint32)) error {
	return database.Each(txn, database.PathPrefix(project), database.KindPath, func(key, payload []byte) error {
		number, err := decodeNumber(key, payload)
		if err == nil {
			visit(database.SplitPathKey(key), number)
		}
		return err
	})
}

func readNumber(txn *badger.Txn, key []byte) (uint32, error) {
	payload, found, err := database.Get(txn, key, database.KindPath)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, sketch.Corrupted(key, "it is missing")
	}
	return decodeNumber(key, payload)
}

// A project has far fewer paths, see Limits.
const maxPathNumber = 1 << 28

func decodeNumber(key, payload []byte) (uint32, error) {
	number, size := binary.Uvarint(payload)
	if size != len(payload) || size == 0 || number > maxPathNumber {
		return 0, sketch.Corrupted(key, "it is not the number of a path")
	}
	return uint32(number), nil
}

// find returns the number of a path, if it has one.
func (p *pathNumbers) find(path string) (uint32, bool) {
	number, found := p.byHash[maphash.String(p.seed, path)]
	return number, found
}

// add gives the next numbers to paths that have none, once they are in the
// database.
func (p *pathNumbers) add(paths []string) {
	for _, path := range paths {
		hash := maphash.String(p.seed, path)
		p.byHash[hash] = uint32(len(p.hashes))
		p.hashes = append(p.hashes, hash)
	}
	p.order = nil
}

// numberEntries are what puts paths and the numbers from first on into the
// database. The way back goes first: a path that has a number must have it.
func numberEntries(project sketch.ProjectNumber, paths []string, first uint32, put func(database.Entry) error) error {
	for i, path := range paths {
		number := first + uint32(i)
		back, key := database.PathNameKey(project, number), database.PathKey(project, path)
		for _, e := range []database.Entry{
			{Key: back, Value: sketch.AppendFrame(nil, back, database.KindPathName, 0, []byte(path))},
			{Key: key, Value: sketch.AppendFrame(nil, key, database.KindPath, 0, binary.AppendUvarint(nil, uint64(number)))},
		} {
			if err := put(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// pathName returns the path that has a number.
func pathName(txn *badger.Txn, project sketch.ProjectNumber, number uint32) (string, error) {
	key := database.PathNameKey(project, number)
	name, found, err := database.Get(txn, key, database.KindPathName)
	if err == nil && !found {
		err = sketch.Corrupted(key, "it is missing")
	}
	return string(name), err
}

// pathNames is how numbers become paths: those that the project gave, and behind
// them those of paths that no checkpoint had written.
type pathNames struct {
	project sketch.ProjectNumber
	known   uint32
	further []string
}

// names returns the paths that have the numbers. It reads what is in the database
// now: a path keeps its number, and may have got it after what refers to it was
// read.
func (n *pathNames) names(db *database.DB, numbers []uint32) ([]string, error) {
	names := make([]string, len(numbers))
	err := db.View(func(txn *badger.Txn) (err error) {
		for i, number := range numbers {
			if number >= n.known {
				names[i] = n.further[number-n.known]
			} else if names[i], err = pathName(txn, n.project, number); err != nil {
				return fmt.Errorf("reading the path with number %d: %w", number, err)
			}
		}
		return nil
	})
	return names, err
}

// giveNumbers gives numbers to the paths of an overlay that have none, and puts
// them into the database, synced, before a table can have them.
func (s *Store) giveNumbers(o *overlay) error {
	type given struct {
		project sketch.ProjectNumber
		known   *pathNumbers
		paths   []string
	}
	var all []given
	defer func() {
		for _, g := range all {
			g.known.mu.Unlock()
		}
		s.numbers.shrink(0)
	}()
	for _, project := range slices.Sorted(maps.Keys(o.projects)) {
		names := o.projects[project].names
		if len(names) == 0 {
			continue
		}
		known, err := s.numbers.project(s.db, project)
		if err != nil {
			return err
		}
		var paths []string
		for _, name := range names {
			if _, found := known.find(name); !found {
				paths = append(paths, name)
			}
		}
		if len(paths) == 0 {
			known.mu.Unlock()
			continue
		}
		slices.Sort(paths)
		all = append(all, given{project: project, known: known, paths: paths})
	}
	if len(all) == 0 {
		return nil
	}
	err := s.db.Write(func(yield func(database.Entry, error) bool) {
		put := func(e database.Entry) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		}
		for _, g := range all {
			if numberEntries(g.project, g.paths, uint32(len(g.known.hashes)), put) != nil {
				return
			}
		}
	})
	if err != nil {
		for _, g := range all {
			g.known.loaded = false // Some of it may be there.
		}
		return fmt.Errorf("numbering paths: %w", err)
	}
	for _, g := range all {
		g.known.add(g.paths)
	}
	return nil
}
