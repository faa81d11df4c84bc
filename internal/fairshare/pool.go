// Package fairshare divides a bounded number of bytes among projects, so that one
// that sends more than is worked off can not starve the others.
package fairshare

import (
	"sync"

	"footfall/sketch"
)

// Pool is a bounded number of bytes that projects take from and give back to. It
// is safe for concurrent use.
//
// A project may hold as much as is still free: alone it gets half of the pool,
// each further one half of what the others left, and nobody's share is set
// beforehand. This is the dynamic threshold of Choudhury and Hahne, "Dynamic
// queue length thresholds for shared-memory packet switches" (1998), with a
// factor of one. Equal shares for all projects would leave most of the pool
// unused, as few send at the same time; first come, first served would let the
// first one fill it.
type Pool struct {
	mu    sync.Mutex
	limit int
	used  int
	held  map[sketch.ProjectNumber]int
}

// NewPool returns a pool of so many bytes.
func NewPool(limit int) *Pool {
	return &Pool{limit: limit, held: make(map[sketch.ProjectNumber]int)}
}

// Take takes bytes for a project, and reports false, without taking any, where
// they are more than its share. What is larger than any share still passes
// while nobody holds anything.
func (p *Pool) Take(project sketch.ProjectNumber, bytes int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used > 0 && p.held[project]+bytes > p.limit-p.used {
		return false
	}
	p.used += bytes
	p.held[project] += bytes
	return true
}

// Give gives back bytes that a project took.
func (p *Pool) Give(project sketch.ProjectNumber, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= bytes
	if p.held[project] -= bytes; p.held[project] <= 0 {
		delete(p.held, project)
	}
}

// Used returns how many bytes are taken.
func (p *Pool) Used() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// Held returns how many bytes a project holds.
func (p *Pool) Held(project sketch.ProjectNumber) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[project]
}
