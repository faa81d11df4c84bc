package store

import (
	"context"
	"encoding/binary"

	"footfall/internal/database"
	"footfall/sketch"
)

// listing is a sketch.Listing: all rows of a ranking, five to ten bytes each, and
// no paths but those that the database does not have yet. A row is uvarints:
//
//	number of its path
//	total of the row before it - its own
//	human
//	human + AI - total
//	views human, views AI
type listing struct {
	db      *database.DB
	deleted func() bool // whether the project is
	names   *pathNames
	whole   sketch.Ranking // without rows
	rows    []byte
	begins  []listingPlace // of every listingStride-th row
}

type listingPlace struct {
	offset int
	total  uint64 // of the row before it
}

const listingStride = 64

func newListing(v *snapshot, scan *scan) *listing {
	queue, project := v.store.queue, v.project // Not the snapshot, which the listing outlives.
	deleted := func() bool { return queue.isDeleted(project) }
	l := &listing{
		db:      v.store.db,
		deleted: deleted,
		names:   v.names,
		whole:   sketch.Ranking{Position: v.at, Totals: scan.totals, Views: scan.views, Paths: len(scan.rows)},
	}
	total := scan.totals.Total
	for i, row := range scan.rows {
		if i%listingStride == 0 {
			l.begins = append(l.begins, listingPlace{offset: len(l.rows), total: total})
		}
		l.rows = binary.AppendUvarint(l.rows, uint64(row.number))
		l.rows = binary.AppendUvarint(l.rows, total-row.count.Total)
		l.rows = binary.AppendUvarint(l.rows, row.count.Human)
		l.rows = binary.AppendUvarint(l.rows, row.count.Human+row.count.AI-row.count.Total)
		l.rows = binary.AppendUvarint(l.rows, row.views[sketch.Human])
		l.rows = binary.AppendUvarint(l.rows, row.views[sketch.AI])
		total = row.count.Total
	}
	return l
}

// MemoryBytes returns about how much memory the listing takes.
func (l *listing) MemoryBytes() int {
	const header, name, begin = 256, 16, 16
	bytes := header + cap(l.rows) + begin*cap(l.begins)
	for _, path := range l.names.further {
		bytes += name + len(path)
	}
	return bytes
}

// Page returns consecutive rows.
func (l *listing) Page(ctx context.Context, offset, limit int) (*sketch.Ranking, error) {
	page := l.whole
	end := min(offset, page.Paths) + min(limit, page.Paths-min(offset, page.Paths))
	var numbers []uint32
	if offset < end {
		begin := l.begins[offset/listingStride]
		rest, total := l.rows[begin.offset:], begin.total
		next := func() uint64 {
			value, size := binary.Uvarint(rest)
			rest = rest[size:]
			return value
		}
		for i := offset - offset%listingStride; i < end; i++ {
			number := uint32(next())
			total -= next()
			c := sketch.Count{Human: next(), Total: total}
			c.AI = total + next() - c.Human
			row := sketch.Row{Count: c}
			row.Views[sketch.Human], row.Views[sketch.AI] = next(), next()
			if i >= offset {
				numbers = append(numbers, number)
				page.Rows = append(page.Rows, row)
			}
		}
	}
	names, err := l.names.names(l.db, numbers)
	if err != nil && l.deleted() {
		err = sketch.ErrProjectDeleted // Its paths are gone.
	}
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		page.Rows[i].Path = name
	}
	return &page, ctx.Err()
}
