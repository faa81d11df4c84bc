package sketch

import (
	"cmp"
	"slices"
)

// Count is a number of distinct visitors: humans, AI agents, and both together,
// where one that came as both counts once.
type Count struct {
	Human uint64
	AI    uint64
	Total uint64
}

// bounded brings the total into the bounds that hold for the true numbers:
// max(human, ai) <= total <= human + ai. On unions of dense sketches the plain
// estimate leaves them in half of all cases.
func (c Count) bounded() Count {
	c.Total = min(max(c.Total, c.Human, c.AI), c.Human+c.AI)
	return c
}

// within clamps a row to the totals of its answer, then its total into the
// bounds between the three. Every step is monotone, so a count still never
// falls when visitors are added.
func (c Count) within(totals Count) Count {
	c.Human = min(c.Human, totals.Human)
	c.AI = min(c.AI, totals.AI)
	c.Total = min(c.Total, totals.Total)
	return c.bounded()
}

// Row is the distinct visitors of one path, and its page views by Traffic.
type Row struct {
	Path  string
	Count Count
	Views [2]uint64
}

// Ranking is one answer: its rows by total descending, then by path, and the
// totals over the whole range, as seen at one log position.
type Ranking struct {
	Position Position
	Totals   Count
	Views    [2]uint64 // page views of all rows, by Traffic
	Rows     []Row
}

// NewRanking orders the rows and clamps them to the totals. It takes the rows
// over. Rows are sorted by what is shown: clamping comes first.
func NewRanking(at Position, totals Count, rows []Row) *Ranking {
	totals = totals.bounded()
	var views [2]uint64
	for i := range rows {
		rows[i].Count = rows[i].Count.within(totals)
		views[Human] += rows[i].Views[Human]
		views[AI] += rows[i].Views[AI]
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.Count.Total, a.Count.Total),
			cmp.Compare(a.Path, b.Path),
		)
	})
	return &Ranking{Position: at, Totals: totals, Views: views, Rows: rows}
}
