package store

import (
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

// groupNumbers returns the numbers of the groups that parts or cells have, in
// order. The cells are in the order of their paths' numbers.
func groupNumbers(roots []*part.Root, cells []numberedCell) []uint32 {
	var numbers []uint32
	for _, root := range roots {
		for _, g := range root.Groups {
			numbers = append(numbers, g.Number)
		}
	}
	for _, c := range cells {
		group, _ := part.GroupOf(c.number)
		if last := len(numbers) - 1; last < 0 || numbers[last] != group {
			numbers = append(numbers, group)
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

	// heads are by slot where its list of pieces begins, 0 where it has none. What
	// an index of pieces stands for is one more.
	heads  [part.GroupPaths]int32
	pieces []piece
	rows   []part.Row
	union  *sketch.Accumulator
}

// piece is what one part, or one day of an overlay, has of a path.
type piece struct {
	next   int32
	source int32        // index of the part; without meaning for a cell
	cell   *sketch.Cell // nil for a row of a part
	row    part.Row
}

func newGroupUnion(reader part.Reader, roots []*part.Root) *groupUnion {
	return &groupUnion{reader: reader, roots: roots, union: sketch.NewAccumulator(sketch.PathPrecision)}
}

// load reads the tables of a group. cells are those of the overlays in it.
func (u *groupUnion) load(number uint32, cells []numberedCell) error {
	u.heads = [part.GroupPaths]int32{}
	u.pieces = u.pieces[:0]
	u.sources = u.sources[:0]
	for _, root := range u.roots {
		group, found := root.Find(number)
		if !found {
			continue
		}
		u.sources = append(u.sources, u.reader.Group(root.ID, group))
		var err error
		if u.rows, err = u.sources[len(u.sources)-1].Table(u.rows[:0]); err != nil {
			return err
		}
		for _, row := range u.rows {
			u.add(row.Slot, piece{source: int32(len(u.sources) - 1), row: row})
		}
	}
	for _, c := range cells {
		_, slot := part.GroupOf(c.number)
		u.add(slot, piece{cell: c.cell})
	}
	return nil
}

func (u *groupUnion) add(slot uint8, p piece) {
	p.next = u.heads[slot]
	u.pieces = append(u.pieces, p)
	u.heads[slot] = int32(len(u.pieces))
}

// views returns the page views of a path.
func (u *groupUnion) views(slot uint8) (views [2]uint64) {
	for at := u.heads[slot]; at > 0; at = u.pieces[at-1].next {
		if p := &u.pieces[at-1]; p.cell != nil {
			views = addViews(views, p.cell.Views)
		} else {
			views = addViews(views, p.row.Views)
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
	at := u.heads[slot]
	if p := &u.pieces[at-1]; p.next == 0 && p.cell == nil {
		return p.row.Count.Total
	}
	var sum uint64
	for ; at > 0; at = u.pieces[at-1].next {
		if p := &u.pieces[at-1]; p.cell != nil {
			sum += p.cell.Visitors[sketch.Human].Count() + p.cell.Visitors[sketch.AI].Count()
		} else {
			sum += p.row.Count.Total
		}
	}
	if sum > uint64(sketch.PathPrecision.ExactLimit()) {
		sum += sum / 8
	}
	return sum
}

// count returns the distinct visitors of a path.
func (u *groupUnion) count(slot uint8) (sketch.Count, error) {
	if p := &u.pieces[u.heads[slot]-1]; p.next == 0 && p.cell == nil {
		return p.row.Count, nil
	}
	if err := u.unite(slot); err != nil {
		return sketch.Count{}, err
	}
	return u.union.Count(), nil
}

// unite puts the visitors of a path into the accumulator.
func (u *groupUnion) unite(slot uint8) error {
	var most [2]uint64
	for at := u.heads[slot]; at > 0; at = u.pieces[at-1].next {
		p := &u.pieces[at-1]
		if p.cell != nil {
			most = expected(sketch.Count{Human: most[sketch.Human], AI: most[sketch.AI]}, p.cell)
		} else {
			most[sketch.Human] += p.row.Count.Human
			most[sketch.AI] += p.row.Count.AI
		}
	}
	u.union.Reset(most)
	// The pieces with registers first: the hashes of the others then raise some, and
	// stand in no table before.
	for _, dense := range [...]bool{true, false} {
		for at := u.heads[slot]; at > 0; at = u.pieces[at-1].next {
			if p := &u.pieces[at-1]; p.dense() == dense {
				if err := u.addPiece(p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (u *groupUnion) addPiece(p *piece) error {
	if p.cell != nil {
		u.union.AddCell(p.cell)
		return nil
	}
	return u.sources[p.source].Accumulate(u.union, p.row)
}

// dense reports whether a piece has registers.
func (p *piece) dense() bool {
	if p.cell != nil {
		return !p.cell.Visitors[sketch.Human].Exact() || !p.cell.Visitors[sketch.AI].Exact()
	}
	return max(p.row.Count.Human, p.row.Count.AI) > uint64(sketch.PathPrecision.ExactLimit())
}

// write writes a path into a part, if it has any piece.
func (u *groupUnion) write(w *part.GroupWriter, slot uint8) error {
	if u.heads[slot] == 0 {
		return nil
	}
	if p := &u.pieces[u.heads[slot]-1]; p.next == 0 && p.cell == nil {
		sets, err := u.sources[p.source].Sets(p.row)
		if err != nil {
			return err
		}
		return w.Sets(slot, p.row.Numbers, sets)
	}
	if err := u.unite(slot); err != nil {
		return err
	}
	return w.Union(slot, u.views(slot), u.union)
}

// release lets go of what the union refers to, but for the memory that it works in.
func (u *groupUnion) release() {
	u.reader, u.roots = part.Reader{}, nil
	clear(u.sources)
	clear(u.pieces)
}
