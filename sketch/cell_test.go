package sketch_test

import (
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

func TestCellCountsViewsAndVisitorsByTraffic(t *testing.T) {
	c := cellOf(sketch.PathPrecision,
		view{sketch.Human, 1}, view{sketch.Human, 1}, view{sketch.Human, 2},
		view{sketch.AI, 2}, view{sketch.AI, 3},
	)
	if want := [2]uint64{3, 2}; c.Views != want {
		t.Errorf("views %v, expected %v", c.Views, want)
	}
	if want := (sketch.Count{Human: 2, AI: 2, Total: 3}); c.Count() != want {
		t.Errorf("count %+v, expected %+v", c.Count(), want)
	}
}

func TestCellMerge(t *testing.T) {
	a := cellOf(5, view{sketch.Human, 1}, view{sketch.AI, 2})
	b := cellOf(5, view{sketch.Human, 1}, view{sketch.Human, 3}, view{sketch.AI, 4})
	kept := b.Clone()
	a.Merge(b)

	want := cellOf(5,
		view{sketch.Human, 1}, view{sketch.Human, 1}, view{sketch.Human, 3},
		view{sketch.AI, 2}, view{sketch.AI, 4},
	)
	if !equalCells(a, want) {
		t.Errorf("merged to %+v", a)
	}
	if !equalCells(b, kept) {
		t.Error("Merge changed its argument")
	}
}

// A record that is applied twice, or a day that is united twice, adds no visitor.
func TestCellMergedAgainCountsNoVisitorTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		a, b := cellOf(p, anyViews().Draw(t, "a")...), cellOf(p, anyViews().Draw(t, "b")...)
		a.Merge(b)
		once := a.Clone()
		a.Merge(b)
		a.Merge(once)
		if a.Count() != once.Count() {
			t.Fatalf("count %v became %v", once.Count(), a.Count())
		}
		if !a.Visitors[sketch.Human].Equal(&once.Visitors[sketch.Human]) || !a.Visitors[sketch.AI].Equal(&once.Visitors[sketch.AI]) {
			t.Fatal("the sets changed")
		}
	})
}

func TestCellCloneSharesNothing(t *testing.T) {
	original := cellOf(4, view{sketch.Human, 1}, view{sketch.AI, 2})
	kept := cellOf(4, view{sketch.Human, 1}, view{sketch.AI, 2})
	clone := original.Clone()
	if !equalCells(clone, kept) {
		t.Fatal("the clone differs")
	}
	clone.Views = [2]uint64{6, 7}
	for _, h := range visitors(0, 20) {
		clone.Add(sketch.Human, h)
		clone.Add(sketch.AI, h)
	}
	if !equalCells(original, kept) {
		t.Error("changing the clone changed the original")
	}
}

func TestCellCountIsInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := smallPrecision().Draw(t, "precision")
		if err := inBounds(cellOf(p, anyViews().Draw(t, "views")...).Count()); err != nil {
			t.Fatal(err)
		}
	})
}

// Humans and AI agents without a common visitor: the plain estimate of the union
// exceeds the sum in about half of all cases, and below it in the others.
func TestCellCountIsInBoundsOfDenseSets(t *testing.T) {
	const p = sketch.PathPrecision
	above := 0
	for group := range uint32(40) {
		c := sketch.NewCell(p)
		for i, h := range visitors(group, 12_000) {
			c.Add(sketch.Traffic(i%2), h)
		}
		if err := inBounds(c.Count()); err != nil {
			t.Errorf("group %d: %v", group, err)
		}
		human, ai := &c.Visitors[sketch.Human], &c.Visitors[sketch.AI]
		if human.UnionCount(ai) > human.Count()+ai.Count() {
			above++
		}
	}
	t.Logf("%d of 40 unions are estimated above the sum", above)
	if above == 0 {
		t.Error("no union was estimated above the sum: the test does not see the bound")
	}
}

// An exact total stays exact, and one that is dense keeps its bounds beside
// parts that are exact.
func TestCellCountAroundTheTurnOfTheUnion(t *testing.T) {
	const p = sketch.PathPrecision
	for _, n := range []int{p.ExactLimit() - 1, p.ExactLimit(), p.ExactLimit() + 1, 2 * p.ExactLimit()} {
		c := sketch.NewCell(p)
		for i, h := range visitors(0, n) {
			c.Add(sketch.Traffic(i%2), h)
		}
		got := c.Count()
		if got.Human != uint64((n+1)/2) || got.AI != uint64(n/2) {
			t.Errorf("%d visitors: parts are not exact: %+v", n, got)
		}
		if n <= p.ExactLimit() && got.Total != uint64(n) {
			t.Errorf("%d visitors: total is not exact: %+v", n, got)
		}
		if n > p.ExactLimit() && got.Total <= uint64(p.ExactLimit()) {
			t.Errorf("%d visitors: total fell: %+v", n, got)
		}
		if err := inBounds(got); err != nil {
			t.Errorf("%d visitors: %v", n, err)
		}
	}
}

func TestCellMemoryBytesCoversItsSets(t *testing.T) {
	c := sketch.NewCell(sketch.PathPrecision)
	empty := c.MemoryBytes()
	for _, h := range visitors(0, 3000) {
		c.Add(sketch.Human, h)
		c.Add(sketch.AI, h)
	}
	if got, least := c.MemoryBytes(), empty+2*sketch.PathPrecision.Registers(); got < least {
		t.Errorf("two dense sets take %d bytes, expected %d at least", got, least)
	}
}
