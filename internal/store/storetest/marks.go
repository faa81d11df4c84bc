package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"

	"footfall/sketch"
)

// refusedBatchLeavesNothing: a batch that is refused leaves neither visits nor a
// mark, and one of nothing at all is taken and changes nothing.
func refusedBatchLeavesNothing(t *testing.T, s *suite) {
	site := s.site(t)
	site.commit(visit("/", FirstDay, sketch.Human, 1))

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	batch := Marked(sketch.Mark{Source: sketch.SourceOf([]byte("head")), To: 10, Lines: 1},
		sketch.NewBatch(site.number, crowd("/cancelled", FirstDay, sketch.Human, 0, 5)...))
	if err := s.subject.Commit(cancelled, batch); !errors.Is(err, context.Canceled) {
		t.Errorf("committing with a context that was cancelled: %v", err)
	}
	site.expectSource(nil, []byte("head"))

	before := site.check(sketch.AllDays())
	if err := s.subject.Commit(t.Context(), sketch.Batch{Project: site.number}); err != nil {
		t.Errorf("committing nothing: %v", err)
	}
	if after := site.check(sketch.AllDays()); after.Position != before.Position {
		t.Errorf("committing nothing moved the position from %d to %d", before.Position, after.Position)
	}
}

// mark returns the mark of a batch of a source.
func mark(head []byte, from, to int64) sketch.Mark {
	return sketch.Mark{
		Source: sketch.SourceOf(head),
		From:   from,
		To:     to,
		Lines:  to / 10,
		Tail:   sha256.Sum256(fmt.Appendf(nil, "%d-%d", from, to)),
	}
}

// expectSource looks a source up. A nil want means that there is none.
func (s *site) expectSource(want *sketch.Mark, head []byte) {
	s.t.Helper()
	got, found, err := s.subject.FindSource(s.t.Context(), s.number, head)
	switch {
	case err != nil:
		s.t.Fatalf("finding the source of a head of %d bytes: %v", len(head), err)
	case want == nil && found:
		s.t.Fatalf("a head of %d bytes finds %+v, expected nothing", len(head), got)
	case want != nil && !found:
		s.t.Fatalf("a head of %d bytes finds nothing, expected %+v", len(head), *want)
	case want != nil && got != *want:
		s.t.Fatalf("a head of %d bytes finds %+v, expected %+v", len(head), got, *want)
	}
}

// marksFollowEachOther: a batch of a source is taken where the last one ended
// and nowhere else; what is refused is not counted. Sources do not disturb each
// other, nor do projects.
func marksFollowEachOther(t *testing.T, s *suite) {
	site, other := s.site(t), s.site(t)
	head, second := []byte("the first log"), []byte("the second log")
	views := func(from, to uint64) []sketch.PageView { return crowd("/", FirstDay, sketch.Human, from, to) }

	site.refused(sketch.ErrSourceMoved, mark(head, 10, 20), views(0, 1)...)
	site.expectSource(nil, head)
	steps := []sketch.Mark{mark(head, 0, 100), mark(head, 100, 250), mark(head, 250, 251)}
	for i, m := range steps {
		site.commitMarked(m, views(uint64(10*i), uint64(10*i+5))...)
		site.expectSource(&m, head)
		for _, from := range []int64{0, m.From, m.To - 1, m.To + 1} {
			if from != m.To {
				site.refused(sketch.ErrSourceMoved, mark(head, from, from+1000), views(1000, 1010)...)
			}
		}
		s.reopen(t)
		site.expectSource(&m, head)
	}

	site.commitMarked(mark(second, 0, 30), views(100, 101)...)
	other.commitMarked(mark(head, 0, 70), views(0, 3)...)
	site.commitMarked(mark(head, 251, 300)) // A part without visits moves the mark all the same.
	want, wantSecond, wantOther := mark(head, 251, 300), mark(second, 0, 30), mark(head, 0, 70)
	for range 2 {
		site.expectSource(&want, head)
		site.expectSource(&wantSecond, second)
		other.expectSource(&wantOther, head)
		other.expectSource(nil, second)
		site.check(sketch.AllDays())
		other.check(sketch.AllDays())
		s.reopen(t)
	}
}

// concurrentImports: of several imports of one source, each part is taken once.
func concurrentImports(t *testing.T, s *suite) {
	const imports, parts = 4, 30
	site := s.site(t)
	head := []byte("a log that is imported several times at once")
	part := func(n int64) (sketch.Mark, sketch.PageView) {
		return mark(head, 10*n, 10*(n+1)), visit("/", FirstDay, sketch.Human, uint64(n))
	}
	var running sync.WaitGroup
	for range imports {
		running.Go(func() {
			for n := range int64(parts) {
				m, v := part(n)
				if err := site.try(m, v); err != nil && !errors.Is(err, sketch.ErrSourceMoved) {
					t.Errorf("part %d: %v", n, err)
					return
				}
			}
		})
	}
	running.Wait()
	for n := range int64(parts) {
		_, v := part(n)
		site.visits = append(site.visits, v)
	}
	site.check(sketch.AllDays())
	last, _ := part(parts - 1)
	site.expectSource(&last, head)
}

// sourceIsFoundByHead: of a head the first 4,096 bytes count, all of them.
func sourceIsFoundByHead(t *testing.T, s *suite) {
	site, other := s.site(t), s.site(t)
	long := bytes.Repeat([]byte("0123456789abcdef"), 400) // 6,400 bytes
	m := mark(long, 0, 6_400)
	site.commitMarked(m, visit("/", FirstDay, sketch.Human, 1))
	differs := func(at int) []byte {
		head := bytes.Clone(long)
		head[at]++
		return head
	}
	for range 2 {
		site.expectSource(&m, long)
		site.expectSource(&m, long[:sketch.SourceHead])
		site.expectSource(&m, differs(sketch.SourceHead))
		site.expectSource(nil, long[:sketch.SourceHead-1])
		site.expectSource(nil, differs(0))
		site.expectSource(nil, differs(sketch.SourceHead-1))
		site.expectSource(nil, nil)
		other.expectSource(nil, long)
		s.reopen(t)
	}
}

// growingSource: a log that was shorter than 4,096 bytes when it was first
// imported is found by the part it had then; of several such parts the longest
// wins, since a log that only begins alike is another one.
func growingSource(t *testing.T, s *suite) {
	site := s.site(t)
	long := bytes.Repeat([]byte("a line of a log\n"), 300)
	short, longer := mark(long[:160], 0, 160), mark(long[:320], 0, 320)
	site.commitMarked(short, visit("/", FirstDay, sketch.Human, 1))
	for _, n := range []int{160, 161, 320, 4_096, 4_800} {
		site.expectSource(&short, long[:n])
	}
	site.expectSource(nil, long[:159])
	s.reopen(t)

	// It goes on under its first name.
	short = sketch.Mark{Source: short.Source, From: 160, To: 4_800, Lines: 300}
	site.commitMarked(short)
	site.expectSource(&short, long)

	site.commitMarked(longer, visit("/", FirstDay, sketch.Human, 2))
	for range 2 {
		site.expectSource(&short, long[:319])
		site.expectSource(&longer, long[:320])
		site.expectSource(&longer, long)
		site.check(sketch.AllDays())
		s.reopen(t)
	}
}
