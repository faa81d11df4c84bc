package part

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// Root is what a part is read from. Its payload is a run of uvarints:
//
//	position                              log position up to which all of a day is held;
//	                                      of a block, the database's version it is made from
//	views human, views AI                 of the site
//	human, AI, human + AI - total         distinct visitors of the site
//	position - generation                 of the site's sets
//	groups, then each:
//	    number - that of the one before, the first as it is
//	    position - generation
type Root struct {
	ID       ID
	Position sketch.Position
	Site     Numbers
	// SiteGeneration is that under which the site's sets were written.
	SiteGeneration sketch.Position
	Groups         []Group // in the order of their numbers
}

// Numbers are the views and the distinct visitors of a cell.
type Numbers struct {
	Views [2]uint64 // by sketch.Traffic
	Count sketch.Count
}

// Group names a table, and with it the sets of its paths.
type Group struct {
	Number     uint32
	Generation sketch.Position
}

// Find returns the group that has a number.
func (r *Root) Find(number uint32) (Group, bool) {
	i, found := r.search(number)
	if !found {
		return Group{}, false
	}
	return r.Groups[i], true
}

func (r *Root) search(number uint32) (int, bool) {
	return slices.BinarySearchFunc(r.Groups, number, func(g Group, number uint32) int {
		return cmp.Compare(g.Number, number)
	})
}

// Put puts a group in place of the one that has its number, or between the others.
func (r *Root) Put(g Group) {
	i, found := r.search(g.Number)
	if found {
		r.Groups[i] = g
	} else {
		r.Groups = slices.Insert(r.Groups, i, g)
	}
}

// Refers reports whether a key of the part is that of a table or of sets that the
// root refers to.
func (r *Root) Refers(key []byte) bool {
	number, generation := database.CellsGroup(key)
	if number == Site {
		return generation == r.SiteGeneration
	}
	group, found := r.Find(number)
	return found && generation == group.Generation
}

// Entry returns the key and the value of the root.
func (r *Root) Entry() database.Entry {
	b := binary.AppendUvarint(nil, uint64(r.Position))
	b = appendNumbers(b, r.Site)
	b = binary.AppendUvarint(b, uint64(r.Position-r.SiteGeneration))
	b = binary.AppendUvarint(b, uint64(len(r.Groups)))
	before := uint32(0)
	for _, g := range r.Groups {
		b = binary.AppendUvarint(b, uint64(g.Number-before))
		b = binary.AppendUvarint(b, uint64(r.Position-g.Generation))
		before = g.Number
	}
	key := r.ID.rootKey()
	return database.Entry{Key: key, Value: sketch.AppendFrame(nil, key, database.KindRoot, 0, b)}
}

// ReadRoot returns the root of a part, nil where there is none. One that is
// damaged is a sketch.ErrCorrupted that names its key.
func ReadRoot(txn *badger.Txn, id ID) (*Root, error) {
	key := id.rootKey()
	payload, found, err := database.Get(txn, key, database.KindRoot)
	if err != nil || !found {
		return nil, err
	}
	n := numbers{b: payload}
	r := &Root{ID: id, Position: sketch.Position(n.next())}
	r.Site = n.nextNumbers()
	r.SiteGeneration = r.Position - sketch.Position(n.nextUpTo(uint64(r.Position)))
	count := n.nextUpTo(uint64(len(n.b))) // A group takes two bytes at least.
	r.Groups = make([]Group, 0, count)
	before := uint64(0)
	for i := range count {
		number := before + n.nextUpTo(uint64(Site)-1-before)
		if i > 0 && number == before {
			n.broken = true
		}
		generation := r.Position - sketch.Position(n.nextUpTo(uint64(r.Position)))
		r.Groups = append(r.Groups, Group{Number: uint32(number), Generation: generation})
		before = number
	}
	if !n.ended() {
		return nil, sketch.Corrupted(key, "it is not the root of a part")
	}
	return r, nil
}

// Each calls visit with the parts of a project that have anything in the database,
// whether or not its directory names them: twice with most.
func Each(txn *badger.Txn, project sketch.ProjectNumber, visit func(ID)) error {
	err := database.EachKey(txn, database.RootPrefix(project), func(key []byte) error {
		level, run, err := database.SplitRootKey(key)
		if err == nil {
			visit(ID{Project: project, Level: Level(level), Run: run})
		}
		return err
	})
	if err != nil {
		return err
	}
	return database.EachCells(txn, project, func(level uint8, run uint32) {
		visit(ID{Project: project, Level: Level(level), Run: run})
	})
}

// Missing returns the error of a part that its directory names and that has no
// root: a sketch.ErrCorrupted that names the root's key.
func Missing(id ID) error { return sketch.Corrupted(id.rootKey(), "it is missing") }
