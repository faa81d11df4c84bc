package sketch

import (
	"encoding/binary"
	"math/bits"
)

// registers are dense HyperLogLog registers, one byte each, 2^p of them. They
// are equal, byte for byte, to those of github.com/axiomhq/hyperloglog for the
// same hashes; a test holds them against it.
type registers []byte

func (r registers) add(p Precision, h Hash) (changed bool) {
	index, rank := p.register(h)
	if rank <= r[index] {
		return false
	}
	r[index] = rank
	return true
}

// register returns which register a hash belongs to, and the value that it has at
// least with it.
func (p Precision) register(h Hash) (index Hash, rank uint8) {
	// The sentinel bit bounds the count of zeros for a hash whose other bits
	// are all zero.
	rest := uint64(h)<<p | 1<<(p-1)
	return h >> (64 - p), uint8(bits.LeadingZeros64(rest)) + 1
}

// merge raises each register of r to that of other, eight at a time. No
// register exceeds 64, so the high bit of every byte is free to carry the
// comparison: (a|0x80)-b keeps it exactly where a >= b, and no byte borrows
// from its neighbour. A loop over single bytes is six times slower.
func (r registers) merge(other registers) {
	const high = 0x8080808080808080
	for i := 0; i+8 <= len(r) && i+8 <= len(other); i += 8 {
		a := binary.LittleEndian.Uint64(r[i:])
		b := binary.LittleEndian.Uint64(other[i:])
		keep := ((((a | high) - b) & high) >> 7) * 0xff
		binary.LittleEndian.PutUint64(r[i:], a&keep|b&^keep)
	}
}

// valid reports whether every register is one that some hash could have set,
// eight at a time: adding 127-limit sets the high bit of each byte that exceeds
// the limit, if it was not set before. A byte that overflows has it set before,
// so what it carries into its neighbour changes no answer.
func (r registers) valid(p Precision) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	room := uint64(0x7f-p.maxRegister()) * ones
	var exceeding uint64
	for i := 0; i+8 <= len(r); i += 8 {
		b := binary.LittleEndian.Uint64(r[i:])
		exceeding |= b | (b + room)
	}
	return exceeding&high == 0
}

// histogram counts how many registers have each value. Neighbouring registers often
// have the same one, so counting all in one table waits for each count to be
// written before the next: four tables take a third of the time.
func (r registers) histogram() histogram {
	var parts [4]histogram
	for i := 0; i+8 <= len(r); i += 8 {
		b := binary.LittleEndian.Uint64(r[i:])
		parts[0][uint8(b)]++
		parts[1][uint8(b>>8)]++
		parts[2][uint8(b>>16)]++
		parts[3][uint8(b>>24)]++
		parts[0][uint8(b>>32)]++
		parts[1][uint8(b>>40)]++
		parts[2][uint8(b>>48)]++
		parts[3][uint8(b>>56)]++
	}
	h := parts[0]
	for value := range h {
		h[value] += parts[1][value] + parts[2][value] + parts[3][value]
	}
	return h
}
