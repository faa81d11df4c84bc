package database

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strconv"
)

// memtableLog ends the names of the logs of Badger's memtables.
const memtableLog = ".mem"

// The format of a memtable's log in Badger 4: a header of 20 bytes, then entries
//
//	meta, user meta     1 byte each
//	key length, value length, expiry   uvarint each
//	key, value
//	CRC32C (BE uint32) over all before
//
// up to zeros. The entries of a transaction carry one bit in meta and its version
// at the end of their keys; one more with another bit ends it.
const (
	memtableHeader  = 20
	metaTransaction = 1 << 6
	metaEnd         = 1 << 7
)

// memtableScan is what Badger will take of a memtable's log.
type memtableScan struct {
	name        string
	first, last uint64 // versions; 0 where it holds no transaction
	end         int64  // of the last whole transaction
	stale       bool   // whether anything but zeros follows it
}

func scanMemtableLog(name string) (memtableScan, error) {
	s := memtableScan{name: name, end: memtableHeader}
	file, err := os.Open(name)
	if err != nil {
		return s, err
	}
	defer func() { _ = file.Close() }() // It was only read from.
	info, err := file.Stat()
	if err != nil {
		return s, err
	}
	if err := s.readTransactions(file, info.Size()); err != nil {
		return s, fmt.Errorf("reading %s: %w", name, err)
	}
	s.stale, err = anythingIn(io.NewSectionReader(file, s.end, max(0, info.Size()-s.end)))
	if err != nil {
		return s, fmt.Errorf("reading %s: %w", name, err)
	}
	return s, nil
}

// readTransactions reads up to the first entry that does not check, which is
// where Badger stops, too.
func (s *memtableScan) readTransactions(file io.ReaderAt, size int64) error {
	r := newEntryReader(file, size)
	offset, open := s.end, uint64(0)
	for {
		meta, key, value, err := r.next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errNoEntry) {
			return nil
		}
		if err != nil {
			return err
		}
		offset += r.size
		switch {
		case meta&metaTransaction > 0 && len(key) >= 8:
			version := math.MaxUint64 - binary.BigEndian.Uint64(key[len(key)-8:])
			if open != 0 && open != version {
				return nil
			}
			open = version
		case meta&metaEnd > 0:
			version, err := strconv.ParseUint(string(value), 10, 64)
			if err != nil || version != open {
				return nil
			}
			if s.first == 0 {
				s.first = version
			}
			s.last, s.end, open = max(s.last, version), offset, 0
		default:
			return nil // Badger writes no entry outside of a transaction.
		}
	}
}

// errNoEntry says that what was read is no entry, or does not match its checksum.
var errNoEntry = errors.New("no entry")

// entryReader reads the entries of a memtable's log.
type entryReader struct {
	reader *bufio.Reader
	left   int64 // bytes of the file
	sum    uint32
	size   int64 // of the last entry
	buffer []byte
}

func newEntryReader(file io.ReaderAt, size int64) *entryReader {
	left := max(0, size-memtableHeader)
	return &entryReader{reader: bufio.NewReaderSize(io.NewSectionReader(file, memtableHeader, left), 64<<10), left: left}
}

// ReadByte reads a byte of an entry's header.
func (r *entryReader) ReadByte() (byte, error) {
	b, err := r.reader.ReadByte()
	if err == nil {
		r.sum = crc32.Update(r.sum, castagnoli, []byte{b})
		r.size++
		r.left--
	}
	return b, err
}

// next reads an entry. Key and value are valid until the next call.
func (r *entryReader) next() (meta byte, key, value []byte, err error) {
	r.sum, r.size = 0, 0
	if meta, err = r.ReadByte(); err != nil {
		return 0, nil, nil, err
	}
	if _, err = r.ReadByte(); err != nil {
		return 0, nil, nil, err
	}
	var numbers [3]uint64
	for i := range numbers {
		if numbers[i], err = binary.ReadUvarint(r); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				err = errNoEntry // The number is too large.
			}
			return 0, nil, nil, err
		}
	}
	// Before anything is allocated: a length can not ask for more than is left.
	keySize, valueSize := numbers[0], numbers[1]
	if keySize == 0 || keySize > 1<<16 || valueSize > uint64(r.left) {
		return 0, nil, nil, errNoEntry
	}
	size := int(keySize + valueSize)
	if cap(r.buffer) < size+crc32.Size {
		r.buffer = make([]byte, size+crc32.Size)
	}
	r.buffer = r.buffer[:size+crc32.Size]
	if _, err := io.ReadFull(r.reader, r.buffer); err != nil {
		return 0, nil, nil, err
	}
	if crc32.Update(r.sum, castagnoli, r.buffer[:size]) != binary.BigEndian.Uint32(r.buffer[size:]) {
		return 0, nil, nil, errNoEntry
	}
	r.size += int64(len(r.buffer))
	r.left -= int64(len(r.buffer))
	return meta, r.buffer[:keySize], r.buffer[keySize:size], nil
}

// anythingIn reports whether a file holds anything but zeros.
func anythingIn(file io.Reader) (bool, error) {
	buffer := make([]byte, 256<<10)
	for {
		n, err := file.Read(buffer)
		for _, b := range buffer[:n] {
			if b != 0 {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}
