package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// startBubblewrap returns once the agent's program runs in the sandbox.
func (r *Room) startBubblewrap(ctx context.Context, argv, env []string) (*Process, error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("find bubblewrap: %w", err)
	}
	program, err := findExecutable(argv[0])
	if err != nil {
		return nil, err
	}
	files, err := r.launchFiles(program)
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	control, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p, ends, err := newProcess(r.sandbox.limits.StderrBytes)
	if err != nil {
		_ = control.Close()
		return nil, err
	}
	defer ends.close()

	cmd := &exec.Cmd{
		Path: bwrap,
		Args: []string{"bwrap", "--args", fmt.Sprint(argumentsDescriptor), "--", insideInit, InitCommand},
		// Not nil, which would be the service's own: /proc/1/environ is bwrap's.
		Env: []string{"LANG=C.UTF-8"},
		Dir: "/",
		// The agent's input and output go by as files of their own: bwrap keeps its
		// standard ones until the end, and a reader would not see the agent close one.
		Stderr:     ends.stderr,
		ExtraFiles: append([]*os.File{theirs, ends.stdin, ends.stdout}, files...),
	}
	c := &cage{room: r, process: p, control: control, cmd: cmd, gone: make(chan struct{})}
	if err := c.start(); err != nil {
		_ = control.Close()
		ends.close()
		p.closePipes()
		return nil, err
	}
	// Only the sandbox has them from here, so that its end is theirs.
	_ = theirs.Close()
	ends.close()
	err = c.begin(ctx, assignment{
		Path: program.path, Argv: argv, Env: r.environment(program, env),
		Gate: r.spec.GateSocket != "", Limits: r.sandbox.limits,
	})
	if err != nil {
		c.abandon()
		if text := p.Stderr(); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		p.closePipes()
		return nil, err
	}
	r.sandbox.logger.Debug("an agent runs in a sandbox", "bwrap", cmd.Process.Pid, "program", program.path)
	p.kill = c.killAll
	go c.attend(ctx)
	return p, nil
}

// A cage is the service's side of one sandbox that runs.
type cage struct {
	room    *Room
	process *Process
	control *net.UnixConn
	reports *json.Decoder
	cmd     *exec.Cmd
	gone    chan struct{} // closed when bwrap was waited for
	first   int           // a pidfd of Init, 0 for none
}

// firstNiceness is the highest priority (setpriority(2)).
const firstNiceness = -20

// start starts bwrap from a thread that lives as long as bwrap does:
// --die-with-parent is PR_SET_PDEATHSIG, whose signal comes when the thread that
// forked ends (prctl(2)). A goroutine that ends while it is locked to its thread
// takes the thread with it, and the runtime is free to end others.
func (c *cage) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			// RLIMIT_NPROC does not hold root, so that a fork bomb can crowd the watch
			// out: with 1,700 processes to run beside it, a look took half a minute. The
			// thread's priority goes on to bwrap and Init, not to the agent. Where root
			// may not do this, looks are slower.
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, firstNiceness)
		}
		err := c.cmd.Start()
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // what bwrap returns tells nothing of the agent
			close(c.gone)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start bubblewrap: %w", err)
	}
	return nil
}

// begin leads Init up to the running agent.
func (c *cage) begin(ctx context.Context, task assignment) (err error) {
	defer context.AfterFunc(ctx, func() { _ = c.control.Close() })()
	defer func() {
		if err != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
	}()
	if err := c.control.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return fmt.Errorf("use the control socket: %w", err)
	}
	pid, err := readHello(c.control)
	if err != nil {
		return err
	}
	if c.first, err = unix.PidfdOpen(pid, 0); err != nil {
		return fmt.Errorf("hold on to the sandbox's first process: %w", err)
	}
	if err := json.NewEncoder(c.control).Encode(task); err != nil {
		return fmt.Errorf("tell the sandbox what to run: %w", err)
	}
	reader := &patientReader{conn: c.control, timeout: startTimeout}
	c.reports = json.NewDecoder(reader)
	var answer report
	if err := c.reports.Decode(&answer); err != nil {
		return fmt.Errorf("wait for the agent to run: %w", err)
	}
	if !answer.Started {
		return errors.New(answer.Failure)
	}
	reader.timeout = silenceTimeout
	return nil
}

// abandon ends a sandbox whose agent was not started. The end of the control
// socket ends Init, and bwrap by it. bwrap is not killed at once: between its
// fork and its child's own PR_SET_PDEATHSIG that would leave the child behind.
func (c *cage) abandon() {
	_ = c.control.Close()
	c.awaitGone()
	c.awaitFirst()
}

// attend follows a running agent to its end.
func (c *cage) attend(ctx context.Context) {
	cancelled := context.AfterFunc(ctx, func() { c.process.stop(context.Cause(ctx)) })
	go func() {
		<-c.gone
		// Init outlives bwrap only where bwrap was killed: then there is no run left.
		c.process.stop(nil)
	}()
	var last report
	err := c.reports.Decode(&last)
	if err != nil {
		// No more is heard of Init. It is gone, as after Kill, or nobody holds the
		// bounds.
		c.process.stop(context.Cause(ctx))
	}
	c.awaitGone()
	c.awaitFirst()
	cancelled()
	_ = c.control.Close()

	var end error
	switch {
	case last.Limit != nil:
		end = last.Limit
	case last.Exit != nil:
		end = last.Exit
	case last.Failure != "":
		end = fmt.Errorf("the sandbox failed: %s", last.Failure)
	}
	c.process.end(end, fmt.Errorf("the sandbox ended without a word of the agent: %w", err))
}

// killAll kills Init, and with it every process of its namespace
// (pid_namespaces(7)), and bwrap, which waits for it. Process.stop calls it with
// its lock held.
func (c *cage) killAll() {
	if c.first > 0 {
		_ = unix.PidfdSendSignal(c.first, unix.SIGKILL, nil, 0)
	}
	_ = c.cmd.Process.Kill()
}

func (c *cage) awaitGone() {
	select {
	case <-c.gone:
	case <-time.After(endTimeout):
		c.room.sandbox.logger.Warn("a sandbox did not end by itself and is killed", "bwrap", c.cmd.Process.Pid)
		_ = c.cmd.Process.Kill()
		<-c.gone
	}
}

// awaitFirst waits for Init itself. The kernel tells of the end of a namespace's
// first process once all others in it are gone; that bwrap ended does not say so,
// since bwrap may have been killed first.
func (c *cage) awaitFirst() {
	if c.first <= 0 {
		return
	}
	fds := []unix.PollFd{{Fd: int32(c.first), Events: unix.POLLIN}}
	for {
		if n, err := unix.Poll(fds, -1); n > 0 || !errors.Is(err, unix.EINTR) {
			break
		}
	}
	c.process.mu.Lock()
	defer c.process.mu.Unlock()
	_ = unix.Close(c.first)
	c.first = 0
}
