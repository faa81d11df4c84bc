package store

import (
	"iter"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/part"
	"footfall/sketch"
)

// readRoots reads the roots of parts that their directory names.
func readRoots(txn *badger.Txn, ids []part.ID) ([]*part.Root, error) {
	roots := make([]*part.Root, len(ids))
	for i, id := range ids {
		root, err := part.ReadRoot(txn, id)
		if err != nil {
			return nil, err
		}
		if root == nil {
			return nil, part.Missing(id)
		}
		roots[i] = root
	}
	return roots, nil
}

// groupNumbers returns the numbers of the groups that parts have, in order.
func groupNumbers(roots []*part.Root) []uint32 {
	var numbers []uint32
	for _, root := range roots {
		for _, g := range root.Groups {
			numbers = append(numbers, g.Number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// groupUnion unites the cells of one group of paths: those in several parts, and
// those of the overlays. It is used for one group after the other, by one
// goroutine.
type groupUnion struct {
	reader  part.Reader
	roots   []*part.Root
	sources []part.GroupReader // those of the parts that have the group

	// What a part, or one day of an overlay, has of a path is a piece. The first
	// pieces are the rows, with the index of their source; the others are the cells.
	rows  []part.Row
	from  []int32
	cells []numberedCell
	// heads is by slot where a path's list of pieces begins, and next where it goes
	// on, both one more than an index; 0 ends it.
	heads [part.GroupPaths]int32
	next  []int32

	union *sketch.Accumulator
}

func newGroupUnion(reader part.Reader, roots []*part.Root) *groupUnion {
	return &groupUnion{reader: reader, roots: roots, union: sketch.NewAccumulator(sketch.PathPrecision)}
}

// load reads the tables of a group. cells are those of the overlays in it.
func (u *groupUnion) load(number uint32, cells []numberedCell) error {
	u.heads = [part.GroupPaths]int32{}
	u.sources, u.rows, u.from, u.next = u.sources[:0], u.rows[:0], u.from[:0], u.next[:0]
	for _, root := range u.roots {
		group, found := root.Find(number)
		if !found {
			continue
		}
		source := len(u.sources)
		u.sources = append(u.sources, u.reader.Group(root.ID, group))
		var err error
		if u.rows, err = u.sources[source].Table(u.rows); err != nil {
			return err
		}
		for i := len(u.from); i < len(u.rows); i++ {
			u.from = append(u.from, int32(source))
			u.link(u.rows[i].Slot)
		}
	}
	u.cells = cells
	for _, c := range cells {
		_, slot := part.GroupOf(c.number)
		u.link(slot)
	}
	return nil
}

// link puts the next piece into the list of its path.
func (u *groupUnion) link(slot uint8) {
	u.next = append(u.next, u.heads[slot])
	u.heads[slot] = int32(len(u.next))
}

// has reports whether there is a piece of a path.
func (u *groupUnion) has(slot uint8) bool { return u.heads[slot] > 0 }

// pieces yields those of a path: a row with the index of its source, or a cell.
func (u *groupUnion) pieces(slot uint8) iter.Seq2[int, *sketch.Cell] {
	return func(yield func(int, *sketch.Cell) bool) {
		for at := u.heads[slot]; at > 0; at = u.next[at-1] {
			i := int(at - 1)
			var cell *sketch.Cell
			if i >= len(u.rows) {
				cell = u.cells[i-len(u.rows)].cell
			}
			if !yield(i, cell) {
				return
			}
		}
	}
}

// single returns the row that is all there is of a path, or nil.
func (u *groupUnion) single(slot uint8) (row *part.Row, source *part.GroupReader) {
	if i := int(u.heads[slot]) - 1; u.next[i] == 0 && i < len(u.rows) {
		return &u.rows[i], &u.sources[u.from[i]]
	}
	return nil, nil
}

// views returns the page views of a path.
func (u *groupUnion) views(slot uint8) (views [2]uint64) {
	for i, cell := range u.pieces(slot) {
		if cell != nil {
			views = addViews(views, cell.Views)
		} else {
			views = addViews(views, u.rows[i].Views)
		}
	}
	return views
}

// most returns a number that the total of a path does not exceed. It is the sum of
// what the pieces have, which holds for exact sets. Where the union may be an
// estimate, so may be what is summed, and an estimate may exceed the sum of those
// of its parts. Each has a standard error of 0.81 %: an eighth more is beyond
// seven of them on either side.
func (u *groupUnion) most(slot uint8) uint64 {
	if row, _ := u.single(slot); row != nil {
		return row.Count.Total
	}
	var sum uint64
	for i, cell := range u.pieces(slot) {
		if cell != nil {
			sum += cell.Visitors[sketch.Human].Count() + cell.Visitors[sketch.AI].Count()
		} else {
			sum += u.rows[i].Count.Total
		}
	}
	if sum > uint64(sketch.PathPrecision.ExactLimit()) {
		sum += sum / 8
	}
	return sum
}

// count returns the distinct visitors of a path.
func (u *groupUnion) count(slot uint8) (sketch.Count, error) {
	if row, _ := u.single(slot); row != nil {
		return row.Count, nil
	}
	if err := u.unite(slot); err != nil {
		return sketch.Count{}, err
	}
	return u.union.Count(), nil
}

// unite puts the visitors of a path into the accumulator.
func (u *groupUnion) unite(slot uint8) error {
	var most [2]uint64
	for i, cell := range u.pieces(slot) {
		if cell != nil {
			most = expected(sketch.Count{Human: most[sketch.Human], AI: most[sketch.AI]}, cell)
		} else {
			most[sketch.Human] += u.rows[i].Count.Human
			most[sketch.AI] += u.rows[i].Count.AI
		}
	}
	u.union.Reset(most)
	// One kind of traffic after the other: the table of one stays in the processor's
	// nearest cache. And registers first: the hashes of other pieces then raise some of
	// them, and stand in no table before.
	for _, t := range [...]sketch.Traffic{sketch.Human, sketch.AI} {
		for _, dense := range [...]bool{true, false} {
			for i, cell := range u.pieces(slot) {
				if cell != nil {
					if cell.Visitors[t].Exact() != dense {
						u.union.AddSet(t, &cell.Visitors[t])
					}
					continue
				}
				row := &u.rows[i]
				if row.Count.Of(t) > uint64(sketch.PathPrecision.ExactLimit()) != dense {
					continue
				}
				if err := u.sources[u.from[i]].Accumulate(u.union, t, row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// write writes a path into a part, if there is a piece of it.
func (u *groupUnion) write(w *part.GroupWriter, slot uint8) error {
	if !u.has(slot) {
		return nil
	}
	if row, source := u.single(slot); row != nil {
		sets, err := source.Sets(row)
		if err != nil {
			return err
		}
		return w.Sets(slot, row.Numbers, sets)
	}
	if err := u.unite(slot); err != nil {
		return err
	}
	return w.Union(slot, u.views(slot), u.union)
}

// release lets go of what the union refers to, but for the memory that it works in.
func (u *groupUnion) release() {
	u.reader, u.roots, u.cells = part.Reader{}, nil, nil
	clear(u.sources)
}
