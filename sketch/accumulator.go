package sketch

import "encoding/binary"

// Accumulator unites the human and the AI sets of a path, or of the site, one
// path after the other in memory that it keeps. What it counts is what a Cell
// counts that the same sets were merged into. It is not safe for concurrent use.
//
// It exists because a ranking unites thousands of paths: a Cell for each would
// cost an allocation of up to 32 KiB, and growing its tables step by step as much
// again as uniting.
type Accumulator struct {
	precision Precision
	sets      [2]Set
	tables    [2][]Hash    // what sets use for tables
	dense     [2]registers // what sets use for registers
	both      registers    // what the total of dense sets is counted in
}

// NewAccumulator returns an empty accumulator.
func NewAccumulator(p Precision) *Accumulator {
	a := &Accumulator{precision: p}
	a.Reset([2]uint64{})
	return a
}

// Reset empties the accumulator. expected is the sum of the counts, by Traffic, of
// what will be added: no more visitors than that may come.
func (a *Accumulator) Reset(expected [2]uint64) {
	for t := range a.sets {
		a.sets[t] = Set{precision: a.precision}
		count := min(expected[t], uint64(a.precision.ExactLimit()))
		if count == 0 {
			continue
		}
		// Half full at most: twice the memory of what a Set would take, which is
		// for one path at a time, and fewer steps for each hash.
		size := 4
		for size < 2*int(count) {
			size *= 2
		}
		if cap(a.tables[t]) < size {
			a.tables[t] = make([]Hash, size)
		}
		a.sets[t].table = a.tables[t][:size]
		clear(a.sets[t].table)
	}
}

// AddEncoded adds an encoded set. The error says that b is not an encoded set with
// that count; the accumulator is as it was then. Sets with many visitors are best
// added first: what is added to registers costs least.
func (a *Accumulator) AddEncoded(t Traffic, b []byte, count uint64) error {
	if err := a.precision.checkSize(b, count); err != nil {
		return err
	}
	if count > uint64(a.precision.ExactLimit()) {
		if !registers(b).valid(a.precision) {
			return a.precision.errRegister()
		}
		a.addRegisters(t, registers(b))
		return nil
	}
	if err := checkOrder(b); err != nil {
		return err
	}
	if a.sets[t].dense == nil {
		b = a.addHashes(t, b)
	}
	for ; len(b) >= 8; b = b[8:] {
		a.sets[t].dense.add(a.precision, Hash(binary.LittleEndian.Uint64(b)))
	}
	return nil
}

// addHashes adds encoded hashes to a set that is exact, and returns those that are
// left where it turns dense. It is Set.Add in a loop, with what stays the same
// outside of it: most of what a ranking does with small sets happens here.
func (a *Accumulator) addHashes(t Traffic, b []byte) []byte {
	set, limit := &a.sets[t], a.precision.ExactLimit()
	// No table fills up: whoever expected fewer visitors gets a larger one.
	if most := min(set.count+len(b)/8, limit); 4*most > 3*len(set.table) {
		set.grow(most)
	}
	table, mask := set.table, Hash(len(set.table)-1)
	for ; len(b) >= 8; b = b[8:] {
		h := Hash(binary.LittleEndian.Uint64(b))
		if h == 0 {
			a.addHash(t, 0)
			if set.dense != nil {
				return b
			}
			continue
		}
		slot := h & mask
		for table[slot] != 0 && table[slot] != h {
			slot = (slot + 1) & mask
		}
		if table[slot] == h {
			continue
		}
		if set.count == limit {
			a.turnDense(t)
			return b
		}
		table[slot] = h
		set.count++
	}
	return nil
}

// AddSet adds a set, which has the same precision; one of another is a mistake in
// the program and panics.
func (a *Accumulator) AddSet(t Traffic, other *Set) {
	if other.precision != a.precision {
		panic("sketch: a set of another precision than its accumulator")
	}
	if other.dense != nil {
		a.addRegisters(t, other.dense)
		return
	}
	for h := range other.hashes() {
		if dense := a.sets[t].dense; dense != nil {
			dense.add(a.precision, h)
		} else {
			a.addHash(t, h)
		}
	}
}

