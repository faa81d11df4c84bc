// Package repeat sends one workload again and again, on other days each time, so
// that a measurement may last without rendering ahead what it sends: the paths
// and visitors stay, and the days move on.
package repeat

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"time"

	"footfall/bench/workload"
	"footfall/sketch"
)

// Requests are rendered batches of a workload. Repeating costs a copy of a
// request and a date in each of its lines, some 3 % of what the server does.
type Requests struct {
	rendered []request
	next     atomic.Int64
}

type request struct {
	bytes []byte
	body  int // where the body begins
}

// New renders the events of a workload in batches; render makes a request of a
// body.
func New(events *workload.Events, batch int, render func(body []byte) ([]byte, error)) (*Requests, error) {
	r := new(Requests)
	for b := range events.Batches(batch) {
		rendered, err := render(b.Body)
		if err != nil {
			return nil, err
		}
		body := len(rendered) - len(b.Body)
		if !bytes.HasSuffix(rendered, b.Body) {
			return nil, fmt.Errorf("repeating requests: the body of a request must be as it was rendered")
		}
		r.rendered = append(r.rendered, request{bytes: rendered, body: body})
	}
	return r, nil
}

// Next appends the next request to dst. Its events come as many days later than
// those of the workload as later says for the number of the repetition, from 0.
// It is safe for concurrent use.
func (r *Requests) Next(dst []byte, later func(repetition int) sketch.Day) []byte {
	number := int(r.next.Add(1)) - 1
	from := r.rendered[number%len(r.rendered)]
	dst = append(dst, from.bytes...)
	moveDates(dst[len(dst)-len(from.bytes)+from.body:], later(number/len(r.rendered)))
	return dst
}

// lineEnd is how every line of a workload ends, from its date on.
const lineEnd = "2006-01-02T15:04:05.000Z\"}\n"

// moveDates moves the dates of a body. A batch holds few distinct days, one after
// the other, so that each is computed once.
func moveDates(body []byte, days sketch.Day) {
	if days == 0 {
		return
	}
	var from, to [len(time.DateOnly)]byte
	for len(body) > 0 {
		end := bytes.IndexByte(body, '\n') + 1
		date := body[end-len(lineEnd):][:len(from)]
		if [len(from)]byte(date) != from {
			from = [len(from)]byte(date)
			day, err := sketch.ParseDay(string(date))
			if err != nil {
				panic(err) // Package workload writes dates.
			}
			copy(to[:], (day + days).String())
		}
		copy(date, to[:])
		body = body[end:]
	}
}
