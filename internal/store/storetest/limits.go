package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"footfall/sketch"
)

// runLimits holds the stores to the laws of limits, which have settings of their
// own.
func runLimits(t *testing.T, open func(*testing.T, Settings) Subject) {
	t.Run("paths beyond the limits of a day", func(t *testing.T) {
		otherPaths(t, open(t, Settings{PathsPerDay: 3}), 3, 1_000)
	})
	t.Run("paths beyond the limits of a project", func(t *testing.T) {
		otherPaths(t, open(t, Settings{Paths: 7}), 1_000, 7)
	})
	t.Run("paths beyond both limits", func(t *testing.T) {
		otherPaths(t, open(t, Settings{PathsPerDay: 4, Paths: 9}), 4, 9)
	})
	t.Run("a refused batch takes no path's place", func(t *testing.T) {
		refusedPaths(t, open(t, Settings{PathsPerDay: 2, Paths: 2}))
	})
	t.Run("receipts", func(t *testing.T) { receipts(t, open) })
	t.Run("receipts are bounded and expire", func(t *testing.T) { receiptLimit(t, open) })
	t.Run("one of many concurrent batches of a receipt is taken", func(t *testing.T) {
		concurrentReceipts(t, &suite{subject: open(t, Settings{})})
	})
}

// otherPaths: what comes first has a row of its own, up to the limits; all that
// comes above counts in one row and in the totals; and it stays so across
// reopening.
func otherPaths(t *testing.T, subject Subject, perDay, perProject int) {
	s := &suite{subject: subject}
	first, second := s.site(t), s.site(t)
	random := rand.New(rand.NewPCG(1, 2))
	paths := make(map[*site]map[string]bool)
	days := make(map[*site]map[sketch.Day]map[string]bool)
	for _, site := range []*site{first, second} {
		paths[site] = make(map[string]bool)
		days[site] = make(map[sketch.Day]map[string]bool)
		for day := range sketch.Day(Days) {
			days[site][FirstDay+day] = make(map[string]bool)
		}
	}
	for round := range 40 {
		site := []*site{first, second}[random.IntN(2)]
		var batch, want []sketch.PageView
		for range 1 + random.IntN(12) {
			v := visit(fmt.Sprintf("/%d", random.IntN(14)), FirstDay+sketch.Day(random.IntN(Days)), sketch.Traffic(random.IntN(2)), random.Uint64N(50))
			batch = append(batch, v)
			today := days[site][v.Day]
			if !today[v.Path] && (len(today) >= perDay || !paths[site][v.Path] && len(paths[site]) >= perProject) {
				v.Path = sketch.OtherPath
			} else {
				today[v.Path], paths[site][v.Path] = true, true
			}
			want = append(want, v)
		}
		if err := site.try(sketch.Mark{}, batch...); err != nil {
			t.Fatal(err)
		}
		site.visits = append(site.visits, want...)
		site.check(sketch.AllDays())
		if round%7 == 6 {
			s.reopen(t)
		}
	}
	for _, site := range []*site{first, second} {
		site.check(sketch.AllDays())
		for _, row := range site.rank(sketch.AllDays()).Rows {
			delete(paths[site], row.Path)
		}
		if len(paths[site]) > 0 {
			t.Errorf("no rows of %v", paths[site])
		}
	}
}

// refusedPaths: a path takes its place when its batch is taken, not before.
func refusedPaths(t *testing.T, subject Subject) {
	s := &suite{subject: subject}
	site := s.site(t)
	head := []byte("head")
	for i := range 5 {
		site.refused(sketch.ErrSourceMoved, mark(head, 10, 20), visit(fmt.Sprintf("/%d", i), FirstDay, sketch.Human, 1))
	}
	site.commit(visit("/a", FirstDay, sketch.Human, 1), visit("/b", FirstDay, sketch.Human, 1))
	site.check(sketch.AllDays())
	if err := site.try(sketch.Mark{}, visit("/c", FirstDay, sketch.Human, 1)); err != nil {
		t.Fatal(err)
	}
	site.visits = append(site.visits, visit(sketch.OtherPath, FirstDay, sketch.Human, 1))
	site.check(sketch.AllDays())
}

// clock is one that a test moves.
type clock struct{ seconds atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(1_800_000_000+c.seconds.Load(), 0) }

func (c *clock) advance(d time.Duration) { c.seconds.Add(int64(d / time.Second)) }

func (c *clock) receipt(key byte, answer string) *sketch.Receipt {
	return &sketch.Receipt{Key: [32]byte{key}, Body: [32]byte{1, key}, Taken: c.now().Unix(), Answer: []byte(answer)}
}

func (s *site) tryReceipt(r *sketch.Receipt, views ...sketch.PageView) error {
	b := sketch.NewBatch(s.number, views...)
	b.Receipt = r
	err := s.subject.Commit(s.t.Context(), b)
	if err == nil {
		s.visits = append(s.visits, views...)
	}
	return err
}

