package query

import (
	"context"
	"errors"
	"slices"
	"time"

	"footfall/sketch"
)

// maxSnapshots bounds the snapshots of first pages that wait for the worker. Each
// holds on to what the store would change or remove. Entries without a snapshot
// are as many as requests that wait for them, at most.
const maxSnapshots = 16

// patience is how long a snapshot waits before it is ranked though nobody asked for
// more. A client that wants the next page asks at once, mostly; one that wants the
// first alone, and often, asks for that again, which replaces the one before. Each
// is worth the wait: to rank all takes several times what the first page took.
const patience = 250 * time.Millisecond

// rest is how long the worker rests from rankings that nobody waits for, in times of
// what the last one took: they take a tenth of its time at most, however many first
// pages come. What is asked for is ranked meanwhile. Of more than maxSnapshots that
// wait, for patience to end or the rest, the oldest go.
const rest = 9

// enqueue lets an entry wait for the worker, and following pages find it. Where
// that is one snapshot too many, the oldest goes that nobody asks for yet, if need
// be this one: what requests wait for is not dropped for what may never be asked for.
func (l *listings) enqueue(e *entry) sketch.Snapshot {
	l.entries[e.key] = e
	l.waiting = append(l.waiting, e)

	snapshots := 0
	var unasked *entry
	for _, other := range l.waiting {
		if other.snapshot == nil {
			continue
		}
		snapshots++
		if unasked == nil && other.requests == 0 {
			unasked = other
		}
	}
	if snapshots <= maxSnapshots {
		return nil
	}
	return l.remove(unasked.key) // There is one: no request knows of e.
}

// work ranks what waits, one after the other: a second one beside it would make
// both later, and take the memory of a whole ranking twice.
func (l *listings) work() {
	defer close(l.stopped)
	for {
		e, ctx, snapshot := l.next()
		if e == nil {
			return
		}
		listing, err := l.rank(ctx, e.key, snapshot)
		if err != nil && snapshot != nil && ctx.Err() == nil && !errors.Is(err, sketch.ErrDaysDeleted) {
			// Nobody else is told: its following pages are computed anew.
			l.logger.Warn("Ranking for following pages failed.", "project", e.key.project, "days", e.key.within, "error", err)
		}
		l.finish(e, listing, err)
	}
}

// next waits for an entry to make. It is nil after Close.
func (l *listings) next() (*entry, context.Context, sketch.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn, due := l.turn()
	for turn < 0 && !l.closed {
		l.mu.Unlock()
		select {
		case <-l.changed:
		case <-due:
		}
		l.mu.Lock()
		turn, due = l.turn()
	}
	if l.closed {
		return nil, nil, nil
	}
	e := l.waiting[turn]
	l.waiting = slices.Delete(l.waiting, turn, turn+1)
	snapshot := e.snapshot
	e.snapshot = nil
	e.anew = snapshot == nil
	e.began = time.Now()
	ctx, cancel := context.WithCancel(l.working)
	e.cancel = cancel
	return e, ctx, snapshot
}

// turn returns the index of the entry to make: the first one that is asked for, or
// else the first, once it has waited long enough and the worker is rested. Until
// then it is -1, and due says when to look again. It is called with l.mu held.
func (l *listings) turn() (index int, due <-chan time.Time) {
	asked := slices.IndexFunc(l.waiting, func(e *entry) bool { return e.requests > 0 })
	if asked >= 0 || len(l.waiting) == 0 {
		return asked, nil
	}
	// All have snapshots, and become due in the order they came.
	if wait := max(time.Until(l.waiting[0].due), time.Until(l.rested)); wait > 0 {
		return -1, time.After(wait)
	}
	return 0, nil
}

// wake makes the worker look again at what waits.
func (l *listings) wake() {
	select {
	case l.changed <- struct{}{}:
	default: // It is about to.
	}
}

// rank ranks all of a snapshot, or of a new one where there is none.
func (l *listings) rank(ctx context.Context, key listingKey, snapshot sketch.Snapshot) (sketch.Listing, error) {
	if snapshot != nil {
		defer snapshot.Close()
		return snapshot.All(ctx)
	}
	var listing sketch.Listing
	err := whileDaysGo(func() error {
		snapshot, err := l.ranker.Snapshot(ctx, key.project, key.within)
		if err != nil {
			return err
		}
		defer snapshot.Close()
		listing, err = snapshot.All(ctx)
		return err
	})
	return listing, err
}

// finish keeps what was made, and hands it to the requests that wait.
func (l *listings) finish(e *entry, listing sketch.Listing, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.cancel()
	if rested := time.Now().Add(rest * time.Since(e.began)); e.requests == 0 && rested.After(l.rested) {
		l.rested = rested // Not earlier than it was: somebody may have asked for e in the rest, and gone.
	}
	switch {
	case err != nil && l.closed:
		err = errClosed
	case err != nil && !e.anew && e.requests > 0:
		// What came of the first page is gone. The page that follows is not to
		// blame for it.
		l.waiting = append(l.waiting, e)
		return
	}
	e.listing, e.err = listing, err
	if l.entries[e.key] == e {
		if err == nil {
			l.admit(e)
		} else {
			delete(l.entries, e.key)
		}
	}
	close(e.made)
}
