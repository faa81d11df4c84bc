package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"footfall/sketch"
)

// Subject is a store under test.
type Subject interface {
	Commit(context.Context, sketch.Batch) error
	Snapshot(context.Context, sketch.ProjectNumber, sketch.Range) (sketch.Snapshot, error)
	FindSource(ctx context.Context, project sketch.ProjectNumber, head []byte) (sketch.Mark, bool, error)
	FindReceipt(ctx context.Context, project sketch.ProjectNumber, key [32]byte) (sketch.Receipt, bool, error)
	DeleteProject(context.Context, sketch.ProjectNumber) error
	DeleteDays(ctx context.Context, project sketch.ProjectNumber, before sketch.Day) error
}

// Reopener is a Subject that outlives its process. Reopen ends it and opens it
// again on what it left.
type Reopener interface {
	Subject
	Reopen(testing.TB)
}

// Settings are those of a subject. Zero fields stand for the defaults.
type Settings struct {
	Now         func() time.Time
	PathsPerDay int
	Paths       int // of a project
	Receipts    int // of a project
}

// Run holds the stores that open returns to every law. The store that open
// returns is empty, and is closed by a cleanup of the test that it is given.
func Run(t *testing.T, open func(*testing.T, Settings) Subject) {
	runLimits(t, open)
	laws := []struct {
		name string
		law  func(*testing.T, *suite)
	}{
		{"visitors count once", visitorsCountOnce},
		{"any random workload", randomWorkloads},
		{"order and batches do not matter", orderDoesNotMatter},
		{"order and batches do not matter, dense", orderDoesNotMatterDense},
		{"counts never fall", countsNeverFall},
		{"totals bound human, ai and rows", totalsBound},
		{"views do not depend on visitors", viewsAreExact},
		{"ranges are half-open", rangesAreHalfOpen},
		{"an empty project has an empty ranking", emptyProject},
		{"projects are apart", projectsAreApart},
		{"a ranking sees what was acknowledged", rankingSeesAcknowledged},
		{"a ranking is of one instant", rankingIsOfOneInstant},
		{"rankings keep", rankingsKeep},
		{"concurrent commits", concurrentCommits},
		{"a refused batch leaves nothing", refusedBatchLeavesNothing},
		{"marks follow each other", marksFollowEachOther},
		{"marks of concurrent imports", concurrentImports},
		{"a source is found by its head", sourceIsFoundByHead},
		{"a source that grows keeps its name", growingSource},
		{"a deletion leaves nothing", deletionLeavesNothing},
		{"of deleted days nothing is left", deletedDaysAreGone},
		{"a deletion among commits", deletionAmongCommits},
	}
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) { l.law(t, &suite{subject: open(t, Settings{})}) })
	}
}

// suite is one subject and the projects that a law opens on it.
type suite struct {
	subject  Subject
	projects atomic.Uint64
}

// site returns a project that nothing was committed to.
func (s *suite) site(t *testing.T) *site {
	return &site{t: t, subject: s.subject, number: sketch.ProjectNumber(s.projects.Add(1))}
}

// reopen opens the subject again where it outlives its process.
func (s *suite) reopen(t *testing.T) {
	if r, outlives := s.subject.(Reopener); outlives {
		r.Reopen(t)
	}
}

// Marked returns a batch with a mark.
func Marked(mark sketch.Mark, b sketch.Batch) sketch.Batch {
	b.Mark = mark
	return b
}

// site is a project of the subject and the visits that it acknowledged.
type site struct {
	t       *testing.T
	subject Subject
	number  sketch.ProjectNumber
	visits  []sketch.PageView
}

// commit commits a batch that must be taken.
func (s *site) commit(visits ...sketch.PageView) {
	s.t.Helper()
	s.commitMarked(sketch.Mark{}, visits...)
}

func (s *site) commitMarked(mark sketch.Mark, visits ...sketch.PageView) {
	s.t.Helper()
	if err := s.try(mark, visits...); err != nil {
		s.t.Fatalf("committing %d visits: %v", len(visits), err)
	}
	s.visits = append(s.visits, visits...)
}

// try commits a batch and leaves the answer to the caller.
func (s *site) try(mark sketch.Mark, visits ...sketch.PageView) error {
	return s.subject.Commit(s.t.Context(), Marked(mark, sketch.NewBatch(s.number, visits...)))
}

// refused commits a batch that must be refused.
func (s *site) refused(want error, mark sketch.Mark, visits ...sketch.PageView) {
	s.t.Helper()
	if err := s.try(mark, visits...); !errors.Is(err, want) {
		s.t.Fatalf("committing: %v, expected %v", err, want)
	}
}

func (s *site) rank(within sketch.Range) *sketch.Ranking {
	s.t.Helper()
	ranking, err := Rank(s.t.Context(), s.subject, s.number, within)
	if err != nil {
		s.t.Fatalf("ranking %v: %v", within, err)
	}
	return ranking
}

// check compares the ranking of a range with the truth, and returns it.
func (s *site) check(within sketch.Range) *sketch.Ranking {
	s.t.Helper()
	ranking := s.rank(within)
	if err := Verify(ranking, s.visits, within); err != nil {
		s.t.Fatalf("project %d, %v: %v", s.number, within, err)
	}
	return ranking
}
