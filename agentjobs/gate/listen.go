package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
)

// socketMode lets only the owner connect (unix(7)).
const socketMode = 0o600

// maxConnections leaves room for connections that idle between requests. Each
// takes a file descriptor of the service, which other runs need as well.
func maxConnections(limits Limits) int {
	return 4*limits.Concurrent + 16
}

// listen makes the socket, which only its owner may open.
func listen(path string, connections int) (net.Listener, error) {
	if err := removeSocket(path); err != nil {
		return nil, err
	}
	// The file gets the mode of the socket that is bound to it, less the mask, so
	// it keeps others out from the moment it exists. A chmod afterwards would leave
	// a gap; a change of the mask would hold for the whole process, where other
	// runs write files and start programs.
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var err error
		if controlErr := conn.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), socketMode) }); controlErr != nil {
			return controlErr
		}
		return err
	}}
	listener, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on the socket %s: %w", path, err)
	}
	if err := checkMode(path); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	// Close of the gate removes the file, and reports where it can not.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	return &boundedListener{
		Listener: listener,
		places:   make(chan struct{}, connections),
		closed:   make(chan struct{}),
	}, nil
}

// removeSocket makes room where a process ended without removing its socket. What
// is not a socket stays.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for an old socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("making the socket %s: %w", path, fs.ErrExist)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the old socket: %w", err)
	}
	return nil
}

// checkMode notices a system whose sockets do not pass their mode on.
func checkMode(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("looking at the new socket: %w", err)
	}
	if info.Mode().Perm()&^socketMode != 0 {
		return fmt.Errorf("the socket %s has mode %v: others could connect", path, info.Mode().Perm())
	}
	return nil
}

// boundedListener accepts no more than a number of connections at a time. Others
// wait in the kernel's queue: an agent that holds all of them stops itself alone.
type boundedListener struct {
	net.Listener
	places  chan struct{}
	closed  chan struct{}
	closing sync.Once
}

func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *boundedListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// boundedConn gives its place back when it is closed.
type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
