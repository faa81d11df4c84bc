package storetest

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"footfall/sketch"
)

// deletionLeavesNothing: of a deleted project neither visits nor sources are
// left, what comes later is refused, and no other project notices.
func deletionLeavesNothing(t *testing.T, s *suite) {
	head := []byte("a log")
	sites := []*site{s.site(t), s.site(t), s.site(t)}
	m := mark(head, 0, 10)
	fill := func(from uint64) {
		for _, site := range sites {
			site.commit(crowd("/", FirstDay, sketch.Human, from, from+3_000)...)
			site.commit(crowd("/b", FirstDay+1, sketch.AI, from, from+5)...)
		}
	}
	fill(0)
	for _, site := range sites {
		site.commitMarked(m)
	}
	s.reopen(t) // Some of it now lies deeper than the rest.
	fill(2_000)

	deleted := sites[1]
	if err := s.subject.DeleteProject(t.Context(), deleted.number); err != nil {
		t.Fatalf("deleting: %v", err)
	}
	deleted.visits = nil
	deleted.check(sketch.AllDays())
	deleted.expectSource(nil, head)
	deleted.refused(sketch.ErrProjectDeleted, sketch.Mark{}, visit("/", FirstDay, sketch.Human, 1))
	deleted.refused(sketch.ErrProjectDeleted, m)
	if err := s.subject.DeleteProject(t.Context(), deleted.number); err != nil {
		t.Errorf("deleting again: %v", err)
	}

	unused := s.site(t)
	if err := s.subject.DeleteProject(t.Context(), unused.number); err != nil {
		t.Errorf("deleting a project without visits: %v", err)
	}
	unused.refused(sketch.ErrProjectDeleted, sketch.Mark{}, visit("/", FirstDay, sketch.Human, 1))

	for range 2 {
		for _, site := range []*site{sites[0], sites[2]} {
			site.commit(visit("/after", FirstDay, sketch.Human, 1))
			site.check(sketch.AllDays())
			site.expectSource(&m, head)
		}
		deleted.check(sketch.AllDays())
		deleted.expectSource(nil, head)
		s.reopen(t)
	}
}

// deletionAmongCommits: writers of two projects go on while one of them is
// deleted. Its batches are taken before and refused after, none is taken once
// the deletion has returned, and the other project loses nothing.
func deletionAmongCommits(t *testing.T, s *suite) {
	const writers, batches = 4, 40
	kept, deleted := s.site(t), s.site(t)
	var returned atomic.Bool
	var began, running sync.WaitGroup
	began.Add(writers)
	for writer := range uint64(writers) {
		running.Go(func() {
			ready := sync.OnceFunc(began.Done)
			defer ready()
			for n := range uint64(batches) {
				v := visit("/", FirstDay, sketch.Human, writer*1_000+n)
				if err := kept.try(sketch.Mark{}, v); err != nil {
					t.Errorf("committing to the other project: %v", err)
					return
				}
				after := returned.Load()
				err := deleted.try(sketch.Mark{}, v)
				if err != nil && !errors.Is(err, sketch.ErrProjectDeleted) {
					t.Errorf("committing: %v", err)
				}
				if err == nil && after {
					t.Error("a batch was taken after the deletion")
				}
				if n == 5 {
					ready()
				}
			}
		})
	}
	began.Wait()
	if err := s.subject.DeleteProject(t.Context(), deleted.number); err != nil {
		t.Errorf("deleting: %v", err)
	}
	returned.Store(true)
	running.Wait()
	for writer := range uint64(writers) {
		kept.visits = append(kept.visits, crowd("/", FirstDay, sketch.Human, writer*1_000, writer*1_000+batches)...)
	}
	for range 2 {
		kept.check(sketch.AllDays())
		deleted.check(sketch.AllDays())
		s.reopen(t)
	}
}

// deletedDaysAreGone: of days that are deleted nothing is left, other days and
// projects do not notice, and what comes late for them counts again.
func deletedDaysAreGone(t *testing.T, s *suite) {
	sites := []*site{s.site(t), s.site(t)}
	fill := func(visitors uint64) {
		for _, site := range sites {
			for day := range sketch.Day(20) {
				site.commit(crowd("/", FirstDay+day, sketch.Human, 0, visitors)...)
				site.commit(visit("/ai", FirstDay+day, sketch.AI, uint64(day)))
			}
		}
	}
	fill(30)
	s.reopen(t) // Some of it now lies deeper than the rest.
	fill(40)
	for _, before := range []sketch.Day{FirstDay - 1, FirstDay + 3, FirstDay + 3, FirstDay + 11} {
		if err := s.subject.DeleteDays(t.Context(), sites[0].number, before); err != nil {
			t.Fatalf("deleting the days before %v: %v", before, err)
		}
		sites[0].visits = slices.DeleteFunc(sites[0].visits, func(v sketch.PageView) bool { return v.Day < before })
		for _, site := range sites {
			site.check(sketch.AllDays())
			site.check(sketch.Range{From: FirstDay + 2, To: FirstDay + 15})
		}
	}
	sites[0].commit(crowd("/late", FirstDay+1, sketch.AI, 5, 15)...)
	sites[0].check(sketch.AllDays())
	s.reopen(t)
	for _, site := range sites {
		site.check(sketch.AllDays())
	}
}
