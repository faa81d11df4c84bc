package query_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// patience is how long the worker waits for somebody to ask for what it has.
const patience = 250 * time.Millisecond

func TestPatience(t *testing.T) {
	const almost = patience - time.Nanosecond
	for name, test := range map[string]func(*stage){
		"with what nobody asks for": func(s *stage) {
			s.firstAlone(1)
			s.pass(almost)
			s.expectBegan()
			s.expectOpen(1)
			s.pass(time.Nanosecond)
			s.expectBegan(1)
			s.finish(nil)
			s.expectVersion(s.askFollowing(1), 1)
		},
		"with each of several": func(s *stage) {
			s.firstAlone(1)
			s.pass(almost)
			s.firstAlone(2)
			s.pass(time.Nanosecond)
			s.finish(nil)
			s.pass(almost - time.Nanosecond)
			s.expectBegan(1)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 2)
			s.finish(nil)
		},
		"not with what is asked for": func(s *stage) {
			s.firstAlone(1)
			s.firstAlone(2)
			following := s.askFollowing(2)
			s.expectBegan(2)
			s.finish(nil)
			s.expectVersion(following, 2)
			s.expectBegan(2)
			s.pass(patience)
			s.expectBegan(2, 1)
			s.finish(nil)
		},
		"anew with a first page that replaces another": func(s *stage) {
			for range 10 {
				s.firstAlone(1)
				s.pass(almost)
			}
			s.expectBegan()
			s.expectOpen(1)
			s.pass(time.Nanosecond)
			s.expectBegan(10)
			s.finish(nil)
		},
		"not in vain with a first page that all rows fit on": func(s *stage) {
			s.firstAlone(1)
			s.page("x=1&limit=100")
			s.pass(patience)
			s.expectBegan()
		},
		"again once a client went that asked": func(s *stage) {
			s.first(1)
			s.firstAlone(2)
			s.askFollowing(2).leave()
			synctest.Wait()
			s.finish(nil)
			s.pass(almost)
			s.expectBegan(1)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 2)
			s.finish(nil)
		},
		"with 16 at most": func(s *stage) {
			for walk := 1; walk <= 18; walk++ {
				s.firstAlone(walk)
			}
			s.expectOpen(16)
			s.pass(patience)
			s.finishAll()
			s.expectBegan(3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)
		},
		"until Close": func(s *stage) {
			s.firstAlone(1)
			s.exports.Close()
			s.expectOpen(0)
			s.pass(patience)
			s.expectBegan()
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				test(s)
				s.expectOpen(0)
			})
		})
	}
}
