package part

import (
	"errors"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// Reader reads tables and sets, of the parts whose roots were read with the same
// transaction. It is safe for concurrent use.
type Reader struct {
	Txn   *badger.Txn
	Cache *Cache // nil to read from the database alone
}

// Table appends the rows of a group's table to rows, in the order of their slots.
// A table that is damaged or missing is a sketch.ErrCorrupted that names its key.
func (r Reader) Table(rows []Row, id ID, g Group) ([]Row, error) {
	payload, err := r.payload(id, g, 0, database.KindTable)
	if err != nil {
		return nil, err
	}
	rows, ok := appendRows(rows, payload)
	if !ok {
		return nil, sketch.Corrupted(id.cellsKey(g, 0), "it is not a table")
	}
	return rows, nil
}

// Sets are the encoded sets of a path or of the site, by sketch.Traffic. They must
// not be changed.
type Sets [2][]byte

// Sets returns the sets of a row of a group's table. Sets that are damaged or
// missing are a sketch.ErrCorrupted that names their key.
func (r Reader) Sets(id ID, g Group, row Row) (Sets, error) {
	return r.sets(id, g, row.Place, row.Count, sketch.PathPrecision)
}

// SiteSets returns the sets of the site.
func (r Reader) SiteSets(root *Root) (Sets, error) {
	return r.sets(root.ID, root.siteGroup(), Place{Ordinal: 1}, root.Site.Count, sketch.SitePrecision)
}

func (r *Root) siteGroup() Group { return Group{Number: Site, Generation: r.SiteGeneration} }

func (r Reader) sets(id ID, g Group, at Place, count sketch.Count, p sketch.Precision) (Sets, error) {
	payload, err := r.payload(id, g, at.Ordinal, database.KindSets)
	if err != nil {
		return Sets{}, err
	}
	human, ai := p.EncodedSize(count.Human), p.EncodedSize(count.AI)
	start := int(at.Offset)
	if start+human+ai > len(payload) {
		return Sets{}, sketch.Corrupted(id.cellsKey(g, at.Ordinal), "it has %d bytes, and sets end at %d", len(payload), start+human+ai)
	}
	return Sets{payload[start : start+human], payload[start+human : start+human+ai]}, nil
}

func (r Reader) payload(id ID, g Group, ordinal uint16, kind sketch.Kind) ([]byte, error) {
	if r.Cache != nil {
		if payload, found := r.Cache.get(keyOf(id, g, ordinal)); found {
			return payload, nil
		}
	}
	key := id.cellsKey(g, ordinal)
	payload, found, err := database.Get(r.Txn, key, kind)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, sketch.Corrupted(key, "it is missing")
	}
	if r.Cache != nil {
		r.Cache.add(keyOf(id, g, ordinal), payload)
	}
	return payload, nil
}

// Accumulate adds the sets of a row to an accumulator.
func (r Reader) Accumulate(into *sketch.Accumulator, id ID, g Group, row Row) error {
	sets, err := r.Sets(id, g, row)
	if err != nil {
		return err
	}
	return accumulate(into, sets, row.Count, id.cellsKey(g, row.Ordinal))
}

// AccumulateSite adds the sets of the site to an accumulator.
func (r Reader) AccumulateSite(into *sketch.Accumulator, root *Root) error {
	sets, err := r.SiteSets(root)
	if err != nil {
		return err
	}
	return accumulate(into, sets, root.Site.Count, root.ID.cellsKey(root.siteGroup(), 1))
}

func accumulate(into *sketch.Accumulator, sets Sets, count sketch.Count, key []byte) error {
	err := errors.Join(
		into.AddEncoded(sketch.Human, sets[sketch.Human], count.Human),
		into.AddEncoded(sketch.AI, sets[sketch.AI], count.AI),
	)
	if err != nil {
		return sketch.Corrupted(key, "%v", err)
	}
	return nil
}

// EachKey calls visit with the keys of all tables and sets of a part, whether or not
// its root refers to them. The key dies with the call.
func (r Reader) EachKey(id ID, visit func(key []byte) error) error {
	return database.EachKey(r.Txn, database.CellsPrefix(id.Project, uint8(id.Level), id.Run), visit)
}
