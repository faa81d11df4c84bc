package part_test

import (
	"bytes"
	"math"
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
func TestGroupIsStoredAsTheseBytes(t *testing.T) {
	id := part.ID{Project: 7, Level: 1, Run: 300}
	first, last := sketch.NewCell(sketch.PathPrecision), sketch.NewCell(sketch.PathPrecision)
	for _, h := range []sketch.Hash{1 << 63, 0x0123456789abcdef} {
		first.Add(sketch.Human, h)
	}
	first.Add(sketch.AI, 0x0123456789abcdef)
	for range 150 {
		last.Add(sketch.AI, 0)
	}
	written := groupOf(t, id, group, map[uint8]*sketch.Cell{2: first, 255: last})
	if len(written) != 2 {
		t.Fatalf("%d values, expected 2", len(written))
	}

	const key = "76" + "0000000000000007" + "63" + "01" + "0000012c" + "00000003" + "00000000000002bc"
	checkEntry(t, written[0], key+"0001", "01"+"0b"+"00"+"ed44f6c4"+ // version, kind, precision, checksum
		"efcdab8967452301"+"0000000000000080"+ // humans of slot 2
		"efcdab8967452301"+ // AI agents of slot 2
		"0000000000000000") // AI agents of slot 255
	checkEntry(t, written[1], key+"0000", "01"+"0a"+"00"+"34f208fc"+
		"02"+"05"+"01"+"02"+"01"+"01"+ // new sets begin, 2 and 1 views, 2 and 1 visitors, 1 of them both
		"ff"+"00"+"9601"+"00"+"01"+"00") // 0 and 150 views, 0 and 1 visitors
}

// encodeTable is the table of rows, worked out from the format's description.
func encodeTable(rows []part.Row) (payload []byte) {
	ordinal := uint16(0)
	for _, row := range rows {
		begins := uint64(row.Ordinal - ordinal)
		ordinal = row.Ordinal
		payload = append(payload, row.Slot)
		payload = append(payload, uvarints(begins+2*row.Views[sketch.Human], row.Views[sketch.AI])...)
		payload = append(payload, uvarints(row.Count.Human, row.Count.AI, row.Count.Human+row.Count.AI-row.Count.Total)...)
	}
	return payload
}

func tableEntry(payload []byte) database.Entry {
	key := tableKey(id, group)
	return database.Entry{Key: key, Value: sketch.AppendFrame(nil, key, database.KindTable, 0, payload)}
}

// Rows of any numbers, also of sets that are larger than any that are written.
func TestTableRoundTrip(t *testing.T) {
	db := open(t)
	views := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64Max(math.MaxUint64>>1))
	rapid.Check(t, func(t *rapid.T) {
		var rows []part.Row
		all := rapid.SliceOfNDistinct(rapid.Byte(), 1, 256, rapid.ID).Draw(t, "slots")
		slices.Sort(all)
		place := part.Place{Ordinal: 1}
		for i, slot := range all {
			row := part.Row{Slot: slot}
			row.Views = [2]uint64{views.Draw(t, "human views"), views.Draw(t, "AI views")}
			row.Count = anyCount().Draw(t, "count")
			if i > 0 && rapid.Bool().Draw(t, "begins") {
				place = part.Place{Ordinal: place.Ordinal + 1}
			}
			row.Place = place
			place.Offset += uint32(sizeOf(row))
			rows = append(rows, row)
		}
		with(t, db, entries{tableEntry(encodeTable(rows))}, func(txn *badger.Txn) {
			before := []part.Row{{Slot: 9}}
			table := part.Reader{Txn: txn}.Group(id, group)
			got, err := table.Table(before)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, slices.Concat(before, rows)) {
				t.Fatalf("read\n%+v, expected\n%+v", got, rows)
			}
		})
	})
}

// The writer's table is the one of the description, for 256 paths of many values.
func TestWriterWritesTheTableOfTheDescription(t *testing.T) {
	db := open(t)
	for _, n := range []int{1, 255, 256} {
		written := groupOf(t, id, group, manyCells(n, 90, 60))
		with(t, db, written, func(txn *badger.Txn) {
			rows := rowsOf(t, txn)
			if len(rows) != n {
				t.Fatalf("%d rows, expected %d", len(rows), n)
			}
			if stored, _ := written.find(tableKey(id, group)); !bytes.Equal(stored, tableEntry(encodeTable(rows)).Value) {
				t.Errorf("the table of %d paths is stored as other bytes", n)
			}
		})
	}
}

func TestPayloadsThatAreNoTableAreRefused(t *testing.T) {
	const most = 1 << 62
	row := func(slot byte, numbers ...uint64) []byte { return append([]byte{slot}, uvarints(numbers...)...) }
	first := row(4, 7, 2, 5, 4, 2)
	tests := map[string][]byte{
		"nothing":                              nil,
		"a slot alone":                         {4},
		"no count of those who are both":       row(4, 7, 2, 5, 4),
		"the first row begins no sets":         row(4, 6, 2, 5, 4, 2),
		"a slot twice":                         slices.Concat(first, row(4, 6, 2, 5, 4, 2)),
		"slots that descend":                   slices.Concat(first, row(3, 6, 2, 5, 4, 2)),
		"a second row that ends early":         slices.Concat(first, row(5, 6, 2, 5, 4)),
		"a slot that follows":                  slices.Concat(first, []byte{5}),
		"a number that does not end":           append(row(4, 7, 2, 5, 4), 0x80),
		"a number that is longer than need be": append(row(4, 7, 2, 5, 4), 0x82, 0),
		"a number beyond 64 bits":              append(row(4, 7), bytes.Repeat([]byte{0xff}, 12)...),
		"more humans than there can be":        row(4, 7, 2, most+1, 4, 2),
		"more AI agents than there can be":     row(4, 7, 2, 5, most+1, 2),
		"the largest number of visitors":       row(4, 7, 2, math.MaxUint64, math.MaxUint64, 0),
		"more who are both than humans":        row(4, 7, 2, 1, 4, 2),
		"more who are both than AI agents":     row(4, 7, 2, 4, 1, 2),
	}
	db := open(t)
	table := func(txn *badger.Txn) error {
		table := part.Reader{Txn: txn, Cache: part.NewCache(1<<20, nil)}.Group(id, group)
		rows, err := table.Table(nil)
		if rows != nil {
			t.Errorf("read as %+v", rows)
		}
		return err
	}
	for name, payload := range tests {
		t.Run(name, func(t *testing.T) { refused(t, db, tableKey(id, group), database.KindTable, payload, table) })
	}
	t.Run("what they all differ from is taken", func(t *testing.T) {
		for _, payload := range [][]byte{first, row(4, 1, 0, most, most, most), slices.Concat(first, row(5, 6, 0, 0, 0, 0), row(255, 1, 0, 0, 0, 0))} {
			with(t, db, entries{tableEntry(payload)}, func(txn *badger.Txn) {
				if rows := rowsOf(t, txn); !bytes.Equal(encodeTable(rows), payload) {
					t.Errorf("% x is read as %+v", payload, rows)
				}
			})
		}
	})
}