func (s *site) expectReceipt(key byte, want *sketch.Receipt) {
	s.t.Helper()
	got, found, err := s.subject.FindReceipt(s.t.Context(), s.number, [32]byte{key})
	switch {
	case err != nil:
		s.t.Fatalf("finding a receipt: %v", err)
	case found != (want != nil):
		s.t.Fatalf("receipt %d: found is %v", key, found)
	case found && (got.Key != want.Key || got.Body != want.Body || got.Taken != want.Taken || string(got.Answer) != string(want.Answer)):
		s.t.Fatalf("receipt %d is %+v, expected %+v", key, got, *want)
	}
}

// receipts: a batch is taken once under a key, whatever lies in between; the
// receipt says what was answered; other projects have keys of their own.
func receipts(t *testing.T, open func(*testing.T, Settings) Subject) {
	c := &clock{}
	s := &suite{subject: open(t, Settings{Now: c.now})}
	site, other := s.site(t), s.site(t)
	site.expectReceipt(1, nil)
	first := c.receipt(1, `{"accepted":2}`)
	if err := site.tryReceipt(first, visit("/", FirstDay, sketch.Human, 1), visit("/", FirstDay, sketch.AI, 2)); err != nil {
		t.Fatal(err)
	}
	empty := c.receipt(2, `{"accepted":0}`)
	if err := site.tryReceipt(empty); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, again := range []*sketch.Receipt{first, empty, c.receipt(1, "other")} {
			if err := site.tryReceipt(again, visit("/", FirstDay, sketch.Human, 3)); !errors.Is(err, sketch.ErrRepeated) {
				t.Fatalf("again: %v", err)
			}
		}
		site.expectReceipt(1, first)
		site.expectReceipt(2, empty)
		other.expectReceipt(1, nil)
		site.check(sketch.AllDays())
		s.reopen(t)
	}
	if err := other.tryReceipt(c.receipt(1, "another"), visit("/", FirstDay, sketch.Human, 3)); err != nil {
		t.Fatal(err)
	}
	other.check(sketch.AllDays())

	c.advance(sketch.ReceiptLifetime - time.Second)
	site.expectReceipt(1, first)
	c.advance(time.Second)
	site.expectReceipt(1, nil)
	second := c.receipt(1, "later")
	if err := site.tryReceipt(second, visit("/", FirstDay, sketch.Human, 9)); err != nil {
		t.Fatalf("after the lifetime: %v", err)
	}
	site.expectReceipt(1, second)
	s.reopen(t)
	site.expectReceipt(1, second)
	site.check(sketch.AllDays())
}

// receiptLimit: beyond the limit a new key is refused and an old one is not
// forgotten; batches without keys are taken; what expires makes room.
func receiptLimit(t *testing.T, open func(*testing.T, Settings) Subject) {
	const limit = 5
	c := &clock{}
	s := &suite{subject: open(t, Settings{Now: c.now, Receipts: limit})}
	site, other := s.site(t), s.site(t)
	for round := range byte(3) {
		for i := range byte(limit) {
			if err := site.tryReceipt(c.receipt(10*round+i, ""), visit("/", FirstDay, sketch.Human, uint64(i))); err != nil {
				t.Fatalf("receipt %d of round %d: %v", i, round, err)
			}
			if i == 2 {
				s.reopen(t)
			}
			c.advance(time.Minute)
		}
		for i := range byte(3) {
			if err := site.tryReceipt(c.receipt(200+i, ""), visit("/", FirstDay, sketch.Human, 99)); !errors.Is(err, sketch.ErrTooManyReceipts) {
				t.Fatalf("one more: %v", err)
			}
		}
		for i := range byte(limit) {
			if err := site.tryReceipt(c.receipt(10*round+i, ""), visit("/", FirstDay, sketch.Human, 99)); !errors.Is(err, sketch.ErrRepeated) {
				t.Fatalf("receipt %d again: %v", i, err)
			}
		}
		if err := other.tryReceipt(c.receipt(round, "")); err != nil {
			t.Fatalf("another project: %v", err)
		}
		site.commit(visit("/", FirstDay, sketch.Human, 1))
		site.check(sketch.AllDays())
		s.reopen(t)
		c.advance(sketch.ReceiptLifetime)
	}
}

// concurrentReceipts: of batches that are sent at the same time under one key,
// one is taken.
func concurrentReceipts(t *testing.T, s *suite) {
	site := s.site(t)
	for key := range byte(10) {
		var taken atomic.Int64
		var running sync.WaitGroup
		for i := range uint64(8) {
			running.Go(func() {
				b := sketch.NewBatch(site.number, visit("/", FirstDay, sketch.Human, i))
				b.Receipt = &sketch.Receipt{Key: [32]byte{key}, Taken: time.Now().Unix(), Answer: []byte{byte(i)}}
				switch err := s.subject.Commit(t.Context(), b); {
				case err == nil:
					taken.Add(1)
				case !errors.Is(err, sketch.ErrRepeated):
					t.Errorf("committing: %v", err)
				}
			})
		}
		running.Wait()
		if taken.Load() != 1 {
			t.Fatalf("%d batches were taken under key %d", taken.Load(), key)
		}
		if _, found, err := s.subject.FindReceipt(t.Context(), site.number, [32]byte{key}); !found || err != nil {
			t.Fatalf("the receipt is not there: %v", err)
		}
	}
	if got := site.rank(sketch.AllDays()); got.Views != [2]uint64{10, 0} {
		t.Errorf("%v views, expected 10", got.Views)
	}
}
