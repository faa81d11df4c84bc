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

// Load is requests that are to be sent over some connections, each of which
// sends the next one when it has the answer to the one before.
type Load struct {
	Address     string // of the server: host and port
	Connections int
	// Expect is the status that answers must have. A 503 is obeyed: the request is
	// sent again after its Retry-After. Anything else ends the load.
	Expect int
	// Next returns the next request, and false when there are no more or ctx has
	// ended. It is called by all connections at once. scratch is the connection's
	// own, for Next to keep memory in where a request is not ready yet.
	Next func(ctx context.Context, scratch *[]byte) (request []byte, ok bool)

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
	// Latencies are the times from writing a request to its whole answer, of all
	// that were answered as expected, in ascending order.
	Latencies []time.Duration
}

// Percentile returns the latency that p percent of the requests did not exceed,
// and 0 without requests.
func (r *Report) Percentile(p float64) time.Duration {
	if len(r.Latencies) == 0 {
		return 0
	}
	rank := int(p / 100 * float64(len(r.Latencies)))
	return r.Latencies[min(rank, len(r.Latencies)-1)]
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
	started := time.Now()
	for _, s := range senders {
		group.Go(func() error { return s.run(groupCtx) })
	}
	err := group.Wait()
	report := Report{Elapsed: time.Since(started)}
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
	latencies []time.Duration
}

func (s *sender) run(ctx context.Context) error {
	defer func() { _ = s.conn.Close() }() // Everything was answered, or the error says more.
	for {
		request, ok := s.load.Next(ctx, &s.scratch)
		if !ok {
			return ctx.Err()
		}
		if err := s.send(ctx, request); err != nil {
			return err
		}
	}
}

// send sends one request until it is answered as expected.
func (s *sender) send(ctx context.Context, request []byte) error {
	for {
		started := time.Now()
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
