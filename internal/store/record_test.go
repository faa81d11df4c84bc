package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

func anyMark() *rapid.Generator[sketch.Mark] {
	offset := rapid.OneOf(rapid.Int64Range(0, 300), rapid.Int64Range(0, math.MaxInt64))
	return rapid.Custom(func(t *rapid.T) sketch.Mark {
		m := sketch.Mark{
			Source: sketch.Source{Length: rapid.Uint16Range(1, sketch.SourceHead).Draw(t, "length")},
			From:   offset.Draw(t, "from"),
			To:     offset.Draw(t, "to"),
			Lines:  offset.Draw(t, "lines"),
		}
		copy(m.Source.Sum[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "sum"))
		copy(m.Tail[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "tail"))
		return m
	})
}

func anyReceipt() *rapid.Generator[*sketch.Receipt] {
	return rapid.Custom(func(t *rapid.T) *sketch.Receipt {
		r := &sketch.Receipt{
			Taken:  rapid.Int64().Draw(t, "taken"),
			Answer: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "answer"),
		}
		copy(r.Key[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
		copy(r.Body[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "body"))
		return r
	})
}

func anyBatch() *rapid.Generator[sketch.Batch] {
	path := rapid.OneOf(
		rapid.SampledFrom([]string{"/", "/a", "/é/ü", "/" + strings.Repeat("x", 1023)}),
		rapid.StringN(0, 20, 40),
	)
	visit := rapid.Custom(func(t *rapid.T) sketch.PageView {
		return sketch.PageView{
			Path:    path.Draw(t, "path"),
			Visitor: sketch.Hash(rapid.Uint64().Draw(t, "visitor")),
			Day:     sketch.Day(rapid.Int32Range(0, int32(sketch.LastDay)).Draw(t, "day")),
			Traffic: rapid.SampledFrom([]sketch.Traffic{sketch.Human, sketch.AI}).Draw(t, "traffic"),
		}
	})
	return rapid.Custom(func(t *rapid.T) sketch.Batch {
		b := sketch.NewBatch(sketch.ProjectNumber(rapid.Uint64().Draw(t, "project")),
			rapid.SliceOfN(visit, 0, 30).Draw(t, "visits")...)
		switch rapid.IntRange(0, 2).Draw(t, "origin") {
		case originMark:
			b.Mark = anyMark().Draw(t, "mark")
		case originReceipt:
			b.Receipt = anyReceipt().Draw(t, "receipt")
		}
		return b
	})
}

func equalBatches(a, b sketch.Batch) bool {
	return a.Project == b.Project && a.Mark == b.Mark && equalReceipts(a.Receipt, b.Receipt) &&
		slices.EqualFunc(a.Paths, b.Paths, bytes.Equal) && slices.Equal(a.Visits, b.Visits)
}

func equalReceipts(a, b *sketch.Receipt) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Key == b.Key && a.Body == b.Body && a.Taken == b.Taken && bytes.Equal(a.Answer, b.Answer)
}

// decodeRecord decodes into a record that was used before.
func decodeRecord(encoded []byte) (sketch.Batch, error) {
	d := record{mark: sketch.Mark{To: 1}, receipt: new(sketch.Receipt), paths: [][]byte{{1}}, visits: make([]sketch.Visit, 1)}
	if err := d.decode(encoded); err != nil {
		return sketch.Batch{}, err
	}
	return sketch.Batch{Project: d.project, Paths: d.paths, Visits: d.visits, Mark: d.mark, Receipt: d.receipt}, nil
}

func marked(mark sketch.Mark, b sketch.Batch) sketch.Batch {
	b.Mark = mark
	return b
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyBatch().Draw(t, "batch")
		got, err := decodeRecord(appendRecord([]byte("before"), want)[len("before"):])
		if err != nil {
			t.Fatal(err)
		}
		if !equalBatches(got, want) {
			t.Fatalf("%+v became %+v", want, got)
		}
	})
}

