package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"footfall/sketch"
)

// A batch in the log. All numbers are uvarints unless said otherwise; the log
// itself frames the record with its position and checksum.
//
//	version         1 byte, 2
//	project number
//	origin          1 byte: 0 for none, 1 followed by the mark of an import, or 2
//	                followed by a receipt
//	paths           count, then each: length, bytes
//	visits          count, then each: path index * 2 + traffic, days since the
//	                visit before (zigzag; the first since day 0), hash (LE uint64)
//
// A path stands once however many visits it has in the batch. Marks and receipts
// are written as where they stand alone, see appendMark and appendReceipt.
//
// Version 1 had whole days and no receipts.
const recordVersion = 2

const (
	originNone    = 0
	originMark    = 1
	originReceipt = 2
)

// errRecord is wrapped by every failure to decode a record whose checksum was
// right: a mistake in the program, or a format that this version does not know.
var errRecord = errors.New("log record does not decode")

// recordBytes returns how many bytes the record of a batch has at most.
func recordBytes(b sketch.Batch) int {
	const header, visit = 256, 2*binary.MaxVarintLen32 + 8
	size := header + visit*len(b.Visits)
	for _, path := range b.Paths {
		size += binary.MaxVarintLen16 + len(path)
	}
	if b.Receipt != nil {
		size += len(b.Receipt.Answer)
	}
	return size
}

func appendRecord(dst []byte, b sketch.Batch) []byte {
	dst = append(dst, recordVersion)
	dst = binary.AppendUvarint(dst, uint64(b.Project))
	switch {
	case !b.Mark.IsZero():
		dst = append(dst, originMark)
		dst = appendMark(dst, b.Mark)
	case b.Receipt != nil:
		dst = append(dst, originReceipt)
		dst = appendReceipt(dst, b.Receipt)
	default:
		dst = append(dst, originNone)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Paths)))
	for _, path := range b.Paths {
		dst = binary.AppendUvarint(dst, uint64(len(path)))
		dst = append(dst, path...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Visits)))
	day := sketch.Day(0)
	for i := range b.Visits {
		v := &b.Visits[i]
		dst = binary.AppendUvarint(dst, uint64(v.Path)<<1|uint64(v.Traffic))
		dst = binary.AppendVarint(dst, int64(v.Day)-int64(day))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.Visitor))
		day = v.Day
	}
	return dst
}

// record is a batch as it is read from the log. Its slices point into the
// record's bytes. It may be used again for the next one.
type record struct {
	project sketch.ProjectNumber
	mark    sketch.Mark
	receipt *sketch.Receipt
	paths   [][]byte
	visits  []sketch.Visit
}

func (d *record) decode(encoded []byte) error {
	r := reader{rest: encoded}
	*d = record{paths: d.paths[:0], visits: d.visits[:0]}
	if version := r.byte(); version != recordVersion && r.err == nil {
		return fmt.Errorf("%w: version %d, expected %d", errRecord, version, recordVersion)
	}
	d.project = sketch.ProjectNumber(r.uvarint())
	switch origin := r.byte(); origin {
	case originNone:
	case originMark:
		d.mark = r.mark()
	case originReceipt:
		d.receipt = r.receipt()
	default:
		r.fail("origin is %d, expected 0 to 2", origin)
	}
	// Each path takes at least one byte and each visit ten: a count that the
	// record can not hold is refused before anything is allocated for it.
	for range r.count(1) {
		d.paths = append(d.paths, r.bytes(r.count(1)))
	}
	count := int(r.count(10))
	d.visits = slices.Grow(d.visits, count)
	day := int64(0)
	for i := range count {
		path := r.uvarint()
		day += r.varint()
		hash := r.uint64()
		if r.err != nil {
			break
		}
		if path>>1 >= uint64(len(d.paths)) || day < 0 || day > int64(sketch.LastDay) {
			r.fail("visit %d has path %d of %d, day %d", i, path>>1, len(d.paths), day)
			break
		}
		d.visits = append(d.visits, sketch.Visit{
			Path:    uint32(path >> 1),
			Traffic: sketch.Traffic(path & 1),
			Day:     sketch.Day(day),
			Visitor: sketch.Hash(hash),
		})
	}
	if len(r.rest) > 0 {
		r.fail("%d bytes follow the visits", len(r.rest))
	}
	return r.err
}

func appendMark(dst []byte, m sketch.Mark) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, m.Source.Length)
	dst = append(dst, m.Source.Sum[:]...)
	dst = binary.AppendUvarint(dst, uint64(m.From))
	dst = binary.AppendUvarint(dst, uint64(m.To))
	dst = binary.AppendUvarint(dst, uint64(m.Lines))
	return append(dst, m.Tail[:]...)
}

// decodeMark reads a mark that stands alone, as it is stored under a source.
func decodeMark(payload []byte) (sketch.Mark, error) {
	r := reader{rest: payload}
	m := r.mark()
	if len(r.rest) > 0 {
		r.fail("%d bytes follow the mark", len(r.rest))
	}
	return m, r.err
}

// appendReceipt writes a receipt: key and body as 32 bytes each, the Unix second
// when it was taken, and the answer with its length before it.
func appendReceipt(dst []byte, r *sketch.Receipt) []byte {
	dst = append(dst, r.Key[:]...)
	dst = append(dst, r.Body[:]...)
	dst = binary.AppendVarint(dst, r.Taken)
	dst = binary.AppendUvarint(dst, uint64(len(r.Answer)))
	return append(dst, r.Answer...)
}

// decodeReceipt reads a receipt that stands alone, as it is stored under its key.
func decodeReceipt(payload []byte) (*sketch.Receipt, error) {
	r := reader{rest: payload}
	receipt := r.receipt()
	if len(r.rest) > 0 {
		r.fail("%d bytes follow the receipt", len(r.rest))
	}
	return receipt, r.err
}

// reader takes values off a record. After the first failure it returns zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errRecord, fmt.Sprintf(format, args...))
	}
	r.rest = nil
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("%d bytes expected, %d left", n, len(r.rest))
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	value, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail("number is cut short or too large")
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

func (r *reader) varint() int64 {
	value, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail("number is cut short or too large")
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// count reads how many items of at least size bytes follow.
func (r *reader) count(size int) uint64 {
	n := r.uvarint()
	if n > uint64(len(r.rest)/size) {
		r.fail("%d items of %d bytes expected, %d bytes left", n, size, len(r.rest))
		return 0
	}
	return n
}

// offset reads a number that fits into an int64.
func (r *reader) offset() int64 {
	n := r.uvarint()
	if n > 1<<63-1 {
		r.fail("offset %d is too large", n)
		return 0
	}
	return int64(n)
}

func (r *reader) mark() sketch.Mark {
	var m sketch.Mark
	if b := r.bytes(2); len(b) == 2 {
		m.Source.Length = binary.LittleEndian.Uint16(b)
	}
	copy(m.Source.Sum[:], r.bytes(32))
	m.From = r.offset()
	m.To = r.offset()
	m.Lines = r.offset()
	copy(m.Tail[:], r.bytes(32))
	return m
}

func (r *reader) receipt() *sketch.Receipt {
	receipt := new(sketch.Receipt)
	copy(receipt.Key[:], r.bytes(32))
	copy(receipt.Body[:], r.bytes(32))
	receipt.Taken = r.varint()
	receipt.Answer = slices.Clone(r.bytes(r.count(1)))
	return receipt
}
