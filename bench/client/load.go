package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Load is requests that are to be sent over some connections.
type Load struct {
	Address     string // of the server: host and port
	Connections int
	// Every is the time from one request to the next, of all connections together,
	// whether or not those before were answered; a request that finds no connection
	// free is late. 0 means that a connection sends the next request as soon as it
	// has the answer to the one before.
	Every time.Duration
	// Expect is the status that answers must have. A 503 is obeyed: the request is
	// sent again after its Retry-After. Anything else ends the load.
	Expect int
	// Next returns the next request, and false when there are no more or ctx has
	// ended. It is called by all connections at once. scratch is the connection's
	// own, for Next to keep memory in where a request is not ready yet.
	Next func(ctx context.Context, scratch *[]byte) (request []byte, ok bool)

	started  time.Time
	due      atomic.Int64 // requests that a connection waits to send, or has sent
	answered atomic.Int64
}

// Answered returns how many requests have been answered with the expected status
// so far.
func (l *Load) Answered() int { return int(l.answered.Load()) }

// Report is what came of a load.
type Report struct {
	// Elapsed is the time from the first request to the last answer.
	Elapsed time.Duration
	// Refused counts the 503s that were obeyed.
	Refused int
	// Latencies are those of all requests that were answered as expected: from
	// writing a request to its whole answer, or, where the load says how often a
	// request is due, from when it was due.
	Latencies Latencies
}

// Run sends the load. It connects before the clock starts. What was answered
// before an error is in the report beside it.
func (l *Load) Run(ctx context.Context) (Report, error) {
	senders := make([]*sender, l.Connections)
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range senders {
		senders[i] = &sender{load: l}
		var err error
		if senders[i].conn, err = Dial(groupCtx, l.Address); err != nil {
			for _, s := range senders[:i] {
				err = errors.Join(err, s.conn.Close())
			}
			return Report{}, err
		}
	}
	runtime.GC() // What rendering left behind is not to be collected in the time that is measured.
	l.started = time.Now()
	for _, s := range senders {
		group.Go(func() error { return s.run(groupCtx) })
	}
	err := group.Wait()
	report := Report{Elapsed: time.Since(l.started)}
	for _, s := range senders {
		report.Refused += s.refused
		report.Latencies = append(report.Latencies, s.latencies...)
	}
	slices.Sort(report.Latencies)
	return report, err
}

// sender is one connection's part of a load.
type sender struct {
	load      *Load
	conn      *Conn
	scratch   []byte
	refused   int
	latencies Latencies
}

func (s *sender) run(ctx context.Context) error {
	defer func() { _ = s.conn.Close() }() // Everything was answered, or the error says more.
	for {
		due, err := s.load.wait(ctx)
		if err != nil {
			return err
		}
		request, ok := s.load.Next(ctx, &s.scratch)
		if !ok {
			return ctx.Err()
		}
		if err := s.send(ctx, request, due); err != nil {
			return err
		}
	}
}

// wait waits until another request is due, and returns when that is: the zero
// time where it is at once.
func (l *Load) wait(ctx context.Context) (due time.Time, err error) {
	if l.Every == 0 {
		return due, nil
	}
	due = l.started.Add(time.Duration(l.due.Add(1)-1) * l.Every)
	return due, Wait(ctx, time.Until(due))
}

// send sends one request until it is answered as expected.
func (s *sender) send(ctx context.Context, request []byte, due time.Time) error {
	for {
		started := due
		if due.IsZero() {
			started = time.Now()
		}
		response, err := s.conn.Do(request)
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		if response.Close {
			if err := s.reconnect(ctx); err != nil {
				return err
			}
		}
		switch response.Status {
		case s.load.Expect:
			s.latencies = append(s.latencies, time.Since(started))
			s.load.answered.Add(1)
			return nil
		case http.StatusServiceUnavailable:
			s.refused++
			if err := Wait(ctx, max(response.RetryAfter, time.Millisecond)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("status %d: %s", response.Status, response.Body)
		}
	}
}

func (s *sender) reconnect(ctx context.Context) error {
	_ = s.conn.Close() // The server has closed it.
	conn, err := Dial(ctx, s.load.Address)
	if err != nil {
		return err
	}
	s.conn = conn
	return nil
}

// Wait waits for a time, or until ctx ends, whose error it returns.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// All returns a Next that hands out requests that are ready, each once.
func All(requests [][]byte) func(context.Context, *[]byte) ([]byte, bool) {
	var next atomic.Int64
	return func(ctx context.Context, _ *[]byte) ([]byte, bool) {
		i := int(next.Add(1)) - 1
		if i >= len(requests) || ctx.Err() != nil {
			return nil, false
		}
		return requests[i], true
	}
}
