package sketch

import (
	"iter"
	"slices"
)

// Set holds distinct visitors. Up to its precision's ExactLimit it holds their
// hashes and its count is exact; one visitor more, and it turns into
// HyperLogLog registers for good.
//
// Which of the two it is depends on the visitors alone, never on the order or
// the grouping in which they came: so counts do not depend on how days were
// merged, on restarts or on caches. The obvious alternatives break that. Keeping
// an exact number that happens to be at hand makes the answer depend on what was
// cached; axiomhq's sparse form turns dense by its size in bytes, when it
// compacts, which depends on the route.
//
// The zero Set is not usable; make one with NewSet. A Set is not safe for
// concurrent writing; concurrent reading is safe.
type Set struct {
	precision Precision
	zero      bool // the hash 0 is in the set
	// table is an open-addressing hash table with linear probing whose length
	// is a power of two. The hashes are keyed and uniform, so their low bits
	// serve as they are. Zero marks a free slot; the hash 0 itself is in zero.
	table []Hash
	count int       // of hashes, the hash 0 included; 0 once dense
	dense registers // nil while exact
}

// NewSet returns an empty set of the given precision.
func NewSet(p Precision) *Set {
	return &Set{precision: p}
}

// Exact reports whether the set's count is exact.
func (s *Set) Exact() bool { return s.dense == nil }

// Empty reports whether the set holds no visitor.
func (s *Set) Empty() bool { return s.Exact() && s.count == 0 }

// Count returns the number of distinct visitors: exact, or an estimate once the
// set has outgrown its exact limit. An estimate is never below that limit plus
// one, because a set is dense only when it holds at least that many: without
// this floor the count could fall at the turn.
func (s *Set) Count() uint64 {
	if s.Exact() {
		return uint64(s.count)
	}
	return s.precision.estimate(s.dense)
}

// Most returns a number that the set's count does not exceed, at once: while it
// is exact the count, else the largest there is.
func (s *Set) Most() uint64 {
	if s.Exact() {
		return uint64(s.count)
	}
	return maxEstimate
}

func (p Precision) estimate(r registers) uint64 {
	h := r.histogram()
	return p.estimateHistogram(&h)
}

func (p Precision) estimateHistogram(h *histogram) uint64 {
	return max(h.estimate(p), uint64(p.ExactLimit())+1)
}

// Add puts a visitor into the set.
func (s *Set) Add(h Hash) {
	if s.dense != nil {
		s.dense.add(s.precision, h)
		return
	}
	slot, found := s.find(h)
	switch {
	case found:
	case s.count == s.precision.ExactLimit():
		s.turnDense()
		s.dense.add(s.precision, h)
	default:
		s.insert(slot, h)
	}
}

// Merge puts every visitor of other into the set. Both must have the same
// precision, which those of one path, or of one site, have by construction;
// sets of different precision are a mistake in the program and panic.
func (s *Set) Merge(other *Set) {
	if s.precision != other.precision {
		panic("sketch: merge of sets of different precision")
	}
	if other.dense != nil {
		s.turnDense()
		s.dense.merge(other.dense)
		return
	}
	// Hashes come in the order of other's table, which would crowd the first
	// slots of a smaller one.
	if s.Empty() && !other.Empty() {
		s.grow(other.count)
	}
	for h := range other.hashes() {
		s.Add(h)
	}
}

// UnionCount returns the number of distinct visitors in either set, as Count
// would after a Merge, and changes neither.
func (s *Set) UnionCount(other *Set) uint64 {
	if s.Exact() && other.Exact() {
		large, small := s, other
		if large.count < small.count {
			large, small = small, large
		}
		union := large.count
		for h := range small.hashes() {
			if !large.contains(h) {
				union++
			}
		}
		if union <= s.precision.ExactLimit() {
			return uint64(union)
		}
	}
	united := s.Clone()
	united.Merge(other)
	return united.Count()
}

// Clone returns a copy that shares nothing with the set.
func (s *Set) Clone() *Set {
	clone := *s
	clone.table = slices.Clone(s.table)
	clone.dense = slices.Clone(s.dense)
	return &clone
}

// Equal reports whether both sets are built from the same visitors, as far as
// their representation can tell.
func (s *Set) Equal(other *Set) bool {
	return s.precision == other.precision &&
		s.Exact() == other.Exact() &&
		slices.Equal(s.dense, other.dense) &&
		slices.Equal(s.sorted(), other.sorted())
}

// MemoryBytes returns about how much memory the set occupies.
func (s *Set) MemoryBytes() int {
	const header = 64
	return header + 8*cap(s.table) + cap(s.dense)
}

func (s *Set) turnDense() {
	if s.dense != nil {
		return
	}
	dense := make(registers, s.precision.Registers())
	for h := range s.hashes() {
		dense.add(s.precision, h)
	}
	s.dense = dense
	s.table, s.count, s.zero = nil, 0, false
}

func (s *Set) contains(h Hash) bool {
	_, found := s.find(h)
	return found
}

// find returns whether the table contains a hash, and the slot where it stands
// or would go while the table does not grow.
func (s *Set) find(h Hash) (slot Hash, found bool) {
	if h == 0 {
		return 0, s.zero
	}
	if len(s.table) == 0 {
		return 0, false
	}
	mask := Hash(len(s.table) - 1)
	for slot = h & mask; s.table[slot] != 0; slot = (slot + 1) & mask {
		if s.table[slot] == h {
			return slot, true
		}
	}
	return slot, false
}

// insert adds a hash that the table does not contain, and whose slot find
// returned.
func (s *Set) insert(slot, h Hash) {
	s.count++
	switch {
	case h == 0:
		s.zero = true
	case 4*s.count > 3*len(s.table):
		s.grow(s.count)
		s.place(h)
	default:
		s.table[slot] = h
	}
}

func (s *Set) place(h Hash) {
	slot, _ := s.find(h)
	s.table[slot] = h
}

// grow makes room for count hashes at a load of three quarters at most.
func (s *Set) grow(count int) {
	size := 4
	for 4*count > 3*size {
		size *= 2
	}
	old := s.table
	s.table = make([]Hash, size)
	for _, h := range old {
		if h != 0 {
			s.place(h)
		}
	}
}

// hashes yields those of an exact set, in no order. It is small enough to be
// inlined, and so costs what a loop over the table costs.
func (s *Set) hashes() iter.Seq[Hash] {
	return func(yield func(Hash) bool) {
		if s.zero && !yield(0) {
			return
		}
		for _, h := range s.table {
			if h != 0 && !yield(h) {
				return
			}
		}
	}
}

// sorted returns the hashes of an exact set in ascending order.
func (s *Set) sorted() []Hash { return s.appendSorted(nil) }

func (s *Set) appendSorted(hashes []Hash) []Hash {
	hashes = slices.Grow(hashes, s.count)
	if s.zero {
		hashes = append(hashes, 0)
	}
	for _, h := range s.table {
		if h != 0 {
			hashes = append(hashes, h)
		}
	}
	slices.Sort(hashes)
	return hashes
}
