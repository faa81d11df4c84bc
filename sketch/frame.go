package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Every stored value is framed:
//
//	 0         1      2           3                    7
//	+---------+------+-----------+--------------------+-----------+
//	| version | kind | precision | CRC32C (LE uint32) | payload   |
//	+---------+------+-----------+--------------------+-----------+
//
// The checksum covers the key, version, kind, precision and payload. It covers
// the key because a value that is intact but stands under the wrong key is as
// wrong as a damaged one. Bit flips inside a set decode silently in three cases
// of four; the checksum is what finds them.
const (
	frameVersion    = 1
	frameHeaderSize = 7
)

// Kind says what a framed value is. The numbers are stored; never renumber or
// reuse one. They stand with their key prefixes in internal/database.
type Kind uint8

// ErrCorrupted is matched by the error of every value that does not decode. The
// error itself is a *CorruptionError and names the key.
var ErrCorrupted = errors.New("stored value is corrupted")

// CorruptionError names a stored value that does not decode.
type CorruptionError struct {
	Key    []byte
	Reason string
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("stored value of key %q is corrupted: %s", e.Key, e.Reason)
}

// Is makes errors.Is(err, ErrCorrupted) hold.
func (e *CorruptionError) Is(target error) bool { return target == ErrCorrupted }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendFrame appends the framed payload to dst. Values without registers have
// precision 0.
func AppendFrame(dst, key []byte, kind Kind, p Precision, payload []byte) []byte {
	start := len(dst)
	dst = append(dst, frameVersion, byte(kind), byte(p), 0, 0, 0, 0)
	dst = append(dst, payload...)
	sealFrame(dst[start:], key)
	return dst
}

func sealFrame(frame, key []byte) {
	binary.LittleEndian.PutUint32(frame[3:], frameSum(frame, key))
}

func frameSum(frame, key []byte) uint32 {
	sum := crc32.Update(0, castagnoli, key)
	sum = crc32.Update(sum, castagnoli, frame[:3])
	return crc32.Update(sum, castagnoli, frame[frameHeaderSize:])
}

// OpenFrame checks a framed value and returns its precision and payload, which
// points into value. Any failure is an ErrCorrupted that names the key.
func OpenFrame(key []byte, kind Kind, value []byte) (Precision, []byte, error) {
	if len(value) < frameHeaderSize {
		return 0, nil, Corrupted(key, "%d bytes are too few for a frame", len(value))
	}
	if got, want := frameSum(value, key), binary.LittleEndian.Uint32(value[3:]); got != want {
		return 0, nil, Corrupted(key, "checksum is %08x, expected %08x", got, want)
	}
	if value[0] != frameVersion {
		return 0, nil, Corrupted(key, "format version %d, expected %d", value[0], frameVersion)
	}
	if Kind(value[1]) != kind {
		return 0, nil, Corrupted(key, "kind %d, expected %d", value[1], kind)
	}
	return Precision(value[2]), value[frameHeaderSize:], nil
}

// Corrupted returns the error of a value that does not decode, or is missing.
func Corrupted(key []byte, format string, args ...any) error {
	return &CorruptionError{Key: append([]byte(nil), key...), Reason: fmt.Sprintf(format, args...)}
}
