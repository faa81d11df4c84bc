// Package memory divides the one memory budget of a process among all that takes
// memory in it.
package memory

// The smallest budget that a server works with, and the one that it takes
// without being told.
const (
	MinBudget     int64 = 128 << 20
	DefaultBudget int64 = 512 << 20
)

// Shares is what each part may take, in bytes unless said otherwise.
type Shares struct {
	// Overlay is what was folded since the last checkpoint. While one is
	// written, as much again gathers.
	Overlay int
	// Queue is batches between their request and folding.
	Queue int
	// Bodies is request bodies that are being read.
	Bodies int
	// KnownPaths is how many paths are remembered, at about 16 bytes each.
	KnownPaths int
	// NumberedPaths is how many paths are remembered for queries, at about 48 bytes
	// each.
	NumberedPaths int
	// CellCache is the cells that queries read.
	CellCache int
	// Listings is rankings that are kept for the pages that follow the first.
	Listings int
	// IndexCache is the database's.
	IndexCache int64
	// MemTable is one of the database's, of which three exist.
	MemTable int64
	// Heap is at what size of the heap, garbage and free memory included, the
	// garbage collector works harder instead of letting it grow. It may be all of
	// the budget: a part of the heap, such as the ends of the database's buffers,
	// was never written to, and so takes no memory.
	Heap int64
}

// Divide returns the shares of a budget, in bytes of anonymous memory. Together
// what they bound is 77 % of it at most: the rest is for garbage between two
// collections, which costs the less the more there is, for checkpoints, queries
// and compactions while they run, and for stacks and the network.
func Divide(budget int64) Shares {
	return Shares{
		Overlay:       int(budget / 8),
		Queue:         int(budget / 16),
		Bodies:        int(budget / 8),
		KnownPaths:    int(budget / 32 / 16),
		NumberedPaths: int(budget / 64 / 48),
		CellCache:     int(budget / 8),
		Listings:      int(budget / 32),
		IndexCache:    budget / 32,
		MemTable:      min(budget/32, 64<<20),
		Heap:          budget,
	}
}
