package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The payload of a framed cell:
//
//	position     uvarint
//	views human  uvarint
//	views AI     uvarint
//	set human
//	set AI
//
// and a set, whose precision is that of the frame:
//
//	+---------------------+----------------------------------------------+
//	| count+1 (uvarint)   | count hashes, LE uint64, strictly ascending  |
//	+---------------------+----------------------------------------------+
//	| 0       (uvarint)   | 2^precision registers, a byte each           |
//	+---------------------+----------------------------------------------+
//
// A cell has one encoding only: a uvarint that is longer than need be is refused.
// Lengths are checked against the precision's limits before anything is
// allocated.

var errNumber = errors.New("a number is cut short or too long")

// AppendCell appends the framed cell, as it is stored under key, to dst.
func AppendCell(dst, key []byte, c *Cell) []byte {
	start := len(dst)
	dst = append(dst, frameVersion, byte(KindCell), byte(c.Visitors[Human].precision), 0, 0, 0, 0)
	dst = binary.AppendUvarint(dst, uint64(c.Position))
	dst = binary.AppendUvarint(dst, c.Views[Human])
	dst = binary.AppendUvarint(dst, c.Views[AI])
	dst = appendSet(dst, &c.Visitors[Human])
	dst = appendSet(dst, &c.Visitors[AI])
	sealFrame(dst[start:], key)
	return dst
}

func appendSet(dst []byte, s *Set) []byte {
	if !s.Exact() {
		dst = binary.AppendUvarint(dst, 0)
		return append(dst, s.dense...)
	}
	dst = binary.AppendUvarint(dst, uint64(s.count)+1)
	var few [64]Hash // Most sets are small: no allocation for them.
	for _, h := range s.appendSorted(few[:0]) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(h))
	}
	return dst
}

// DecodeCell reads the cell stored under key. Any failure is an ErrCorrupted
// that names the key.
func DecodeCell(key, value []byte) (*Cell, error) {
	p, payload, err := OpenFrame(key, KindCell, value)
	if err != nil {
		return nil, err
	}
	if !p.valid() {
		return nil, corrupted(key, "precision %d is not one in use", p)
	}
	c := NewCell(p)
	if _, err := c.mergePayload(payload); err != nil {
		return nil, corrupted(key, "%v", err)
	}
	return c, nil
}

// MergeEncoded adds the cell stored under key to c, as Merge after DecodeCell
// would, straight from its bytes, and returns the position of the stored cell.
// Any failure is an ErrCorrupted that names the key, and leaves c half merged:
// the caller gives the answer up.
func (c *Cell) MergeEncoded(key, value []byte) (Position, error) {
	p, payload, err := OpenFrame(key, KindCell, value)
	if err != nil {
		return 0, err
	}
	if p != c.Visitors[Human].precision {
		return 0, corrupted(key, "precision %d, expected %d", p, c.Visitors[Human].precision)
	}
	position, err := c.mergePayload(payload)
	if err != nil {
		return 0, corrupted(key, "%v", err)
	}
	return position, nil
}

// EncodedPosition returns the position of the cell stored under key without
// reading its sets. Any failure is an ErrCorrupted that names the key.
func EncodedPosition(key, value []byte) (Position, error) {
	_, payload, err := OpenFrame(key, KindCell, value)
	if err != nil {
		return 0, err
	}
	position, _, err := readNumber(payload)
	if err != nil {
		return 0, corrupted(key, "position: %v", err)
	}
	return Position(position), nil
}

func (c *Cell) mergePayload(b []byte) (Position, error) {
	var numbers [3]uint64
	for i := range numbers {
		var err error
		if numbers[i], b, err = readNumber(b); err != nil {
			return 0, fmt.Errorf("number %d: %w", i, err)
		}
	}
	for _, t := range [...]Traffic{Human, AI} {
		rest, err := c.Visitors[t].mergeEncoded(b)
		if err != nil {
			return 0, fmt.Errorf("%v set: %w", t, err)
		}
		b = rest
	}
	if len(b) > 0 {
		return 0, fmt.Errorf("%d bytes follow the cell", len(b))
	}
	position := Position(numbers[0])
	c.Position = max(c.Position, position)
	c.Views[Human] += numbers[1]
	c.Views[AI] += numbers[2]
	return position, nil
}

// mergeEncoded adds the visitors of the encoded set at the start of b and
// returns what follows it.
func (s *Set) mergeEncoded(b []byte) ([]byte, error) {
	header, b, err := readNumber(b)
	if err != nil {
		return nil, fmt.Errorf("length: %w", err)
	}
	if header == 0 {
		size := s.precision.Registers()
		if len(b) < size {
			return nil, fmt.Errorf("%d bytes of registers, expected %d", len(b), size)
		}
		stored := registers(b[:size])
		if !stored.valid(s.precision) {
			return nil, fmt.Errorf("a register exceeds %d", s.precision.maxRegister())
		}
		s.turnDense()
		s.dense.merge(stored)
		return b[size:], nil
	}

	count := header - 1
	if count > uint64(s.precision.ExactLimit()) {
		return nil, fmt.Errorf("%d hashes exceed the limit of %d", count, s.precision.ExactLimit())
	}
	if uint64(len(b)) < 8*count {
		return nil, fmt.Errorf("%d bytes of hashes, expected %d", len(b), 8*count)
	}
	if s.Empty() && count > 0 {
		s.grow(int(count))
	}
	var last uint64
	for i := range count {
		h := binary.LittleEndian.Uint64(b[8*i:])
		if i > 0 && h <= last {
			return nil, fmt.Errorf("hash %d is not above the one before it", i)
		}
		s.Add(Hash(h))
		last = h
	}
	return b[8*count:], nil
}

// readNumber reads the uvarint at the start of b and returns what follows it.
func readNumber(b []byte) (value uint64, rest []byte, err error) {
	value, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, nil, errNumber
	}
	return value, b[n:], nil
}
