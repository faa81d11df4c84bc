package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// ErrKilled is what Wait returns, wrapped, after Kill.
var ErrKilled = errors.New("the agent was killed")

// ExitError is the end of an agent that did not exit with 0.
type ExitError struct {
	Code   int            `json:"code"`   // -1 where a signal ended it
	Signal syscall.Signal `json:"signal"` // 0 where it exited by itself
}

func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return fmt.Sprintf("the agent was ended by signal %d (%s)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("the agent exited with code %d", e.Code)
}

func exitOf(status syscall.WaitStatus) *ExitError {
	if status.Signaled() {
		return &ExitError{Code: -1, Signal: status.Signal()}
	}
	return &ExitError{Code: status.ExitStatus()}
}

// A Process is an agent that was started. Its methods are safe for concurrent
// use.
type Process struct {
	stdin, stdout *os.File
	stderr        *ring
	stderrEnd     *os.File
	drained       chan struct{}

	done chan struct{}
	err  error // set before done is closed

	mu    sync.Mutex
	cause error // why it was stopped; the first one stays
	kill  func()
}

// pipes are the agent's ends, to close once it has them.
type pipes struct{ stdin, stdout, stderr *os.File }

func (p pipes) close() { closeAll([]*os.File{p.stdin, p.stdout, p.stderr}) }

// newProcess opens the pipes. They are files on the agent's side, so that a full
// pipe stops the agent, and nothing of its output waits in the service.
func newProcess(stderrBytes int) (*Process, pipes, error) {
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		read, write, err := os.Pipe()
		if err != nil {
			closeAll(ends[:i])
			return nil, pipes{}, fmt.Errorf("open the agent's pipes: %w", err)
		}
		ends[i], ends[i+1] = read, write
	}
	p := &Process{
		stdin: ends[1], stdout: ends[2], stderrEnd: ends[4],
		stderr:  newRing(stderrBytes),
		drained: make(chan struct{}),
		done:    make(chan struct{}),
	}
	go func() {
		defer close(p.drained)
		p.stderr.drain(p.stderrEnd)
	}()
	return p, pipes{stdin: ends[0], stdout: ends[3], stderr: ends[5]}, nil
}

// Stdin is the agent's standard input. A write to an agent that is gone returns
// EPIPE.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the agent's standard output. It may be read after the end, until
// Room.Close. An agent whose output nobody reads waits.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Stderr returns the last Limits.StderrBytes of the standard error.
func (p *Process) Stderr() string { return p.stderr.String() }

// Done is closed when the agent and all it started are gone. With Mode None,
// those of its process group.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for Done. It returns nil where the agent exited with 0, *ExitError
// where it ended otherwise, *LimitError where a limit ended it, and an error that
// wraps ErrKilled, or the cause of the end of Start's context, where that did.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Kill ends the agent and all it started. It does not wait: Done does.
func (p *Process) Kill() { p.stop(ErrKilled) }

func (p *Process) stop(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == nil {
		p.cause = cause
	}
	select {
	case <-p.done:
	default:
		p.kill()
	}
}

// end settles what Wait returns. last is the agent's own end, nil where it was
// not told.
func (p *Process) end(last, otherwise error) {
	_ = p.stdin.Close()
	<-p.drained
	p.mu.Lock()
	defer p.mu.Unlock()
	exit := (*ExitError)(nil)
	switch {
	case errors.As(last, &exit) && exit.Code == 0:
	case last != nil:
		p.err = last
	case p.cause != nil:
		p.err = fmt.Errorf("the agent's run was ended: %w", p.cause)
	default:
		p.err = otherwise
	}
	close(p.done)
}

// closePipes gives the descriptors back; Stdout can not be read after it.
func (p *Process) closePipes() {
	closeAll([]*os.File{p.stdin, p.stdout, p.stderrEnd})
	<-p.drained
}
