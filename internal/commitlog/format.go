package commitlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"

	"footfall/sketch"
)

// A segment file is a header and records, one after the other, each at a multiple
// of 8 bytes. Numbers are little endian, checksums are CRC32C (RFC 3720, B.4).
//
// Segment header, 32 bytes. The layout of the first 24 is that of every format
// version, so that a program can tell a segment of another version from a damaged
// one.
//
//	 0             8               16        20        24        28        32
//	+-------------+---------------+---------+---------+---------+---------+
//	| "FOOTFLOG"  | first  uint64 | version | CRC     | size    | CRC     |
//	+-------------+---------------+---------+---------+---------+---------+
//	 first    position of the first record; also the file's name, 20 digits + ".log"
//	 CRC      of bytes 0 to 20
//	 size     of the file when it got its name, in units of 8 bytes: it is never shorter
//	 CRC      of bytes 0 to 28
//
// Record, 32 bytes and the payload:
//
//	 0        4        8          16       24      28      32        32+length
//	+--------+--------+----------+--------+-------+-------+---------+---------+
//	| length | sum    | position | synced | zeros | CRC   | payload | padding |
//	+--------+--------+----------+--------+-------+-------+---------+---------+
//	 length   of the payload in bytes, 1 to MaxPayload
//	 sum      CRC32C of the payload
//	 position uint64; one more than that of the record before
//	 synced   uint64; the log was synced up to this position when the record was
//	          written, so everything up to it must be there
//	 zeros    sectors of 512 bytes, counted from the file's beginning, that begin
//	          in the payload and in which all that belongs to it is zero
//	 CRC      of bytes 0 to 28
//	 padding  zeros to a multiple of 8
//
// A header of zeros ends the written part. No header is all zeros: length and
// position never are. The header has a checksum of its own because only a length
// that can be trusted says which sectors a record should fill.
//
// All of this is on disk: change nothing without a new formatVersion.
const (
	segmentMagic      = "FOOTFLOG"
	formatVersion     = 2
	segmentHeaderSize = 32
	recordHeaderSize  = 32
	recordAlignment   = 8
	sectorSize        = 512

	segmentNameDigits = 20
	segmentSuffix     = ".log"
)

// MaxPayload is the largest payload in bytes.
const MaxPayload = 32 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func segmentName(first sketch.Position) string {
	return fmt.Sprintf("%0*d%s", segmentNameDigits, uint64(first), segmentSuffix)
}

// parseSegmentName returns false for files that are no segments.
func parseSegmentName(name string) (sketch.Position, bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != segmentNameDigits {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return sketch.Position(first), err == nil && first > 0
}

type segmentHeader struct {
	first   sketch.Position
	version uint32
	size    int64 // in bytes; known where version is formatVersion
}

// encodeSegmentHeader takes the size of the file in bytes.
func encodeSegmentHeader(first sketch.Position, size int64) []byte {
	b := make([]byte, 0, segmentHeaderSize)
	b = append(b, segmentMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(first))
	b = binary.LittleEndian.AppendUint32(b, formatVersion)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	// Records end at multiples of the unit, so rounding down leaves none of them out.
	b = binary.LittleEndian.AppendUint32(b, uint32(min(size/recordAlignment, math.MaxUint32)))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeSegmentHeader returns false where b is not a segment header. The version
// is for the caller to judge.
func decodeSegmentHeader(b []byte) (segmentHeader, bool) {
	h := segmentHeader{
		first:   sketch.Position(binary.LittleEndian.Uint64(b[8:])),
		version: binary.LittleEndian.Uint32(b[16:]),
		size:    int64(binary.LittleEndian.Uint32(b[24:])) * recordAlignment,
	}
	ok := string(b[:8]) == segmentMagic &&
		crc32.Checksum(b[:20], castagnoli) == binary.LittleEndian.Uint32(b[20:]) &&
		(h.version != formatVersion || crc32.Checksum(b[:28], castagnoli) == binary.LittleEndian.Uint32(b[28:]))
	return h, ok
}

type recordHeader struct {
	length   uint32
	sum      uint32
	position sketch.Position
	synced   sketch.Position
	zeros    uint32
}

// recordSize returns the bytes a record fills, padding included.
func recordSize(payload int) int64 {
	return (recordHeaderSize + int64(payload) + recordAlignment - 1) &^ (recordAlignment - 1)
}

// appendRecord appends the record that will stand at offset of its segment.
func appendRecord(dst []byte, offset int64, position, synced sketch.Position, payload []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(payload, castagnoli))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(position))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(synced))
	dst = binary.LittleEndian.AppendUint32(dst, zeroSectors(offset+recordHeaderSize, payload))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	dst = append(dst, payload...)
	padding := recordSize(len(payload)) - recordHeaderSize - int64(len(payload))
	return append(dst, make([]byte, padding)...)
}

// decodeRecordHeader returns false where b is not a record header.
func decodeRecordHeader(b []byte) (recordHeader, bool) {
	h := recordHeader{
		length:   binary.LittleEndian.Uint32(b),
		sum:      binary.LittleEndian.Uint32(b[4:]),
		position: sketch.Position(binary.LittleEndian.Uint64(b[8:])),
		synced:   sketch.Position(binary.LittleEndian.Uint64(b[16:])),
		zeros:    binary.LittleEndian.Uint32(b[24:]),
	}
	// The cheap comparisons come first: a search for headers asks at every place.
	ok := h.length > 0 && h.length <= MaxPayload && h.synced < h.position &&
		crc32.Checksum(b[:28], castagnoli) == binary.LittleEndian.Uint32(b[28:])
	return h, ok
}

// zeroSectors counts the sectors that begin in the payload at offset and in which
// all that belongs to the payload is zero.
func zeroSectors(offset int64, payload []byte) uint32 {
	var n uint32
	begin := (sectorSize - offset%sectorSize) % sectorSize
	for begin < int64(len(payload)) {
		end := min(begin+sectorSize, int64(len(payload)))
		if allZero(payload[begin:end]) {
			n++
		}
		begin = end
	}
	return n
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
