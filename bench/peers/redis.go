package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/bench/client"
	"footfall/bench/service"
	"footfall/bench/workload"
	"footfall/sketch"
)

// redisPeers is Redis with its HyperLogLog: PFADD twice an event, to the key of the
// path and to the key of the site, of a day and a kind of traffic. So it can unite
// days as Footfall does; it keeps no views, and no exact counts. It is measured
// with every way to keep what it was told:
//
//   - always: answered after the sync, which is what Footfall promises
//   - everysec: up to a second of what was answered is lost in a power cut
//   - memory: everything is lost when the process ends
//
// It is spared the rewriting of its log, which costs it up to half its rate, and
// without which the log grows without end.
func redisPeers() []peer {
	with := func(name string, asked bool, flags ...string) peer {
		return peer{name: name, version: redisVersion, start: func(ctx context.Context, o options, dir string) (system, error) {
			server, err := startRedis(ctx, o.redisServer, dir, flags)
			return &redis{redisServer: server, asked: asked}, err
		}}
	}
	return []peer{
		with("redis-always", false, "--appendonly", "yes", "--appendfsync", "always"),
		with("redis-everysec", false, "--appendonly", "yes", "--appendfsync", "everysec"),
		with("redis-memory", true, "--appendonly", "no"),
	}
}

func redisVersion(ctx context.Context, o options) (string, error) {
	out, err := exec.CommandContext(ctx, o.redisServer, "--version").Output()
	return strings.TrimSpace(string(out)), err
}

// redis is a Redis that is measured.
type redis struct {
	*redisServer
	asked   bool // how it keeps what it was told makes no difference to answers
	keys    redisKeys
	counter *redisCounter // nil until exports are asked for
}

func (r *redis) ingest(ctx context.Context, events *workload.Events) (time.Duration, error) {
	const batch, connections = 1000, 2
	pipelines, keys, err := renderRedis(events, batch)
	if err != nil {
		return 0, err
	}
	r.keys = keys
	return r.send(ctx, pipelines, connections)
}

func (r *redis) process() service.Process { return service.Process(r.cmd.Process.Pid) }

// pipeline is commands that are sent together.
type pipeline struct {
	commands []byte
	replies  int
}

// redisKeys are the keys that there are, by path and traffic, in the order of their
// dates.
type redisKeys map[string]*[2][]redisKey

type redisKey struct {
	date string
	key  string
}

// add returns the key of the visitors of a path on a date by a kind of traffic. It
// is asked for in the order of the dates.
func (k redisKeys) add(v view, path string) string {
	traffic := sketch.Human
	if v.ai {
		traffic = sketch.AI
	}
	of := k[path]
	if of == nil {
		of = new([2][]redisKey)
		k[path] = of
	}
	days := of[traffic]
	if len(days) == 0 || days[len(days)-1].date != v.date {
		key := v.date + ":" + traffic.String()
		if path != anyPath {
			key += ":" + path
		}
		of[traffic] = append(days, redisKey{date: v.date, key: key})
		return key
	}
	return days[len(days)-1].key
}

// renderRedis renders all events, and returns their keys as well.
func renderRedis(events *workload.Events, batch int) (pipelines []pipeline, keys redisKeys, err error) {
	keys = make(redisKeys)
	for b := range events.Batches(batch) {
		p := pipeline{commands: make([]byte, 0, 2*len(b.Body))}
		for v, err := range views(b) {
			if err != nil {
				return nil, nil, err
			}
			p.commands = appendCommand(p.commands, "PFADD", keys.add(v, v.path), v.visitor)
			p.commands = appendCommand(p.commands, "PFADD", keys.add(v, anyPath), v.visitor)
			p.replies += 2
		}
		pipelines = append(pipelines, p)
	}
	return pipelines, keys, nil
}

// appendCommand writes a command as an array of bulk strings
// (https://redis.io/docs/latest/develop/reference/protocol-spec/).
func appendCommand(dst []byte, words ...string) []byte {
	dst = append(strconv.AppendInt(append(dst, '*'), int64(len(words)), 10), "\r\n"...)
	for _, word := range words {
		dst = append(strconv.AppendInt(append(dst, '$'), int64(len(word)), 10), "\r\n"...)
		dst = append(append(dst, word...), "\r\n"...)
	}
	return dst
}

// redisServer is a running Redis.
type redisServer struct {
	cmd     *exec.Cmd
	address string
}

func startRedis(ctx context.Context, binary, dir string, flags []string) (*redisServer, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r := &redisServer{address: net.JoinHostPort("127.0.0.1", port)}
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--auto-aof-rewrite-percentage", "0"}, flags...)
	// A cancelled context must not kill it: it is stopped.
	r.cmd = exec.CommandContext(context.WithoutCancel(ctx), binary, args...)
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting Redis: %w", err)
	}
	if err := r.ready(ctx); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

// freePort returns a port that nobody listens on at this moment.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}

// ready waits until Redis answers.
func (r *redisServer) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ping := []pipeline{{commands: appendCommand(nil, "PFCOUNT", "nothing"), replies: 1}}
	for {
		_, err := r.send(ctx, ping, 1)
		if err == nil {
			return nil
		}
		if waited := client.Wait(ctx, 10*time.Millisecond); waited != nil {
			return fmt.Errorf("waiting for Redis: %w", errors.Join(waited, err))
		}
	}
}

// send sends pipelines, each connection the next when it has all replies to the
// one before, and returns how long that took.
func (r *redisServer) send(ctx context.Context, pipelines []pipeline, connections int) (time.Duration, error) {
	waiting := make(chan pipeline, len(pipelines))
	for _, p := range pipelines {
		waiting <- p
	}
	close(waiting)
	conns := make([]net.Conn, connections)
	for i := range conns {
		var dialer net.Dialer
		var err error
		if conns[i], err = dialer.DialContext(ctx, "tcp", r.address); err != nil {
			return 0, fmt.Errorf("connecting to Redis: %w", err)
		}
		defer func() { _ = conns[i].Close() }() // Everything was answered, or the error says more.
	}
	runtime.GC() // As for Footfall: of what rendering left behind.
	started := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, conn := range conns {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		group.Go(func() error {
			replies := bufio.NewReaderSize(conn, 64<<10)
			for p := range waiting {
				if err := sendPipeline(conn, replies, p); err != nil {
					return errors.Join(ctx.Err(), err)
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return time.Since(started), err
}

func sendPipeline(conn net.Conn, replies *bufio.Reader, p pipeline) error {
	// Redis reads on while its replies wait, and those of a batch fit the socket.
	if _, err := conn.Write(p.commands); err != nil {
		return fmt.Errorf("writing to Redis: %w", err)
	}
	for range p.replies {
		reply, err := replies.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("reading from Redis: %w", err)
		}
		if reply[0] != ':' {
			return fmt.Errorf("redis replies %q", reply)
		}
	}
	return nil
}

func (r *redisServer) stop() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping Redis: %w", err)
	}
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("redis ended badly: %w", err)
	}
	return nil
}
