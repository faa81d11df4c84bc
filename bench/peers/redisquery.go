package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"footfall/bench/exports"
	"footfall/query"
	"footfall/sketch"
)

// redisCounter asks a Redis for exports: PFCOUNT of all days' keys by human, by AI
// and by both, for the site and for every path, in one pipeline. The client knows
// which keys there are, and sorts.
type redisCounter struct {
	conn     net.Conn
	replies  *bufio.Reader
	keys     redisKeys
	commands []byte   // of the range that is asked for
	paths    []string // in their order
}

func (r *redis) counters(ctx context.Context) ([]counter, error) {
	if !r.asked {
		return nil, nil
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", r.address)
	if err != nil {
		return nil, fmt.Errorf("connecting to Redis: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // So that a running command returns.
	r.counter = &redisCounter{conn: conn, replies: bufio.NewReader(conn), keys: r.keys}
	return []counter{{name: "redis-pfcount", prepare: r.counter.prepare}}, nil
}

func (c *redisCounter) prepare(within sketch.Range) (exports.Ask, error) {
	c.commands, c.paths = c.commands[:0], c.paths[:0]
	for path, of := range c.keys {
		human, ai := keysWithin(of[sketch.Human], within), keysWithin(of[sketch.AI], within)
		if len(human)+len(ai) == 0 {
			continue
		}
		c.paths = append(c.paths, path)
		for _, keys := range [][]string{human, ai, slices.Concat(human, ai)} {
			if len(keys) == 0 {
				keys = []string{"nothing"}
			}
			c.commands = appendCommand(c.commands, append([]string{"PFCOUNT"}, keys...)...)
		}
	}
	return c.ask, nil
}

// keysWithin returns the keys of a range of days.
func keysWithin(days []redisKey, within sketch.Range) (keys []string) {
	from, to := within.From.String(), within.To.String() // Dates in this form are ordered as texts are.
	for _, day := range days {
		if from <= day.date && day.date < to {
			keys = append(keys, day.key)
		}
	}
	return keys
}

func (c *redisCounter) ask(context.Context) (page query.Page, err error) {
	// Redis reads on while its replies wait: it has memory for them.
	if _, err := c.conn.Write(c.commands); err != nil {
		return page, fmt.Errorf("writing to Redis: %w", err)
	}
	for _, path := range c.paths {
		count, err := c.readCount()
		switch {
		case err != nil:
			return page, err
		case path == anyPath:
			page.Totals = count
		default:
			page.Visitors = append(page.Visitors, query.Row{Path: path, Count: count})
		}
	}
	page.Visitors = top(page.Visitors)
	return page, nil
}

func (c *redisCounter) readCount() (count query.Count, err error) {
	for _, number := range []*uint64{&count.Human, &count.AI, &count.Total} {
		reply, err := c.replies.ReadSlice('\n')
		if err != nil {
			return count, fmt.Errorf("reading from Redis: %w", err)
		}
		digits, found := bytes.CutPrefix(bytes.TrimRight(reply, "\r\n"), []byte(":"))
		if *number, err = strconv.ParseUint(string(digits), 10, 64); err != nil || !found {
			return count, fmt.Errorf("redis replies %q", reply)
		}
	}
	return count, nil
}

func (r *redis) stop() error {
	var err error
	if r.counter != nil {
		err = r.counter.conn.Close()
	}
	return errors.Join(err, r.redisServer.stop())
}
