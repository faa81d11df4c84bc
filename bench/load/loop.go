package main

import (
	"context"
	"sync/atomic"
	"time"
)

// loop hands out the same requests again and again. It is safe for concurrent use.
type loop struct {
	requests [][]byte
	given    atomic.Int64
}

// times is for a client.Load of so many requests.
func (l *loop) times(n int) func(context.Context, *[]byte) ([]byte, bool) {
	var given atomic.Int64
	return l.while(func() bool { return given.Add(1) <= int64(n) })
}

// until is for a client.Load that ends at a time.
func (l *loop) until(deadline time.Time) func(context.Context, *[]byte) ([]byte, bool) {
	return l.while(func() bool { return time.Now().Before(deadline) })
}

func (l *loop) while(more func() bool) func(context.Context, *[]byte) ([]byte, bool) {
	return func(ctx context.Context, _ *[]byte) ([]byte, bool) {
		if ctx.Err() != nil || !more() {
			return nil, false
		}
		return l.requests[int(l.given.Add(1)-1)%len(l.requests)], true
	}
}
