package ingest

import (
	"bytes"
	"hash/maphash"
)

// pathTable numbers the normalised paths of one batch: each stands in it once,
// however many events have it. It is kept from one batch to the next, and keeps
// its memory but no path.
//
// A map from strings would take an allocation for every new path of every batch,
// and remembering paths across batches would take memory for as many as anyone
// cares to send.
type pathTable struct {
	seed  maphash.Seed
	text  []byte // of all paths, one after the other
	paths [][]byte
	slots []uint32 // open addressing, a power of two long; index + 1, 0 for none
	own   []byte   // scratch for a path that has to be normalised
}

// What a table keeps for the next batch is bounded.
const (
	minSlots    = 256
	maxKeptText = 256 << 10
	maxSlots    = 32 << 10
)

func newPathTable() *pathTable {
	return &pathTable{seed: maphash.MakeSeed(), slots: make([]uint32, minSlots)}
}

func (t *pathTable) reset() {
	if cap(t.text) > maxKeptText || len(t.slots) > maxSlots {
		t.text, t.paths, t.slots = nil, nil, make([]uint32, minSlots)
		return
	}
	if len(t.paths) > 0 {
		clear(t.slots)
	}
	t.text, t.paths = t.text[:0], t.paths[:0]
}

// normalise returns the normal form of a path as it was sent. It is valid until
// the next call.
func (t *pathTable) normalise(raw []byte) ([]byte, error) {
	if isNormalPath(raw) {
		return raw, nil
	}
	normal, err := appendPath(t.own[:0], raw)
	t.own = normal
	return normal, err
}

// number returns the number of a normalised path, and keeps a copy of one that is
// new.
func (t *pathTable) number(path []byte) uint32 {
	mask := uint64(len(t.slots) - 1)
	slot := maphash.Bytes(t.seed, path) & mask
	for ; t.slots[slot] != 0; slot = (slot + 1) & mask {
		if number := t.slots[slot] - 1; bytes.Equal(t.paths[number], path) {
			return number
		}
	}
	number := uint32(len(t.paths))
	start := len(t.text)
	t.text = append(t.text, path...)
	t.paths = append(t.paths, t.text[start:len(t.text):len(t.text)])
	t.slots[slot] = number + 1
	if 2*len(t.paths) > len(t.slots) {
		t.grow()
	}
	return number
}

func (t *pathTable) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for number, path := range t.paths {
		slot := maphash.Bytes(t.seed, path) & mask
		for t.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot] = uint32(number) + 1
	}
}
