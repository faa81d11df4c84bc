package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"footfall/internal/control"
	"footfall/internal/datadir"
)

// connection is how a command reaches whoever has the data directory open.
type connection struct {
	http  *http.Client
	close func() error
}

// connect opens the store, or reaches the server that holds it. A server that is
// just starting has the lock but no socket yet, and one that is just stopping
// the other way round: both are waited for.
func connect(ctx context.Context, opts appOptions) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for {
		a, err := openApp(opts)
		if err == nil {
			return &connection{http: &http.Client{Transport: control.Local{Handler: a.admin}}, close: a.close}, nil
		}
		if !errors.Is(err, datadir.ErrLocked) {
			return nil, err
		}
		transport, socketErr := control.Dial(ctx, datadir.Socket(opts.data))
		if socketErr == nil {
			return &connection{
				http:  &http.Client{Transport: transport},
				close: func() error { transport.CloseIdleConnections(); return nil },
			}, nil
		}
		if ctx.Err() == nil && !errors.Is(socketErr, control.ErrNoServer) {
			return nil, socketErr
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w, which is no server: try again when it has ended", err)
		case <-retry.C:
		}
	}
}

// with calls fn with a connection to a data directory that is there, and closes it.
// A mistyped directory is told so, not created.
func (c *common) with(ctx context.Context, fn func(*connection) error) error {
	if err := c.mustExist(); err != nil {
		return err
	}
	return c.withNew(ctx, fn)
}

func (c *common) mustExist() error {
	if _, err := os.Stat(c.data); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no data directory %s; see --data", c.data)
	}
	return nil
}

// withNew is with for commands that may be the first on a data directory.
func (c *common) withNew(ctx context.Context, fn func(*connection) error) error {
	return c.withOptions(ctx, appOptions{}, fn)
}

// withJobs is with for commands that need agent jobs to run: in the server, or else
// in this process as the flags say.
func (c *common) withJobs(ctx context.Context, agents agentOptions, fn func(*connection) error) error {
	if err := c.mustExist(); err != nil {
		return err
	}
	return c.withOptions(ctx, appOptions{agents: agents, runJobs: true}, fn)
}

func (c *common) withOptions(ctx context.Context, opts appOptions, fn func(*connection) error) error {
	opts.data, opts.now, opts.logger = c.data, time.Now, c.logger()
	conn, err := connect(ctx, opts)
	if err != nil {
		return err
	}
	return errors.Join(fn(conn), conn.close())
}

// refusedError is an answer that is no success.
type refusedError struct {
	status  int
	message string
}

func (e *refusedError) Error() string { return e.message }

// call sends a request with a JSON body, unless body is nil or already bytes, and
// reads the JSON answer into answer, unless that is nil, or takes it as it is where
// answer points to bytes. An answer that is no success is a *refusedError.
func (conn *connection) call(ctx context.Context, method, path string, body, answer any) error {
	var text []byte
	switch body := body.(type) {
	case nil:
	case []byte:
		text = body
	default:
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encoding a request: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://footfall"+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	response, err := conn.http.Do(request)
	if err != nil {
		return fmt.Errorf("asking the server: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // It was read, or the error says more.
	text, err = io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the server's answer: %w", err)
	}
	if response.StatusCode >= 300 {
		return refused(response.StatusCode, text)
	}
	switch answer := answer.(type) {
	case nil:
		return nil
	case *[]byte:
		*answer = text
		return nil
	}
	return unmarshal(text, answer)
}

func unmarshal(text []byte, answer any) error {
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("reading the server's answer: %w", err)
	}
	return nil
}

func refused(status int, text []byte) error {
	var body struct{ Error string }
	if err := json.Unmarshal(text, &body); err != nil || body.Error == "" {
		body.Error = fmt.Sprintf("the server answered with status %d", status)
	}
	return &refusedError{status: status, message: body.Error}
}
