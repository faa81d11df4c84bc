package query_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// rest is how long the worker rests from what nobody waits for, in times of what that took.
const rest = 9

// In each test the first version is being ranked, and the second is due meanwhile.
func TestRest(t *testing.T) {
	const took, almost = time.Second, rest*time.Second - time.Nanosecond
	for name, test := range map[string]func(*stage){
		"from what nobody waits for": func(s *stage) {
			s.pass(took)
			s.finish(nil)
			s.pass(almost)
			s.expectBegan(1)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 2)
		},
		"after each by itself": func(s *stage) {
			s.firstAlone(3)
			s.pass(took)
			s.finish(nil)
			s.pass(rest * took)
			s.expectBegan(1, 2)
			s.pass(2 * took)
			s.finish(nil)
			s.pass(rest*2*took - time.Nanosecond)
			s.expectBegan(1, 2)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 2, 3)
		},
		"from what failed": func(s *stage) {
			s.pass(took)
			s.finish(errors.New("reading a cell"))
			s.pass(almost)
			s.expectBegan(1)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 2)
		},
		"from what was replaced": func(s *stage) {
			s.pass(took)
			s.firstAlone(1)
			s.pass(almost)
			s.expectBegan(1)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 2)
		},
		"from what nobody waits for in the end": func(s *stage) {
			following := s.askFollowing(1)
			s.pass(took)
			following.leave()
			synctest.Wait()
			s.finish(nil)
			s.pass(almost)
			s.expectBegan(1)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 2)
		},
		"not from what is asked for": func(s *stage) {
			s.firstAlone(3)
			s.pass(took)
			s.finish(nil)
			three, four := s.askFollowing(3), s.askFollowing(4)
			s.expectBegan(1, 3)
			s.pass(took)
			s.finish(nil)
			s.expectBegan(1, 3, 4)
			s.pass(took)
			s.finish(nil)
			s.expectVersion(three, 3)
			s.expectVersion(four, 4)
			// They neither end it nor make it longer.
			s.pass(almost - 2*took)
			s.expectBegan(1, 3, 4)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 3, 4, 2)
		},
		"no less for a client that went": func(s *stage) {
			s.firstAlone(3)
			s.pass(took)
			s.finish(nil)
			following := s.askFollowing(2)
			s.expectBegan(1, 2)
			following.leave()
			synctest.Wait()
			s.finish(nil)
			s.pass(almost)
			s.expectBegan(1, 2)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 2, 3)
		},
		"not after what is asked for": func(s *stage) {
			s.pass(took)
			following := s.askFollowing(1)
			s.finish(nil)
			s.expectVersion(following, 1)
			s.expectBegan(1, 2)
		},
		"and patience at once": func(s *stage) {
			s.pass(took)
			s.finish(nil)
			s.pass(almost)
			s.firstAlone(2) // In place of the second.
			s.pass(patience - time.Nanosecond)
			s.expectBegan(1)
			s.pass(time.Nanosecond)
			s.expectBegan(1, 3)
		},
		"while 16 wait at most": func(s *stage) {
			s.pass(took)
			s.finish(nil)
			for walk := 3; walk <= 19; walk++ {
				s.firstAlone(walk)
			}
			s.expectOpen(16)
			s.finishAll()
			s.expectBegan(1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19)
		},
		"until Close": func(s *stage) {
			s.pass(took)
			s.finish(nil)
			s.exports.Close()
			s.expectOpen(0)
			s.pass(rest * took)
			s.expectBegan(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.first(1)
				s.firstAlone(2)
				test(s)
				s.finishAll()
				s.expectOpen(0)
			})
		})
	}
}
