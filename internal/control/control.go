// Package control carries HTTP between the administrative commands and whoever
// has the data directory open: over the control socket to a running server, or
// within the process where the command opened the store itself. The commands
// can not tell the difference.
package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNoServer says that no server listens on the socket.
var ErrNoServer = errors.New("no server listens on the control socket")

// maxSocketPath is what a unix socket's address holds on Linux, without the
// zero byte at its end (unix(7)).
const maxSocketPath = 107

// Listen makes the control socket, which only its owner may open. The caller
// holds the data directory's lock, so a socket that lies there is left over from
// a process that ended without removing it.
func Listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing the old control socket: %w", err)
	}
	address, release, err := address(path)
	if err != nil {
		return nil, err
	}
	defer release()
	// The mask keeps others out from the moment the socket exists; a chmod
	// afterwards would leave a gap.
	old := syscall.Umask(0o177)
	listener, err := net.Listen("unix", address)
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listening on the control socket %s: %w", path, err)
	}
	// The address may be a name that is valid only here and now.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	return &socket{Listener: listener, path: path}, nil
}

// socket removes its file when it is closed.
type socket struct {
	net.Listener
	path string
}

func (s *socket) Close() error {
	err := s.Listener.Close()
	if removeErr := os.Remove(s.path); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

// Dial returns a transport to the server that listens on the socket, or
// ErrNoServer.
func Dial(ctx context.Context, path string) (*http.Transport, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		address, release, err := address(path)
		if err != nil {
			return nil, err
		}
		defer release()
		return new(net.Dialer).DialContext(ctx, "unix", address)
	}
	conn, err := dial(ctx, "", "")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%s: %w", path, ErrNoServer)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to the control socket %s: %w", path, err)
	}
	if err := conn.Close(); err != nil {
		return nil, fmt.Errorf("trying the control socket %s: %w", path, err)
	}
	return &http.Transport{DialContext: dial}, nil
}

// address returns a name for the socket that fits into a socket address. A
// longer path is named through an open handle of its directory.
func address(path string) (name string, release func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("opening the directory of the control socket: %w", err)
	}
	name = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	return name, func() { _ = dir.Close() }, nil
}
