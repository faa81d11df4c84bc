package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startPlain starts a child with the service's own rights, in a process group of
// its own, which is killed when the child ends or is to end.
func (r *Room) startPlain(ctx context.Context, argv, env []string) (*Process, error) {
	program, err := findExecutable(argv[0])
	if err != nil {
		return nil, err
	}
	p, ends, err := newProcess(r.sandbox.limits.StderrBytes)
	if err != nil {
		return nil, err
	}
	defer ends.close()
	cmd := &exec.Cmd{
		Path: program.path, Args: argv, Dir: r.Tree, Env: r.environment(program, env),
		Stdin: ends.stdin, Stdout: ends.stdout, Stderr: ends.stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	// The child has not been waited for while the lock is free, so that its id and
	// its group's are of no other process.
	p.kill = func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

	started := make(chan error, 1)
	go func() {
		// The parent of Pdeathsig is the thread; cage.start says more.
		runtime.LockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		awaitExit(cmd.Process.Pid)
		p.mu.Lock()
		p.kill()
		_ = cmd.Wait()
		p.kill = func() {}
		p.mu.Unlock()
		// What left the group may hold the pipe open for ever.
		_ = p.stderrEnd.SetReadDeadline(time.Now().Add(time.Second))
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		p.endPlain(exitOf(status))
	}()
	if err := <-started; err != nil {
		ends.close()
		p.closePipes()
		return nil, fmt.Errorf("start the process: %w", err)
	}
	cancelled := context.AfterFunc(ctx, func() { p.stop(context.Cause(ctx)) })
	go func() {
		<-p.done
		cancelled()
	}()
	return p, nil
}

// endPlain takes the end by our own signal for the cause of that signal.
func (p *Process) endPlain(exit *ExitError) {
	p.mu.Lock()
	killed := p.cause != nil && exit.Signal == syscall.SIGKILL
	p.mu.Unlock()
	if killed {
		p.end(nil, nil)
		return
	}
	p.end(exit, nil)
}

// awaitExit returns when the child has ended, and leaves it to be waited for.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
