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
	"footfall/bench/report"
	"footfall/bench/service"
	"footfall/bench/workload"
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
	with := func(name string, flags ...string) peer {
		return peer{name: name, version: redisVersion, ingest: func(ctx context.Context, o options, events *workload.Events, dir string) (report.Result, error) {
			return ingestRedis(ctx, o, events, dir, flags)
		}}
	}
	return []peer{
		with("redis-always", "--appendonly", "yes", "--appendfsync", "always"),
		with("redis-everysec", "--appendonly", "yes", "--appendfsync", "everysec"),
		with("redis-memory", "--appendonly", "no"),
	}
}

func redisVersion(ctx context.Context, o options) (string, error) {
	out, err := exec.CommandContext(ctx, o.redisServer, "--version").Output()
	return strings.TrimSpace(string(out)), err
}

func ingestRedis(ctx context.Context, o options, events *workload.Events, dir string, flags []string) (report.Result, error) {
	const batch, connections = 1000, 2
	var result report.Result
	pipelines, err := renderRedis(events, batch)
	if err != nil {
		return result, err
	}
	redis, err := startRedis(ctx, o.redisServer, dir, flags)
	if err != nil {
		return result, err
	}
	peak, err := service.Process(redis.cmd.Process.Pid).Watch(func() error {
		result.Elapsed, err = redis.send(ctx, pipelines, connections)
		return err
	})
	if err := stopped(err, redis.stop); err != nil {
		return result, err
	}
	result.Operations = o.events
	return withSizes(result, peak, dir)
}

// pipeline is commands that are sent together.
type pipeline struct {
	commands []byte
	replies  int
}

func renderRedis(events *workload.Events, batch int) ([]pipeline, error) {
	var pipelines []pipeline
	for b := range events.Batches(batch) {
		p := pipeline{commands: make([]byte, 0, 2*len(b.Body))}
		for v, err := range views(b) {
			if err != nil {
				return nil, err
			}
			key := v.date + ":human"
			if v.ai {
				key = v.date + ":ai"
			}
			p.commands = appendCommand(p.commands, "PFADD", key+":"+v.path, v.visitor)
			p.commands = appendCommand(p.commands, "PFADD", key, v.visitor)
			p.replies += 2
		}
		pipelines = append(pipelines, p)
	}
	return pipelines, nil
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