// Records and marks are on disk: their bytes do not change.
func TestRecordIsFrozen(t *testing.T) {
	mark := sketch.Mark{
		Source: sketch.Source{Length: 0x1234},
		From:   1, To: 300, Lines: 7,
	}
	for i := range 32 {
		mark.Source.Sum[i], mark.Tail[i] = byte(i), byte(0xf0+i%16)
	}
	markBytes := "\x34\x12" + string(mark.Source.Sum[:]) + "\x01" + "\xac\x02" + "\x07" + string(mark.Tail[:])
	receipt := &sketch.Receipt{Key: mark.Source.Sum, Body: mark.Tail, Taken: 300, Answer: []byte("{}")}
	receiptBytes := string(receipt.Key[:]) + string(receipt.Body[:]) + "\xd8\x04" + "\x02{}"
	visits := []sketch.PageView{
		{Path: "/a", Visitor: 0x0102030405060708, Day: 20_000, Traffic: sketch.Human},
		{Path: "/b", Visitor: 1, Day: 0, Traffic: sketch.AI},
		{Path: "/a", Visitor: 2, Day: 1, Traffic: sketch.AI},
	}
	visitBytes := "\x02" + "\x02/a" + "\x02/b" +
		"\x03" + "\x00\xc0\xb8\x02\x08\x07\x06\x05\x04\x03\x02\x01" +
		"\x03\xbf\xb8\x02\x01\x00\x00\x00\x00\x00\x00\x00" +
		"\x01\x02\x02\x00\x00\x00\x00\x00\x00\x00"
	tests := []struct {
		name  string
		batch sketch.Batch
		want  string
	}{
		{"visits", sketch.NewBatch(300, visits...), "\x02\xac\x02\x00" + visitBytes},
		{"visits and a mark", marked(mark, sketch.NewBatch(5, visits...)), "\x02\x05\x01" + markBytes + visitBytes},
		{"a mark", sketch.Batch{Project: 5, Mark: mark}, "\x02\x05\x01" + markBytes + "\x00\x00"},
		{"a receipt", sketch.Batch{Project: 5, Receipt: receipt}, "\x02\x05\x02" + receiptBytes + "\x00\x00"},
	}
	for _, test := range tests {
		if got := appendRecord(nil, test.batch); string(got) != test.want {
			t.Errorf("%s:\n%x, expected\n%x", test.name, got, test.want)
		}
	}
	if got := appendMark(nil, mark); string(got) != markBytes {
		t.Errorf("mark:\n%x, expected\n%x", got, markBytes)
	}
}

func TestMarkRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyMark().Draw(t, "mark")
		encoded := appendMark(nil, want)
		if got, err := decodeMark(encoded); err != nil || got != want {
			t.Fatalf("%+v became %+v, %v", want, got, err)
		}
		if _, err := decodeMark(append(encoded, 0)); !errors.Is(err, errRecord) {
			t.Fatalf("with a byte more: %v", err)
		}
		for n := range encoded {
			if _, err := decodeMark(encoded[:n]); !errors.Is(err, errRecord) {
				t.Fatalf("the first %d bytes: %v", n, err)
			}
		}
	})
}

// Every record that is cut short, and every one with bytes after its end, is an
// error.
func TestRecordCutShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := appendRecord(nil, anyBatch().Draw(t, "batch"))
		for n := range record {
			if _, err := decodeRecord(record[:n]); !errors.Is(err, errRecord) {
				t.Fatalf("the first %d of %d bytes: %v", n, len(record), err)
			}
		}
		if _, err := decodeRecord(append(record, 0)); !errors.Is(err, errRecord) {
			t.Fatalf("with a byte more: %v", err)
		}
	})
}

