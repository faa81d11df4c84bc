package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// boundedListener accepts at most so many connections at a time. One more is
// answered 503 and closed, at once: left in the kernel's queue, a client would
// wait for as long as its patience lasts, and not know what for.
type boundedListener struct {
	net.Listener
	logger   *slog.Logger
	refused  prometheus.Counter
	open     chan struct{} // one for each connection
	refusing chan struct{} // one for each that is being refused
	running  sync.WaitGroup
}

// Refusing costs a goroutine for as long as the client takes to read the answer.
const (
	refusedAtOnce = 64
	refusalTime   = time.Second
)

func newBoundedListener(l net.Listener, most int, registerer prometheus.Registerer, logger *slog.Logger) *boundedListener {
	return &boundedListener{
		Listener: l,
		logger:   logger,
		refused: promauto.With(registerer).NewCounter(prometheus.CounterOpts{
			Name: "footfall_connections_refused_total", Help: "Connections refused because there were too many.",
		}),
		open:     make(chan struct{}, most),
		refusing: make(chan struct{}, refusedAtOnce),
	}
}

// Accept returns the next connection that there is room for.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &boundedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.open })}, nil
		default:
			l.refuse(conn)
		}
	}
}

// Close stops listening and waits for the answers that are being written.
func (l *boundedListener) Close() error {
	err := l.Listener.Close()
	l.running.Wait()
	return err
}

func (l *boundedListener) refuse(conn net.Conn) {
	l.refused.Inc()
	select {
	case l.refusing <- struct{}{}:
	default:
		_ = conn.Close() // There is nobody to tell.
		return
	}
	l.running.Go(func() {
		defer func() { <-l.refusing }()
		if err := answerFull(conn); err != nil {
			l.logger.Debug("A connection too many could not be answered.", "error", err)
		}
	})
}

// answerFull answers whatever a connection asks. What was sent is read after
// that: closing with bytes unread would reset the connection, and the client would
// lose the answer.
func answerFull(conn net.Conn) error {
	const body = `{"error":"too many connections","details":[{"message":"too many connections"}]}` + "\n"
	err := conn.SetDeadline(time.Now().Add(refusalTime))
	if err == nil {
		_, err = fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json; charset=utf-8\r\n"+
			"Retry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		err = tcp.CloseWrite()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, conn)
	}
	return errors.Join(err, conn.Close())
}

type boundedConn struct {
	net.Conn
	release func()
}

// Close closes the connection and makes room for another.
func (c *boundedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite says that nothing more is answered, while what the client still sends
// is taken: the HTTP server asks for it before it closes a connection with unread
// bytes. Without it the client would be reset, and lose an answer such as a 413.
func (c *boundedConn) CloseWrite() error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.CloseWrite()
	}
	return nil
}
