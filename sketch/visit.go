package sketch

import "iter"

// Position is the sequence number of a batch in the log. The first batch is 1;
// 0 stands before every batch.
type Position uint64

// ProjectNumber identifies a project inside the store. Unlike a project's ID,
// which may be deleted and created again, a number is never given twice: what
// the log still holds of a deleted project can not reach its successor.
type ProjectNumber uint64

// Hash is a visitor: a 64-bit hash of an identity, keyed with a secret of the
// project. Sets and registers are built from hashes alone.
type Hash uint64

// PageView is one page view after every decision was taken.
type PageView struct {
	Path    string // normalised, or OtherPath
	Visitor Hash
	Day     Day
	Traffic Traffic
}

// OtherPath is the row of the page views of paths beyond the limits of a project.
// No page has it: a normalised path begins with a slash.
const OtherPath = "(other)"

// Visit is one page view of a batch. Its path stands once in the batch, however
// many visits it has.
type Visit struct {
	Visitor Hash
	Path    uint32 // index into Batch.Paths
	Day     Day
	Traffic Traffic
}

// Batch is what one commit makes durable. It has a mark or a receipt, not both: an
// import is known by where it stands in its source.
type Batch struct {
	Project ProjectNumber
	Paths   [][]byte // normalised
	Visits  []Visit
	Mark    Mark     // of an import; zero for others
	Receipt *Receipt // of a batch with an idempotency key; nil for others
}

// NewBatch returns the batch of some page views.
func NewBatch(project ProjectNumber, views ...PageView) Batch {
	b := Batch{Project: project}
	index := make(map[string]uint32)
	for _, view := range views {
		path, known := index[view.Path]
		if !known {
			path = uint32(len(b.Paths))
			index[view.Path] = path
			b.Paths = append(b.Paths, []byte(view.Path))
		}
		b.Visits = append(b.Visits, Visit{Path: path, Visitor: view.Visitor, Day: view.Day, Traffic: view.Traffic})
	}
	return b
}

// Views returns the page views of the batch in their order.
func (b Batch) Views() iter.Seq[PageView] {
	return func(yield func(PageView) bool) {
		for _, v := range b.Visits {
			if !yield(PageView{Path: string(b.Paths[v.Path]), Visitor: v.Visitor, Day: v.Day, Traffic: v.Traffic}) {
				return
			}
		}
	}
}

// Empty reports whether there is nothing in the batch to make durable.
func (b Batch) Empty() bool {
	return len(b.Visits) == 0 && b.Mark.IsZero() && b.Receipt == nil
}
