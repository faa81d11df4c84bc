package part

import (
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

// Sets are the encoded sets of a path or of the site, by sketch.Traffic. They must
// not be changed.
type Sets [2][]byte

// GroupReader reads one group of a part. It keeps the sets that it read last, since
// paths that follow each other mostly have theirs in one value. It is not safe for
// concurrent use.
type GroupReader struct {
	reader  Reader
	id      ID
	group   Group
	ordinal uint16 // of payload
	payload []byte
}

// Group returns the reader of a group.
func (r Reader) Group(id ID, g Group) GroupReader { return GroupReader{reader: r, id: id, group: g} }

// Table appends the rows of the group's table to rows, in the order of their slots.
// A table that is damaged or missing is a sketch.ErrCorrupted that names its key.
func (g *GroupReader) Table(rows []Row) ([]Row, error) {
	payload, err := g.reader.payload(g.id, g.group, 0, database.KindTable)
	if err != nil {
		return nil, err
	}
	rows, ok := appendRows(rows, payload)
	if !ok {
		return nil, sketch.Corrupted(g.id.cellsKey(g.group, 0), "it is not a table")
	}
	return rows, nil
}

// Sets returns the sets of a row of the table. Sets that are damaged or missing are
// a sketch.ErrCorrupted that names their key.
func (g *GroupReader) Sets(row *Row) (Sets, error) {
	if g.ordinal != row.Ordinal {
		payload, err := g.reader.payload(g.id, g.group, row.Ordinal, database.KindSets)
		if err != nil {
			return Sets{}, err
		}
		g.ordinal, g.payload = row.Ordinal, payload
	}
	sets, end := cut(g.payload, int(row.Offset), row.Count, sketch.PathPrecision)
	if end > len(g.payload) {
		return Sets{}, cutShort(g.id.cellsKey(g.group, row.Ordinal), g.payload, end)
	}
	return sets, nil
}

// Accumulate adds the set of a row and a kind of traffic to an accumulator.
func (g *GroupReader) Accumulate(into *sketch.Accumulator, t sketch.Traffic, row *Row) error {
	sets, err := g.Sets(row)
	if err != nil {
		return err
	}
	if err := into.AddEncoded(t, sets[t], row.Count.Of(t)); err != nil {
		return sketch.Corrupted(g.id.cellsKey(g.group, row.Ordinal), "%v", err)
	}
	return nil
}

// SiteSets returns the sets of the site. Those that are damaged or missing are a
// sketch.ErrCorrupted that names their key.
func (r Reader) SiteSets(root *Root) (Sets, error) {
	payload, err := r.payload(root.ID, root.siteGroup(), 1, database.KindSets)
	if err != nil {
		return Sets{}, err
	}
	sets, end := cut(payload, 0, root.Site.Count, sketch.SitePrecision)
	if end > len(payload) {
		return Sets{}, cutShort(root.ID.cellsKey(root.siteGroup(), 1), payload, end)
	}
	return sets, nil
}

// AccumulateSite adds the sets of the site to an accumulator.
func (r Reader) AccumulateSite(into *sketch.Accumulator, root *Root) error {
	sets, err := r.SiteSets(root)
	if err != nil {
		return err
	}
	for _, t := range [...]sketch.Traffic{sketch.Human, sketch.AI} {
		if err := into.AddEncoded(t, sets[t], root.Site.Count.Of(t)); err != nil {
			return sketch.Corrupted(root.ID.cellsKey(root.siteGroup(), 1), "%v", err)
		}
	}
	return nil
}

func (r *Root) siteGroup() Group { return Group{Number: Site, Generation: r.SiteGeneration} }

// cut returns the sets that begin at an offset, and where they end, which may be
// behind the payload: then there are none.
func cut(payload []byte, offset int, count sketch.Count, p sketch.Precision) (Sets, int) {
	human := offset + p.EncodedSize(count.Human)
	end := human + p.EncodedSize(count.AI)
	if end > len(payload) {
		return Sets{}, end
	}
	return Sets{payload[offset:human], payload[human:end]}, end
}

func cutShort(key, payload []byte, end int) error {
	return sketch.Corrupted(key, "it has %d bytes, and sets end at %d", len(payload), end)
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

// EachKey calls visit with the keys of all tables and sets of a part, whether or not
// its root refers to them. The key dies with the call.
func (r Reader) EachKey(id ID, visit func(key []byte) error) error {
	return database.EachKey(r.Txn, database.CellsPrefix(id.Project, uint8(id.Level), id.Run), visit)
}
