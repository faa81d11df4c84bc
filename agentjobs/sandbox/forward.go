package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Connections that the forwarder serves at once; more wait in the listener's
// backlog. An agent talks to its model over a few.
const maxForwarded = 64

// A forwarder carries connections of a listener to a unix socket, byte by byte.
type forwarder struct {
	listener net.Listener
	socket   string
	slots    chan struct{}
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// newForwarder takes the listener over; Close ends every connection.
func newForwarder(listener net.Listener, socket string) *forwarder {
	ctx, cancel := context.WithCancel(context.Background())
	f := &forwarder{listener: listener, socket: socket, slots: make(chan struct{}, maxForwarded), stop: cancel}
	f.running.Go(func() { f.accept(ctx) })
	return f
}

func (f *forwarder) Close() error {
	f.stop()
	err := f.listener.Close()
	f.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (f *forwarder) accept(ctx context.Context) {
	for {
		select {
		case f.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		client, err := f.listener.Accept()
		if err != nil {
			<-f.slots
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Such as too many open files, which passes.
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return
			}
			continue
		}
		f.running.Go(func() {
			defer func() { <-f.slots }()
			f.serve(ctx, client)
		})
	}
}

func (f *forwarder) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	upstream, err := (&net.Dialer{}).DialContext(ctx, "unix", f.socket)
	if err != nil {
		return
	}
	defer upstream.Close()
	defer context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = upstream.Close()
	})()

	var both sync.WaitGroup
	both.Go(func() { pour(upstream, client) })
	both.Go(func() { pour(client, upstream) })
	both.Wait()
}

// pour copies until src ends and passes that end on alone: the other direction
// goes on, since a client may close its side once its request is sent. Where the
// copy fails the other direction has no sense left, and both are closed.
func pour(dst, src net.Conn) {
	if _, err := io.Copy(dst, src); err != nil {
		_ = src.Close()
		_ = dst.Close()
		return
	}
	if half, ok := dst.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
