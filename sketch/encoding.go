package sketch

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A set is stored as its visitors, and how it is read follows from its count:
//
//	+----------------------------------------------+
//	| count hashes, LE uint64, strictly ascending  |  count <= ExactLimit
//	+----------------------------------------------+
//	| 2^precision registers, a byte each           |  count > ExactLimit
//	+----------------------------------------------+
//
// The count stands beside it, in the table or the root that refers to it, and is
// what Count returns: an estimate is never at or below the exact limit. So a
// ranking learns from the counts alone what it must read.

// EncodedSize returns how many bytes an encoded set of so many visitors takes.
func (p Precision) EncodedSize(count uint64) int {
	if count <= uint64(p.ExactLimit()) {
		return 8 * int(count)
	}
	return p.Registers()
}

// AppendEncoded appends the encoded set to dst.
func (s *Set) AppendEncoded(dst []byte) []byte {
	if !s.Exact() {
		return append(dst, s.dense...)
	}
	var few [64]Hash // Most sets are small: no allocation for them.
	dst = slices.Grow(dst, 8*s.count)
	for _, h := range s.appendSorted(few[:0]) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(h))
	}
	return dst
}

// checkSize returns an error where b has not the size of a set with that count.
func (p Precision) checkSize(b []byte, count uint64) error {
	if size := p.EncodedSize(count); len(b) != size {
		return fmt.Errorf("a set of %d visitors takes %d bytes, not %d", count, size, len(b))
	}
	return nil
}

func (p Precision) errRegister() error {
	return fmt.Errorf("a register exceeds %d", p.maxRegister())
}

// checkOrder returns an error where an encoded hash is not above the one before it.
func checkOrder(b []byte) error {
	var last uint64
	for i := 0; i+8 <= len(b); i += 8 {
		h := binary.LittleEndian.Uint64(b[i:])
		if h <= last && i > 0 {
			return fmt.Errorf("hash %d is not above the one before it", i/8)
		}
		last = h
	}
	return nil
}

// MergeEncoded puts every visitor of an encoded set into the set. The error says
// that b is not an encoded set with that count; the set is as it was then.
func (s *Set) MergeEncoded(b []byte, count uint64) error {
	if err := s.precision.checkSize(b, count); err != nil {
		return err
	}
	if count > uint64(s.precision.ExactLimit()) {
		if !registers(b).valid(s.precision) {
			return s.precision.errRegister()
		}
		s.turnDense()
		s.dense.merge(registers(b))
		return nil
	}
	if err := checkOrder(b); err != nil {
		return err
	}
	if s.Empty() && count > 0 {
		s.grow(int(count)) // At once, instead of step by step.
	}
	for i := 0; i < len(b); i += 8 {
		s.Add(Hash(binary.LittleEndian.Uint64(b[i:])))
	}
	return nil
}