// malformed records, each an error and none an allocation of what it claims.
var malformed = []struct{ name, record string }{
	{"nothing", ""},
	{"a version before", "\x01\x01\x00\x00\x00"},
	{"a version to come", "\x03\x01\x00\x00\x00"},
	{"a project number that never ends", "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
	{"an origin that is none", "\x02\x01\x03\x00\x00"},
	{"an offset below zero", "\x02\x01\x01\x01\x00" + strings.Repeat("s", 32) + number(1<<63) + "\x00\x00" + strings.Repeat("t", 32) + "\x00\x00"},
	{"more paths than bytes", "\x02\x01\x00" + number(1<<60)},
	{"more paths than bytes by one", "\x02\x01\x00\x04\x00\x00\x00"},
	{"a path longer than the record", "\x02\x01\x00\x01" + number(1<<62) + "/a"},
	{"more visits than bytes", "\x02\x01\x00\x01\x01/" + number(math.MaxUint64)},
	{"a visit too short", "\x02\x01\x00\x01\x01/\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
	{"a path that is not there", "\x02\x01\x00\x01\x01/\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"},
	{"a day after the last", "\x02\x01\x00\x01\x01/\x01\x00" + signed(int64(sketch.LastDay)+1) + "\x00\x00\x00\x00\x00\x00\x00\x00"},
	{"a day before the first", "\x02\x01\x00\x01\x01/\x01\x00" + signed(-1) + "\x00\x00\x00\x00\x00\x00\x00\x00"},
	{"an answer longer than the record", "\x02\x01\x02" + strings.Repeat("k", 64) + "\x00" + number(1<<40) + "\x00\x00"},
	{"a day that wraps around", "\x02\x01\x00\x01\x01/\x01\x00" + signed(1<<32) + "\x00\x00\x00\x00\x00\x00\x00\x00"},
}

func signed(n int64) string { return string(binary.AppendVarint(nil, n)) }

func number(n uint64) string { return string(binary.AppendUvarint(nil, n)) }

func TestMalformedRecords(t *testing.T) {
	for _, test := range malformed {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := decodeRecord([]byte(test.record))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errRecord) {
			t.Errorf("%s: %+v, %v", test.name, b, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<10 {
			t.Errorf("%s: %d bytes were allocated for a record of %d", test.name, allocated, len(test.record))
		}
	}
}

// Whatever bytes come, decoding ends with a batch or an error, within memory in
// proportion to the record; a batch that was decoded says the same encoded again.
func FuzzDecodeRecord(f *testing.F) {
	for _, test := range malformed {
		f.Add([]byte(test.record))
	}
	mark := sketch.Mark{Source: sketch.SourceOf([]byte("head")), From: 10, To: 20, Lines: 2}
	visits := []sketch.PageView{
		{Path: "/a", Visitor: 1, Day: 20_000},
		{Path: "/b", Visitor: 2, Day: 20_001, Traffic: sketch.AI},
		{Path: "/a", Visitor: 3, Day: 20_000, Traffic: sketch.AI},
	}
	f.Add(appendRecord(nil, sketch.NewBatch(1, visits...)))
	f.Add(appendRecord(nil, marked(mark, sketch.NewBatch(1<<60, visits[:1]...))))
	f.Add(appendRecord(nil, sketch.Batch{Mark: mark}))
	f.Fuzz(func(t *testing.T, record []byte) {
		given := bytes.Clone(record)
		b, err := decodeRecord(record)
		if !bytes.Equal(record, given) {
			t.Fatal("decoding changed the record")
		}
		if err != nil {
			if !errors.Is(err, errRecord) {
				t.Fatalf("%v does not match errRecord", err)
			}
			return
		}
		if 10*cap(b.Visits) > 2*len(record)+64 {
			t.Fatalf("%d visits for a record of %d bytes", cap(b.Visits), len(record))
		}
		if b.Mark.IsZero() {
			b.Mark = sketch.Mark{} // It means nothing and is not written again.
		}
		again, err := decodeRecord(appendRecord(nil, b))
		if err != nil {
			t.Fatalf("%+v does not decode again: %v", b, err)
		}
		if !equalBatches(again, b) {
			t.Fatalf("%+v became %+v", b, again)
		}
	})
}