// AddCell adds both sets of a cell.
func (a *Accumulator) AddCell(c *Cell) {
	a.AddSet(Human, &c.Visitors[Human])
	a.AddSet(AI, &c.Visitors[AI])
}

// addHash adds a hash to a set that is exact.
func (a *Accumulator) addHash(t Traffic, h Hash) {
	set := &a.sets[t]
	slot, found := set.find(h)
	switch {
	case found:
	case set.count == a.precision.ExactLimit():
		a.turnDense(t)
		set.dense.add(a.precision, h)
	default:
		set.insert(slot, h)
	}
}

func (a *Accumulator) addRegisters(t Traffic, other registers) {
	set := &a.sets[t]
	if set.dense == nil && set.Empty() {
		a.dense[t] = append(a.dense[t][:0], other...)
		set.dense = a.dense[t]
		return
	}
	a.turnDense(t)
	set.dense.merge(other)
}

func (a *Accumulator) turnDense(t Traffic) {
	set := &a.sets[t]
	if set.dense != nil {
		return
	}
	if a.dense[t] == nil {
		a.dense[t] = make(registers, a.precision.Registers())
	}
	clear(a.dense[t])
	for h := range set.hashes() {
		a.dense[t].add(a.precision, h)
	}
	*set = Set{precision: a.precision, dense: a.dense[t]}
}

// Count returns the distinct visitors of all that was added.
func (a *Accumulator) Count() Count {
	human, ai := &a.sets[Human], &a.sets[AI]
	if human.Exact() && ai.Exact() {
		count := Count{Human: human.Count(), AI: ai.Count()}
		count.Total = a.exactTotal(human, ai)
		return count.bounded()
	}
	var histograms [2]histogram
	var counts [2]uint64
	for t := range a.sets {
		if set := &a.sets[t]; set.Exact() {
			counts[t] = set.Count()
		} else {
			histograms[t] = set.dense.histogram()
			counts[t] = a.precision.estimateHistogram(&histograms[t])
		}
	}
	count := Count{Human: counts[Human], AI: counts[AI]}
	count.Total = a.total(human, ai, &histograms)
	return count.bounded()
}

// exactTotal is Set.UnionCount of two exact sets, in memory that is kept.
func (a *Accumulator) exactTotal(human, ai *Set) uint64 {
	if most := human.count + ai.count; most <= a.precision.ExactLimit() {
		return human.UnionCount(ai)
	}
	union := human.count
	for h := range ai.hashes() {
		if !human.contains(h) {
			union++
		}
	}
	if union <= a.precision.ExactLimit() {
		return uint64(union)
	}
	a.both = append(a.both[:0], make(registers, a.precision.Registers())...)
	for _, set := range [...]*Set{human, ai} {
		for h := range set.hashes() {
			a.both.add(a.precision, h)
		}
	}
	return a.precision.estimate(a.both)
}

// total is Set.UnionCount, of which one at least is dense, in memory that is kept.
func (a *Accumulator) total(human, ai *Set, histograms *[2]histogram) uint64 {
	dense, other, h := human, ai, &histograms[Human]
	if human.Exact() {
		dense, other, h = ai, human, &histograms[AI]
	}
	a.both = append(a.both[:0], dense.dense...)
	if other.Exact() {
		// Few registers rise: what they do to the histogram costs less than a new one.
		for v := range other.hashes() {
			index, rank := a.precision.register(v)
			if before := a.both[index]; rank > before {
				a.both[index] = rank
				h[before]--
				h[rank]++
			}
		}
		return a.precision.estimateHistogram(h)
	}
	a.both.merge(other.dense)
	return a.precision.estimate(a.both)
}

// AppendEncoded appends the encoded set of one kind of traffic to dst.
func (a *Accumulator) AppendEncoded(dst []byte, t Traffic) []byte {
	return a.sets[t].AppendEncoded(dst)
}
