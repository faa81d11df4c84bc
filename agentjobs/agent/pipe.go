package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	acp "github.com/coder/acp-go-sdk"
)

// MaxLine bounds one message of the agent, in bytes. It stays below the 10 MiB at
// which the library gives up.
const MaxLine = 8 << 20

// message is a line of JSON-RPC. Fields and types are those of the library's own:
// what one of us takes for a message, the other must too.
type message struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      *json.RawMessage  `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *acp.RequestError `json:"error,omitempty"`
}

// cancelRequest is handled inside the library, without its handler. As one request
// is dealt with at a time, and at once, there is never one to cancel.
const cancelRequest = "$/cancel_request"

// pipe stands between the agent's streams and the library. It is the reader and
// the writer of the library's connection.
//
// Invariant: at most one message of the agent's that wants handling is out at a
// time. It is out from the moment it is handed to the library until it was handled
// (a notification) or its answer was written (a request). Counting what is out and
// allowing some more would be faster, but then events of requests, which the
// library runs beside the notifications, come out of order.
type pipe struct {
	stdin   io.Writer
	lines   *bufio.Scanner
	read    int64         // bytes of stdout so far
	limit   int64         // of read
	rest    []byte        // of the line being handed over; belongs to the reader
	ready   chan struct{} // closed when the library may read
	done    chan struct{} // closed when the run is over
	alive   func()        // called for each message that wants handling
	ignored atomic.Int64  // lines that are no messages

	mu       sync.Mutex
	changed  *sync.Cond
	closed   bool
	out      bool   // a message is out
	notice   bool   // that message is a notification
	call     []byte // the id of our call that waits for an answer
	answered bool   // the answer to it was handed over
	cause    error  // why there are no more lines; nil while there are
}

func newPipe(o Options, alive func()) *pipe {
	p := &pipe{
		stdin: o.Stdin,
		limit: o.OutputBytes,
		ready: make(chan struct{}),
		done:  make(chan struct{}),
		alive: alive,
	}
	p.changed = sync.NewCond(&p.mu)
	p.lines = bufio.NewScanner(readerFunc(func(b []byte) (int, error) {
		if p.read > p.limit {
			return 0, io.EOF // in the middle of a line, which may never end
		}
		n, err := o.Stdout.Read(b)
		p.read += int64(n)
		return n, err
	}))
	p.lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	return p
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// Read hands the next message over to the library, in as many pieces as it takes.
func (p *pipe) Read(b []byte) (int, error) {
	select {
	case <-p.ready:
	case <-p.done:
		return 0, io.EOF
	}
	if len(p.rest) == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// next fills rest with a line, or says that there is none any more.
func (p *pipe) next() error {
	for p.lines.Scan() && p.read <= p.limit {
		line := p.lines.Bytes()
		var m message
		if err := json.Unmarshal(line, &m); err != nil || m.ID == nil && m.Method == "" {
			// Not worth an end: agents greet and warn on this stream. The bound on all
			// output holds.
			p.ignored.Add(1)
			continue
		}
		if m.ID == nil && m.Method == cancelRequest {
			continue
		}
		if !p.admit(m) {
			return io.EOF
		}
		p.rest = append(append(p.rest[:0], line...), '\n')
		return nil
	}
	switch {
	case p.read > p.limit:
		p.end(fmt.Errorf("%w: more than %d bytes", ErrOutput, p.limit))
	case errors.Is(p.lines.Err(), bufio.ErrTooLong):
		p.end(fmt.Errorf("%w: a line of more than %d bytes", ErrOutput, MaxLine))
	default:
		p.end(ErrEnded)
	}
	return io.EOF
}

// end notes why there are no more lines, and waits until those before it were dealt
// with. The library takes the end of the stream for the end of all calls, also of
// one whose answer has arrived; and the last words of an agent that ends in the
// middle of a turn are the ones that tell why.
func (p *pipe) end(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cause = why
	for (p.out || p.answered) && !p.closed {
		p.changed.Wait()
	}
}

// admit waits until nothing is out, and says whether the run still goes on.
func (p *pipe) admit(m message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.out && !p.closed {
		p.changed.Wait()
	}
	if p.closed {
		return false
	}
	if m.Method == "" {
		p.answered = p.answered || p.call != nil && bytes.Equal(p.call, *m.ID)
		return true
	}
	p.out, p.notice = true, m.ID == nil
	p.alive()
	return true
}

// handled says that a handler returned. A request is out until its answer is
// written.
func (p *pipe) handled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.notice {
		p.out = false
		p.changed.Broadcast()
	}
}

// Write passes a message of the library on to the agent.
func (p *pipe) Write(b []byte) (int, error) {
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return 0, fmt.Errorf("reading our own message: %w", err)
	}
	if m.Method != "" && m.ID != nil {
		p.mu.Lock()
		p.call, p.answered = *m.ID, false
		p.mu.Unlock()
	}
	n, err := p.stdin.Write(b)
	if m.Method == "" {
		p.mu.Lock()
		p.out = false
		p.changed.Broadcast()
		p.mu.Unlock()
	}
	return n, err
}

// returned ends a call, and says whether it was answered.
func (p *pipe) returned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	answered := p.answered
	p.call, p.answered = nil, false
	p.changed.Broadcast()
	return answered
}

// ended is why the stream ended, or why the agent cannot be written to.
func (p *pipe) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == nil {
		return ErrEnded
	}
	return p.cause
}

// close lets go of the library. A Read that waits for the agent returns when
// Stdout does.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.done)
		p.changed.Broadcast()
	}
}
