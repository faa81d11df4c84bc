package fairshare_test

import (
	"testing"

	"footfall/internal/fairshare"
	"footfall/sketch"
)

// fill takes single units for a project until it gets no more.
func fill(p *fairshare.Pool, project sketch.ProjectNumber) (taken int) {
	for p.Take(project, 1) {
		taken++
	}
	return taken
}

func TestAGreedyProjectLeavesRoomForOthers(t *testing.T) {
	p := fairshare.NewPool(1024)
	free := 1024
	for project := range sketch.ProjectNumber(5) {
		taken := fill(p, project)
		if taken < free/2-1 || taken > free/2+1 {
			t.Errorf("project %d got %d of %d free bytes, want half", project, taken, free)
		}
		free -= taken
		if got := p.Used(); got != 1024-free {
			t.Errorf("%d bytes are used, want %d", got, 1024-free)
		}
	}
}

func TestWhatIsGivenBackCanBeTaken(t *testing.T) {
	p := fairshare.NewPool(100)
	first := fill(p, 1)
	if p.Take(1, 1) {
		t.Fatal("more than the share was taken")
	}
	p.Give(1, first)
	if p.Used() != 0 || p.Held(1) != 0 {
		t.Fatalf("%d bytes are used, %d held, after all were given back", p.Used(), p.Held(1))
	}
	if again := fill(p, 1); again != first {
		t.Errorf("%d bytes the second time, %d the first", again, first)
	}
}

func TestWhatIsLargerThanThePoolPassesAlone(t *testing.T) {
	p := fairshare.NewPool(10)
	if !p.Take(1, 50) {
		t.Fatal("refused though nothing was taken")
	}
	if p.Take(1, 1) || p.Take(2, 1) {
		t.Error("a full pool gave more")
	}
	p.Give(1, 50)
	if !p.Take(2, 1) || p.Take(1, 50) {
		t.Error("a pool in use let too much pass, or nothing")
	}
}
