package memory_test

import (
	"testing"

	"footfall/internal/memory"
)

func TestSharesFitTheBudget(t *testing.T) {
	for budget := memory.MinBudget; budget <= 1<<40; budget *= 2 {
		s := memory.Divide(budget)
		bound := 2*int64(s.Overlay) + int64(s.Queue) + int64(s.Bodies) + 16*int64(s.KnownPaths) +
			48*int64(s.NumberedPaths) + int64(s.CellCache) + int64(s.Listings) + s.IndexCache + 3*s.MemTable
		if bound > budget*77/100 || bound < budget*4/10 {
			t.Errorf("of %d bytes, %d are given out", budget, bound)
		}
		if s.Heap <= bound || s.Heap > budget {
			t.Errorf("of %d bytes, the heap gets %d beside shares of %d", budget, s.Heap, bound)
		}
	}
}
