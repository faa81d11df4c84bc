package store

import (
	"sync"

	"footfall/sketch"
)

// Limits bounds what one project may make the store keep. A zero field takes its
// default.
type Limits struct {
	// PathsPerDay and PathsPerProject are how many distinct paths have a row of
	// their own: 50,000 and 200,000. Page views of further ones count in the row
	// sketch.OtherPath and in the site's totals.
	PathsPerDay     int
	PathsPerProject int
	// Receipts is how many idempotency keys are kept within their lifetime:
	// sketch.ReceiptsPerProject.
	Receipts int
}

func (l Limits) withDefaults() Limits {
	if l.PathsPerDay == 0 {
		l.PathsPerDay = 50_000
	}
	if l.PathsPerProject == 0 {
		l.PathsPerProject = 200_000
	}
	if l.Receipts == 0 {
		l.Receipts = sketch.ReceiptsPerProject
	}
	return l
}

// project is what deciding about a project's batches needs to remember. All of
// it can be read again from the overlay and Badger, so it is dropped when it
// takes too much memory.
type project struct {
	mu       sync.Mutex // held while a batch is decided and queued
	dropped  bool       // another one takes its place
	paths    knownPaths
	receipts knownReceipts
}

// projects are those whose batches were decided lately.
type projects struct {
	mu    sync.Mutex
	known map[sketch.ProjectNumber]*project
	paths int // remembered, of all projects
	limit int // of paths
}

// lockProject returns what is known of a project, locked.
func (s *Store) lockProject(number sketch.ProjectNumber) *project {
	for {
		s.projects.mu.Lock()
		p := s.projects.known[number]
		if p == nil {
			p = new(project)
			s.projects.known[number] = p
		}
		s.projects.mu.Unlock()
		p.mu.Lock()
		if !p.dropped {
			return p
		}
		p.mu.Unlock()
	}
}

// forgetProject drops what is known of a project.
func (s *Store) forgetProject(number sketch.ProjectNumber) {
	p := s.lockProject(number)
	defer p.mu.Unlock()
	s.projects.drop(number, p)
}

func (k *projects) drop(number sketch.ProjectNumber, p *project) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.dropped = true
	k.paths -= p.paths.counted
	delete(k.known, number)
}

// account corrects how many paths of a project are remembered, which the caller
// holds. While they are too many, others are dropped of which no batch is between
// Commit and folding: only then the overlay and Badger hold all that was decided.
// Which ones go is left to chance: a list of the latest used would be one more
// lock on the way of every batch.
func (s *Store) account(number sketch.ProjectNumber, p *project) {
	k := &s.projects
	k.mu.Lock()
	defer k.mu.Unlock()
	remembered := p.paths.remembered()
	k.paths += remembered - p.paths.counted
	p.paths.counted = remembered
	for other, q := range k.known {
		if k.paths <= k.limit {
			return
		}
		if other == number || !q.mu.TryLock() {
			continue
		}
		if s.queue.pool.Held(other) == 0 {
			q.dropped = true
			k.paths -= q.paths.counted
			delete(k.known, other)
		}
		q.mu.Unlock()
	}
}
