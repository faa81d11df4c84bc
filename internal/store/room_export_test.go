package store

import "footfall/sketch"

// Deciding reports whether a batch of a project is being decided.
func (s *Store) Deciding(number sketch.ProjectNumber) bool {
	s.projects.mu.Lock()
	p := s.projects.known[number]
	s.projects.mu.Unlock()
	if p == nil || !p.mu.TryLock() {
		return p != nil
	}
	p.mu.Unlock()
	return false
}

// OverlaySize returns the memory of what folding takes at present.
func (s *Store) OverlaySize() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active.bytes
}
