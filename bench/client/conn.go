package client

import (
	"bufio"
	"context"
	"fmt"
	"net"
)

// Conn is a connection that is kept alive. It is not safe for concurrent use.
type Conn struct {
	conn   net.Conn
	reader *bufio.Reader
	body   []byte
	stop   func() bool
}

// Dial connects to a host and port. The connection is closed when ctx ends, so
// that a running Do returns: that costs nothing a request, as a deadline would.
func Dial(ctx context.Context, address string) (*Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return &Conn{
		conn:   conn,
		reader: bufio.NewReaderSize(conn, headerBytes),
		stop:   context.AfterFunc(ctx, func() { _ = conn.Close() }),
	}, nil
}

// Do writes a request, as Render made it, and reads its answer, whatever its
// status. A request is never sent twice: whether one whose connection failed was
// taken is for the caller to judge. After an error, and after an answer with
// Close, the connection is of no more use but to be closed.
func (c *Conn) Do(request []byte) (Response, error) {
	_, writeErr := c.conn.Write(request)
	// A server that refuses a request may answer before it has read all of it,
	// and close: then writing fails, and the answer waits all the same.
	response, err := readResponse(c.reader, c.body)
	switch {
	case err != nil && writeErr != nil:
		return Response{}, fmt.Errorf("writing a request: %w", writeErr)
	case err != nil:
		return Response{}, fmt.Errorf("reading an answer: %w", err)
	}
	c.body = response.Body
	response.Close = response.Close || writeErr != nil
	return response, nil
}

// Close closes the connection.
func (c *Conn) Close() error {
	if !c.stop() {
		return nil // Closed already, with the context.
	}
	return c.conn.Close()
}
