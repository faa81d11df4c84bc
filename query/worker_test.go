package query_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"footfall/query"
	"footfall/sketch"
)

// stage is a site whose every All waits to be told how it ends. The versions of
// snapshots, which are in the order they were taken, name them.
type stage struct {
	*site
	ranks *ranks
	end   chan error

	mu    sync.Mutex
	began []int // versions whose All began
}

const stagePaths = 100

// onStage runs a test in a bubble, in which all that goes on can be waited for.
func onStage(t *testing.T, test func(*stage)) {
	t.Helper()
	o := newOffice(t)
	synctest.Test(t, func(t *testing.T) {
		s := &stage{ranks: versions(stagePaths), end: make(chan error)}
		s.ranks.all = func(ctx context.Context, ranking *sketch.Ranking) error {
			s.mu.Lock()
			s.began = append(s.began, int(ranking.Position))
			s.mu.Unlock()
			select {
			case err := <-s.end:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.site = o.site(t, query.Options{Ranker: s.ranks})
		test(s)
	})
}

// answer is that of a request that goes on by itself.
type answer struct {
	leave context.CancelFunc
	done  bool
	query string
	code  int
	body  string
}

// ask begins a request and waits until it is answered or waits itself.
func (s *stage) ask(query string) *answer {
	ctx, leave := context.WithCancel(s.t.Context())
	a := &answer{leave: leave, query: query}
	go func() {
		a.code, a.body = s.getAs(ctx, s.keys.docs, "docs", query)
		a.done = true
	}()
	synctest.Wait()
	return a
}

// first asks for a first page whose turn comes as soon as the worker is free.
func (s *stage) first(walk int) { s.t.Helper(); s.firstAlone(walk); s.pass(patience) }

// firstAlone asks for a first page that the worker has patience with.
func (s *stage) firstAlone(walk int) {
	s.t.Helper()
	s.page(fmt.Sprintf("x=%d", walk))
	synctest.Wait()
}

func (s *stage) pass(d time.Duration) { time.Sleep(d); synctest.Wait() }

func (s *stage) askFollowing(walk int) *answer { return s.ask(fmt.Sprintf("x=%d&offset=50", walk)) }

// finish ends the All that goes on.
func (s *stage) finish(err error) {
	s.t.Helper()
	defer synctest.Wait()
	select {
	case s.end <- err:
	default:
		s.t.Error("nothing is being ranked")
	}
}

// finishAll ends the one that goes on, and those that it kept from their turn, until
// the worker is rested and has nothing left.
func (s *stage) finishAll() {
	defer synctest.Wait()
	for idle := time.After(time.Hour); ; {
		select {
		case s.end <- nil:
		case <-idle:
			return
		}
	}
}

func (s *stage) expectBegan(versions ...int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.began, versions) {
		s.t.Errorf("ranked versions %v, want %v", s.began, versions)
	}
}

func (s *stage) expectOpen(want int) {
	s.t.Helper()
	if _, open, _ := s.ranks.counts(); open != want {
		s.t.Errorf("%d snapshots are open, want %d", open, want)
	}
}

func (s *stage) expectVersion(a *answer, want int) {
	s.t.Helper()
	if !a.done {
		s.t.Errorf("%q is not answered", a.query)
		return
	}
	if got := versionOf(decodePage(s.t, a.query, a.code, a.body).Totals.Total, stagePaths); got != want {
		s.t.Errorf("%q is of version %d, want %d", a.query, got, want)
	}
}

func (s *stage) expectWaits(answers ...*answer) {
	s.t.Helper()
	for _, a := range answers {
		if a.done {
			s.t.Errorf("%q is answered with %d", a.query, a.code)
		}
	}
}

func TestAFollowingPageWaitsForItsRanking(t *testing.T) {
	onStage(t, func(s *stage) {
		s.first(1)
		s.expectBegan(1)
		following := s.askFollowing(1)
		s.expectWaits(following)
		s.finish(nil)
		s.expectVersion(following, 1)
		s.expectOpen(0)
	})
}

func TestWhatIsAskedForIsRankedFirst(t *testing.T) {
	onStage(t, func(s *stage) {
		for walk := 1; walk <= 5; walk++ {
			s.first(walk)
		}
		four, six, two := s.askFollowing(4), s.askFollowing(6), s.askFollowing(2)
		s.expectWaits(four, six, two)
		s.finishAll()
		// The one without a first page takes its snapshot, the sixth, at its turn. It
		// came last into the queue.
		s.expectBegan(1, 2, 4, 6, 3, 5)
		s.expectVersion(two, 2)
		s.expectVersion(four, 4)
		s.expectVersion(six, 6)
		s.expectOpen(0)
	})
}

// While one is being ranked, 16 wait; then the oldest one goes.
func TestTheQueueIsBounded(t *testing.T) {
	onStage(t, func(s *stage) {
		for walk := 1; walk <= 17; walk++ {
			s.first(walk)
		}
		s.expectOpen(17)
		s.first(18)
		s.first(19)
		s.expectOpen(17)
		s.finishAll()
		s.expectBegan(1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
		s.expectOpen(0)
		s.expectVersion(s.askFollowing(19), 19)
		gone := s.askFollowing(2)
		s.finishAll()
		s.expectVersion(gone, 20)
	})
}

// What requests wait for is not dropped for what nobody asked for, and not replaced
// under their hands.
func TestTheQueueKeepsWhatIsAskedFor(t *testing.T) {
	onStage(t, func(s *stage) {
		var following []*answer
		for walk := 1; walk <= 17; walk++ {
			s.first(walk)
			following = append(following, s.askFollowing(walk))
		}
		s.first(18)
		s.first(5)
		again := s.askFollowing(5)
		s.expectOpen(17)
		s.expectWaits(following...)
		s.finishAll()
		for i, a := range following {
			s.expectVersion(a, i+1)
		}
		s.expectVersion(again, 20)
		if slices.Contains(s.began, 18) || slices.Contains(s.began, 19) {
			t.Errorf("ranked versions %v", s.began)
		}
		s.expectOpen(0)
	})
}

func TestAFirstPageReplacesOneThatWaits(t *testing.T) {
	onStage(t, func(s *stage) {
		s.first(1)
		s.first(2)
		s.first(2)
		s.first(2)
		s.expectOpen(2)
		s.page("x=2&limit=100") // Nothing follows it.
		s.expectOpen(1)
		s.finishAll()
		s.expectBegan(1)
	})
}

func TestAFirstPageReplacesOneThatIsRanked(t *testing.T) {
	onStage(t, func(s *stage) {
		s.first(1)
		s.first(1)
		s.expectBegan(1, 2)
		s.expectOpen(1)
		following := s.askFollowing(1)
		s.first(1) // The walk of the second still has a page to come.
		s.expectBegan(1, 2)
		s.expectOpen(2)
		s.finish(nil)
		s.expectVersion(following, 2)
		s.expectBegan(1, 2, 3)
		following = s.askFollowing(1)
		s.first(1)
		s.expectBegan(1, 2, 3)
		following.leave() // Now there is nobody left.
		synctest.Wait()
		s.expectOpen(1)
		s.finishAll()
		s.expectBegan(1, 2, 3, 4)
		s.expectVersion(s.askFollowing(1), 4)
	})
}

func TestPagesThatFollowShareOneRanking(t *testing.T) {
	onStage(t, func(s *stage) {
		var following []*answer
		for range 5 {
			following = append(following, s.askFollowing(1))
		}
		s.expectWaits(following...)
		s.finish(nil)
		for _, a := range following {
			s.expectVersion(a, 1)
		}
		s.expectBegan(1)
		s.expectVersion(s.askFollowing(1), 1)
	})
}

// A client that goes leaves to others what they wait for, and to itself what its
// first page began. What it alone asked for, and has no snapshot, goes with it.
func TestClientsThatGo(t *testing.T) {
	onStage(t, func(s *stage) {
		s.first(1)
		s.first(2)
		gone := []*answer{s.askFollowing(1), s.askFollowing(2), s.askFollowing(3), s.askFollowing(4)}
		stays := s.askFollowing(3)
		for _, a := range gone {
			a.leave()
			synctest.Wait()
			if !a.done || a.code != http.StatusInternalServerError {
				t.Errorf("%q: answered %v with %d", a.query, a.done, a.code)
			}
		}
		s.finishAll()
		s.expectBegan(1, 3, 2)
		s.expectVersion(stays, 3)
		s.expectVersion(s.askFollowing(2), 2)

		// What is being ranked is finished: the client may ask again.
		five := s.askFollowing(5)
		five.leave()
		s.finishAll()
		s.expectVersion(s.askFollowing(5), 4)
		s.expectOpen(0)
	})
}

func TestAClientThatGoesEndsItsFirstPage(t *testing.T) {
	onStage(t, func(s *stage) {
		s.ranks.top = func(ctx context.Context, _ *sketch.Ranking) error {
			<-ctx.Done()
			return ctx.Err()
		}
		first := s.ask("")
		s.expectWaits(first)
		s.expectOpen(1)
		first.leave()
		synctest.Wait()
		s.expectOpen(0)
		s.expectBegan()
	})
}

func TestFailedRankings(t *testing.T) {
	failure := errors.New("reading a cell")
	onStage(t, func(s *stage) {
		// Nobody waits: it is gone.
		s.first(1)
		s.finish(failure)
		s.expectOpen(0)
		following := s.askFollowing(1)
		s.finish(nil)
		s.expectVersion(following, 2)
		// Some wait: it is ranked anew for them.
		s.first(1)
		following, other := s.askFollowing(1), s.askFollowing(1)
		s.finish(failure)
		s.expectWaits(following, other)
		s.expectBegan(1, 2, 3, 4)
		s.finish(nil)
		s.expectVersion(following, 4)
		s.expectVersion(other, 4)
		s.expectVersion(s.askFollowing(1), 4)
		// That fails too: they are told, and the next one tries again.
		s.first(1)
		following, other = s.askFollowing(1), s.askFollowing(1)
		s.finish(failure)
		s.finish(failure)
		for _, a := range []*answer{following, other} {
			if !a.done || a.code != http.StatusInternalServerError {
				t.Errorf("answered %v with %d", a.done, a.code)
			}
		}
		following = s.askFollowing(1)
		s.finish(nil)
		s.expectVersion(following, 7)
		s.expectOpen(0)
	})
}

func TestCloseWaits(t *testing.T) {
	onStage(t, func(s *stage) {
		goOn := make(chan struct{})
		s.ranks.all = func(ctx context.Context, _ *sketch.Ranking) error {
			<-ctx.Done()
			<-goOn // It does not end at once.
			return ctx.Err()
		}
		s.first(1)
		s.first(2)
		s.first(3)
		following := []*answer{s.askFollowing(1), s.askFollowing(2), s.askFollowing(4)}
		closed := false
		go func() {
			s.exports.Close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("Close did not wait for what is being ranked")
		}
		s.expectOpen(1)
		close(goOn)
		synctest.Wait()
		if !closed {
			t.Error("Close did not return")
		}
		s.expectOpen(0)
		following = append(following, s.askFollowing(1))
		for _, a := range following {
			if !a.done || a.code != http.StatusServiceUnavailable {
				t.Errorf("%q: answered %v with %d", a.query, a.done, a.code)
			}
		}
		// First pages are the store's to refuse.
		s.first(1)
		s.expectOpen(0)
		s.exports.Close()
	})
}
