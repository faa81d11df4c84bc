package part

import (
	"encoding/binary"

	"footfall/sketch"
)

// Row is one path in a table.
type Row struct {
	Slot uint8
	Numbers
	Place
}

// Place is where the sets of a path are: the human ones first, then those of AI,
// each of the size that follows from its count.
type Place struct {
	Ordinal uint16 // of the sets, from 1
	Offset  uint32 // in bytes
}

// The payload of a table is its rows, in the order of their slots:
//
//	slot                           1 byte
//	begins, views human, ...       begins * 2^0: 1 where new sets begin with this row,
//	                               and views human * 2^1, as one uvarint
//	views AI                       uvarint
//	human, AI, human + AI - total  uvarints: distinct visitors
//
// Offsets are not stored: they follow from the counts of the rows before.

func appendRow(b []byte, row Row, begins bool) []byte {
	b = append(b, row.Slot)
	first := row.Views[sketch.Human] << 1
	if begins {
		first |= 1
	}
	b = binary.AppendUvarint(b, first)
	b = binary.AppendUvarint(b, row.Views[sketch.AI])
	return appendCount(b, row.Count)
}

// appendRows appends the rows in the payload of a table. ok is false where it is
// none.
func appendRows(rows []Row, payload []byte) (_ []Row, ok bool) {
	n := numbers{b: payload}
	var place Place
	last := -1
	for len(n.b) > 0 {
		row := Row{Slot: n.nextByte()}
		first := n.next()
		row.Views[sketch.Human], row.Views[sketch.AI] = first>>1, n.next()
		row.Count = n.nextCount()
		if first&1 == 1 {
			place = Place{Ordinal: place.Ordinal + 1}
		}
		row.Place = place
		if n.broken || int(row.Slot) <= last || place.Ordinal == 0 {
			return rows, false
		}
		place.Offset += uint32(row.size())
		last = int(row.Slot)
		rows = append(rows, row)
	}
	return rows, !n.broken && last >= 0
}

// size is how many bytes the sets of the row take.
func (r *Row) size() int {
	return sketch.PathPrecision.EncodedSize(r.Count.Human) + sketch.PathPrecision.EncodedSize(r.Count.AI)
}
