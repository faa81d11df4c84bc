package sketch

// Cell is what is kept for (project, day, path), or for (project, day) over all
// paths, which is the site cell and has the higher precision.
type Cell struct {
	Views    [2]uint64 // page views, by Traffic
	Visitors [2]Set    // distinct visitors, by Traffic
}

// NewCell returns an empty cell of the given precision.
func NewCell(p Precision) *Cell {
	return &Cell{Visitors: [2]Set{{precision: p}, {precision: p}}}
}

// Add counts one page view of a visitor.
func (c *Cell) Add(t Traffic, visitor Hash) {
	c.Views[t]++
	c.Visitors[t].Add(visitor)
}

// Merge adds the views and unites the visitors of other.
func (c *Cell) Merge(other *Cell) {
	for _, t := range [...]Traffic{Human, AI} {
		c.Views[t] += other.Views[t]
		c.Visitors[t].Merge(&other.Visitors[t])
	}
}

// Clone returns a copy that shares nothing with the cell.
func (c *Cell) Clone() *Cell {
	return &Cell{
		Views:    c.Views,
		Visitors: [2]Set{*c.Visitors[Human].Clone(), *c.Visitors[AI].Clone()},
	}
}

// Count returns the distinct visitors: human, AI, and those of either. Each is
// exact or an estimate by itself, so the three are brought into the bounds that
// hold between the true numbers.
func (c *Cell) Count() Count {
	human, ai := &c.Visitors[Human], &c.Visitors[AI]
	return Count{
		Human: human.Count(),
		AI:    ai.Count(),
		Total: human.UnionCount(ai),
	}.bounded()
}

// MemoryBytes returns about how much memory the cell occupies.
func (c *Cell) MemoryBytes() int {
	const header = 16 // views
	return header + c.Visitors[Human].MemoryBytes() + c.Visitors[AI].MemoryBytes()
}
