package sketch

import (
	"cmp"
	"context"
	"slices"
)

// Count is a number of distinct visitors: humans, AI agents, and both together,
// where one that came as both counts once.
type Count struct {
	Human uint64
	AI    uint64
	Total uint64
}

// Of returns the number of one kind of traffic.
func (c Count) Of(t Traffic) uint64 {
	if t == AI {
		return c.AI
	}
	return c.Human
}

// bounded brings the total into the bounds that hold for the true numbers:
// max(human, ai) <= total <= human + ai. On unions of dense sketches the plain
// estimate leaves them in half of all cases.
func (c Count) bounded() Count {
	c.Total = min(max(c.Total, c.Human, c.AI), c.Human+c.AI)
	return c
}

// Within clamps a row to the totals of its answer, then its total into the
// bounds between the three. Every step is monotone, so a count still never
// falls when visitors are added.
func (c Count) Within(totals Count) Count {
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

// Ranking is consecutive rows of one answer: all its rows are by total
// descending, then by path; the totals are over the whole range, as seen at one
// log position.
type Ranking struct {
	Position Position
	Totals   Count
	Views    [2]uint64 // page views of the site, by Traffic
	Paths    int       // rows of the whole answer
	Rows     []Row
}

// NewRanking orders all rows of an answer and clamps them to the totals. It takes
// the rows over. Rows are sorted by what is shown: clamping comes first.
func NewRanking(at Position, totals Count, rows []Row) *Ranking {
	totals = totals.bounded()
	var views [2]uint64
	for i := range rows {
		rows[i].Count = rows[i].Count.Within(totals)
		views[Human] += rows[i].Views[Human]
		views[AI] += rows[i].Views[AI]
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.Count.Total, a.Count.Total),
			cmp.Compare(a.Path, b.Path),
		)
	})
	return &Ranking{Position: at, Totals: totals, Views: views, Paths: len(rows), Rows: rows}
}

// Slice returns limit rows from offset on, fewer at the end, and none beyond it.
// It shares the rows.
func (r *Ranking) Slice(offset, limit int) *Ranking {
	part := *r
	rows := r.Rows[min(offset, len(r.Rows)):]
	part.Rows = rows[:min(limit, len(rows))]
	return &part
}

// Snapshot is the page views of one project and range as they are at one log
// position. It is not safe for concurrent use, and must be closed.
type Snapshot interface {
	// Top returns the first rows of the ranking, limit at most. It does no more
	// work than they need, so it is for the first page.
	Top(ctx context.Context, limit int) (*Ranking, error)
	// All ranks every path. The listing outlives the snapshot.
	All(ctx context.Context) (Listing, error)
	// Close lets go of what the snapshot holds. It may be called again.
	Close()
}

// Listing is a whole ranking in a compact form, to be kept for the pages that
// follow the first. It never changes and is safe for concurrent use.
type Listing interface {
	// Page returns limit rows from offset on, fewer at the end, and none beyond
	// it.
	Page(ctx context.Context, offset, limit int) (*Ranking, error)
	// MemoryBytes is about how much memory the listing takes.
	MemoryBytes() int
}
