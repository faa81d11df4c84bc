package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"footfall/sketch"
)

// A batch in the log. All numbers are uvarints unless said otherwise; the log
// itself frames the record with its position and checksum.
//
//	version         1 byte, 1
//	project number
//	mark            0, or 1 followed by:
//	                  length of the head (LE uint16), SHA-256 of the head (32 bytes),
//	                  from, to, lines, SHA-256 of the tail (32 bytes)
//	paths           count, then each: length, bytes
//	visits          count, then each: path index * 2 + traffic, day, hash (LE uint64)
//
// A path stands once however many visits it has in the batch.
const recordVersion = 1

// errRecord is wrapped by every failure to decode a record whose checksum was
// right: a mistake in the program, or a format that this version does not know.
var errRecord = errors.New("log record does not decode")

func appendRecord(dst []byte, b sketch.Batch) []byte {
	dst = append(dst, recordVersion)
	dst = binary.AppendUvarint(dst, uint64(b.Project))
	if b.Mark.IsZero() {
		dst = append(dst, 0)
	} else {
		dst = append(dst, 1)
		dst = appendMark(dst, b.Mark)
	}

	index := make(map[string]uint64, min(len(b.Visits), 1024))
	paths := make([]string, 0, min(len(b.Visits), 1024))
	for _, v := range b.Visits {
		if _, known := index[v.Path]; !known {
			index[v.Path] = uint64(len(paths))
			paths = append(paths, v.Path)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(paths)))
	for _, path := range paths {
		dst = binary.AppendUvarint(dst, uint64(len(path)))
		dst = append(dst, path...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Visits)))
	for _, v := range b.Visits {
		dst = binary.AppendUvarint(dst, index[v.Path]<<1|uint64(v.Traffic))
		dst = binary.AppendUvarint(dst, uint64(v.Day))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.Visitor))
	}
	return dst
}

func decodeRecord(record []byte) (sketch.Batch, error) {
	r := reader{rest: record}
	var b sketch.Batch
	if version := r.byte(); version != recordVersion && r.err == nil {
		return b, fmt.Errorf("%w: version %d, expected %d", errRecord, version, recordVersion)
	}
	b.Project = sketch.ProjectNumber(r.uvarint())
	switch marked := r.byte(); marked {
	case 0:
	case 1:
		b.Mark = r.mark()
	default:
		r.fail("mark is %d, expected 0 or 1", marked)
	}

	// Each path takes at least one byte and each visit ten: a count that the
	// record can not hold is refused before anything is allocated for it.
	paths := make([]string, r.count(1))
	for i := range paths {
		paths[i] = string(r.bytes(r.count(1)))
	}
	b.Visits = make([]sketch.Visit, r.count(10))
	for i := range b.Visits {
		path := r.uvarint()
		day := r.uvarint()
		hash := r.uint64()
		if r.err != nil {
			break
		}
		if path>>1 >= uint64(len(paths)) || day > uint64(sketch.LastDay) {
			r.fail("visit %d has path %d of %d, day %d", i, path>>1, len(paths), day)
			break
		}
		b.Visits[i] = sketch.Visit{
			Path:    paths[path>>1],
			Traffic: sketch.Traffic(path & 1),
			Day:     sketch.Day(day),
			Visitor: sketch.Hash(hash),
		}
	}
	if len(r.rest) > 0 {
		r.fail("%d bytes follow the visits", len(r.rest))
	}
	return b, r.err
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
