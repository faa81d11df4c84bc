package part

import (
	"fmt"

	"footfall/internal/database"
	"footfall/sketch"
)

// GroupWriter writes the table of a group and the sets of its paths, which come in
// the order of their slots.
type GroupWriter struct {
	id    ID
	group Group
	put   func(database.Entry) error

	table   []byte
	sets    []byte
	ordinal uint16
	last    int // slot
}

// setsBytes is the size at which sets are written, and new ones begin. A ranking
// reads those of single paths, so larger ones hold more that it did not ask for.
const setsBytes = 32 << 10

// NewGroupWriter returns the writer of a group, under a generation that the part
// did not have before. put takes the entries, and keeps their slices.
func NewGroupWriter(id ID, g Group, put func(database.Entry) error) *GroupWriter {
	w := new(GroupWriter)
	w.Reset(id, g, put)
	return w
}

// Reset makes the writer that of another group.
func (w *GroupWriter) Reset(id ID, g Group, put func(database.Entry) error) {
	*w = GroupWriter{id: id, group: g, put: put, table: w.table[:0], sets: w.sets[:0], last: -1}
}

// Cell adds the cell of a path.
func (w *GroupWriter) Cell(slot uint8, c *sketch.Cell) error {
	return w.add(slot, Numbers{Views: c.Views, Count: c.Count()}, func(b []byte) []byte {
		return c.Visitors[sketch.AI].AppendEncoded(c.Visitors[sketch.Human].AppendEncoded(b))
	})
}

// Sets adds the sets of a path as they are.
func (w *GroupWriter) Sets(slot uint8, n Numbers, s Sets) error {
	return w.add(slot, n, func(b []byte) []byte { return append(append(b, s[sketch.Human]...), s[sketch.AI]...) })
}

// Union adds the sets of a path that were accumulated.
func (w *GroupWriter) Union(slot uint8, views [2]uint64, a *sketch.Accumulator) error {
	return w.add(slot, Numbers{Views: views, Count: a.Count()}, func(b []byte) []byte {
		return a.AppendEncoded(a.AppendEncoded(b, sketch.Human), sketch.AI)
	})
}

func (w *GroupWriter) add(slot uint8, n Numbers, appendSets func([]byte) []byte) error {
	if int(slot) <= w.last {
		panic(fmt.Sprintf("part: slot %d comes after slot %d", slot, w.last))
	}
	w.last = int(slot)
	row := Row{Slot: slot, Numbers: n}
	begins := w.ordinal == 0 || len(w.sets)+row.size() > setsBytes
	if begins {
		if err := w.putSets(); err != nil {
			return err
		}
		w.ordinal++
	}
	w.table = appendRow(w.table, row, begins)
	w.sets = appendSets(w.sets)
	return nil
}

func (w *GroupWriter) putSets() error {
	if len(w.sets) == 0 {
		return nil
	}
	err := putFrame(w.put, w.id.cellsKey(w.group, w.ordinal), database.KindSets, w.sets)
	w.sets = w.sets[:0]
	return err
}

// Close writes what is left, the table last. A group has a path at least.
func (w *GroupWriter) Close() error {
	if w.last < 0 {
		panic("part: a group without paths")
	}
	if err := w.putSets(); err != nil {
		return err
	}
	return putFrame(w.put, w.id.cellsKey(w.group, 0), database.KindTable, w.table)
}

// PutSite writes the sets of the site, under the generation that the root says. It
// sets the root's count.
func PutSite(r *Root, a *sketch.Accumulator, put func(database.Entry) error) error {
	r.Site.Count = a.Count()
	sets := a.AppendEncoded(a.AppendEncoded(nil, sketch.Human), sketch.AI)
	return putFrame(put, r.ID.cellsKey(r.siteGroup(), 1), database.KindSets, sets)
}

func putFrame(put func(database.Entry) error, key []byte, kind sketch.Kind, payload []byte) error {
	const header = 7 // of a frame
	value := sketch.AppendFrame(make([]byte, 0, header+len(payload)), key, kind, 0, payload)
	return put(database.Entry{Key: key, Value: value})
}

// RemoveGroup removes what a group has under its generation: its table, and its
// sets, which have ordinals up to last.
func RemoveGroup(id ID, g Group, last uint16, put func(database.Entry) error) error {
	for ordinal := range last + 1 {
		if err := put(database.Entry{Key: id.cellsKey(g, ordinal)}); err != nil {
			return err
		}
	}
	return nil
}

// RemoveSite removes the sets of the site that a root refers to.
func RemoveSite(r *Root, put func(database.Entry) error) error {
	return put(database.Entry{Key: r.ID.cellsKey(r.siteGroup(), 1)})
}
