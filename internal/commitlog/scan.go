package commitlog

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"footfall/sketch"
)

const scanBufferSize = 256 << 10

// scanner reads the records of one segment in their order.
type scanner struct {
	reader   *bufio.Reader
	size     int64           // of the file
	created  int64           // size of the file when it got its name
	offset   int64           // of the record to be read next
	position sketch.Position // which that record must have
	payload  []byte
}

// flaw says why the record at the scanner's offset does not check. It is neither
// damage nor a torn write until what follows was looked at.
type flaw struct {
	reason string
	// written is true if every sector of the record reached the disk.
	written bool
	// next is where to look for records that follow.
	next int64
}

func (f *flaw) Error() string { return f.reason }

func newScanner(file File, size int64, first sketch.Position) *scanner {
	body := io.NewSectionReader(file, segmentHeaderSize, max(0, size-segmentHeaderSize))
	return &scanner{
		reader:   bufio.NewReaderSize(body, int(max(recordHeaderSize, min(size, scanBufferSize)))),
		size:     size,
		offset:   segmentHeaderSize,
		position: first,
	}
}

// next reads a record. The payload is valid until the next call. It returns
// io.EOF at a header of zeros and at the end of the file, a *flaw where a record
// does not check, and any other error where reading failed. After an error the
// scanner stays where it was, and is done.
func (s *scanner) next() (recordHeader, []byte, error) {
	raw, err := s.reader.Peek(recordHeaderSize)
	cut := errors.Is(err, io.EOF)
	if err != nil && !cut {
		return recordHeader{}, nil, fmt.Errorf("read record header: %w", err)
	}
	if allZero(raw) {
		return recordHeader{}, nil, io.EOF
	}
	if cut {
		return recordHeader{}, nil, &flaw{reason: "the file ends inside the record's header", next: s.size}
	}
	h, ok := decodeRecordHeader(raw)
	if !ok {
		return h, nil, &flaw{
			reason:  "the record's header does not match its checksum",
			written: !headerTorn(s.offset, raw),
			next:    s.offset + recordAlignment,
		}
	}
	size := recordSize(int(h.length))
	if h.position != s.position {
		return h, nil, &flaw{
			reason:  fmt.Sprintf("record %d stands in its place", h.position),
			written: true,
			next:    s.offset + size,
		}
	}
	// Before anything is allocated: a length can not ask for more than the file has.
	if s.offset+recordHeaderSize+int64(h.length) > s.size {
		return h, nil, &flaw{reason: "the file ends inside the record", next: s.size}
	}
	if err := s.readPayload(int(h.length)); err != nil {
		return h, nil, err
	}
	if crc32.Checksum(s.payload, castagnoli) != h.sum {
		return h, nil, &flaw{
			reason:  "the record's payload does not match its checksum",
			written: zeroSectors(s.offset+recordHeaderSize, s.payload) <= h.zeros,
			next:    s.offset + size,
		}
	}
	// The padding of the last record may be cut off: it carries nothing.
	padding := int(size - recordHeaderSize - int64(h.length))
	if _, err := s.reader.Discard(padding); err != nil && !errors.Is(err, io.EOF) {
		return h, nil, fmt.Errorf("read record padding: %w", err)
	}
	s.offset += size
	s.position++
	return h, s.payload, nil
}

func (s *scanner) readPayload(length int) error {
	if cap(s.payload) < length {
		s.payload = make([]byte, length)
	}
	s.payload = s.payload[:length]
	if _, err := s.reader.Discard(recordHeaderSize); err != nil {
		return fmt.Errorf("read record header: %w", err)
	}
	if _, err := io.ReadFull(s.reader, s.payload); err != nil {
		return fmt.Errorf("read record payload: %w", err)
	}
	return nil
}

// headerTorn reports whether a header that does not check lies across two sectors
// of which one did not arrive. Inside one sector a header is never torn. Neither
// half of a whole header is zeros: length, position and CRC are spread over it.
func headerTorn(offset int64, raw []byte) bool {
	split := sectorSize - offset%sectorSize
	return split < recordHeaderSize && (allZero(raw[:split]) || allZero(raw[split:]))
}
