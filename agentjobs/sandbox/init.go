package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit codes of Init. What ends a run is told over the control socket; bwrap
// passes these on and nobody reads them.
const (
	codeEnded  = 0
	codeFailed = 1
	codeUsage  = 2
)

// InitCommand is the first argument of the program that runs Init.
const InitCommand = "sandbox-init"

// Init is what `Self sandbox-init` runs, with the arguments after that word: the
// first process of the sandbox. It forwards the model's port to the gate, starts
// the agent, reaps what is orphaned, holds the bounds and tells the service how
// it ended. When it returns, the caller exits with its result, and the kernel
// kills all that is left in the sandbox. It does nothing outside of one.
func Init(args []string) int {
	if len(args) > 0 && args[0] == confineWord {
		return confine(args[1:])
	}
	if len(args) > 0 || os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "sandbox-init is started by Footfall, as the first process of a sandbox")
		return codeUsage
	}
	// The agent has our user id. Without this it could read our memory and trace
	// us: prctl(2), ptrace(2).
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "close the sandbox's first process to others:", err)
		return codeFailed
	}
	// Without a descriptor of the service's side that was left open by chance.
	if err := unix.CloseRange(controlDescriptor, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		fmt.Fprintln(os.Stderr, "keep descriptors from the agent:", err)
		return codeFailed
	}
	// The kernel drops a signal from inside the namespace for which its first
	// process has no handler (pid_namespaces(7)), but the runtime has handlers that
	// end the program. A channel nobody reads takes all. To ignore the signals
	// instead would be inherited by the agent.
	signal.Notify(make(chan os.Signal, 1))

	file := os.NewFile(controlDescriptor, "control")
	conn, err := controlConn(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox-init:", err)
		return codeFailed
	}
	_ = file.Close()
	defer conn.Close()
	return serveControl(conn)
}

func serveControl(conn *net.UnixConn) int {
	if _, err := conn.Write([]byte{helloByte}); err != nil {
		return codeFailed
	}
	var task assignment
	if err := json.NewDecoder(conn).Decode(&task); err != nil {
		return codeFailed
	}
	running, err := startAgent(task)
	if err != nil {
		_ = send(conn, report{Failure: err.Error()}, endTimeout)
		return codeFailed
	}
	if err := send(conn, report{Started: true}, endTimeout); err != nil {
		return codeFailed
	}
	hungUp := make(chan struct{})
	go func() {
		// The service sends nothing more. What ends is the service, or its patience.
		_, _ = io.Copy(io.Discard, conn)
		close(hungUp)
	}()
	go running.watch.run(func() { beat(conn) })

	var last report
	select {
	case <-hungUp:
		return codeFailed
	case status := <-running.exit:
		last.Exit = exitOf(status)
	case err := <-running.watch.over:
		var limit *LimitError
		if errors.As(err, &limit) {
			last.Limit = limit
		} else {
			last.Failure = err.Error()
		}
	}
	if err := send(conn, last, endTimeout); err != nil {
		return codeFailed
	}
	return codeEnded
}

// beat tells the service that a look was done. It never waits: a service that is
// stopped must not stop the looks.
func beat(conn net.Conn) {
	if conn.SetWriteDeadline(time.Now().Add(time.Millisecond)) == nil {
		_, _ = conn.Write([]byte{aliveByte})
	}
}

// running is an agent with what holds it.
type running struct {
	exit  <-chan syscall.WaitStatus
	watch *watch
}

// startAgent returns once the agent's program was executed.
func startAgent(task assignment) (*running, error) {
	if task.Gate {
		listener, err := net.Listen("tcp", modelPort)
		if err != nil {
			return nil, fmt.Errorf("listen for the model's clients: %w", err)
		}
		newForwarder(listener, insideGate)
	}
	watch, err := newWatch(task.Limits, insideTree, insideHome)
	if err != nil {
		return nil, err
	}
	limits, err := json.Marshal(task.Limits)
	if err != nil {
		return nil, fmt.Errorf("encode the limits: %w", err)
	}
	failed, told, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe to the agent: %w", err)
	}
	defer failed.Close()
	argv := append([]string{insideInit, InitCommand, confineWord, string(limits), task.Path}, task.Argv...)
	pid, err := syscall.ForkExec(insideInit, argv, &syscall.ProcAttr{
		Dir:   insideTree,
		Env:   task.Env,
		Files: []uintptr{stdinDescriptor, stdoutDescriptor, 2, told.Fd()},
		// A group of its own: a signal to its whole group is not one to us.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	_ = told.Close()
	if err != nil {
		return nil, fmt.Errorf("start the agent's process: %w", err)
	}
	// It ends when the program is executed, and holds an error where that failed.
	message, err := io.ReadAll(io.LimitReader(failed, 4096))
	if err != nil {
		return nil, fmt.Errorf("wait for the agent's program: %w", err)
	}
	if len(message) > 0 {
		return nil, errors.New(string(message))
	}
	// They are the agent's alone: when it closes one, the other side shall see it.
	_ = unix.Close(stdinDescriptor)
	_ = unix.Close(stdoutDescriptor)
	exit := make(chan syscall.WaitStatus, 1)
	go reap(pid, exit, &watch.reaped)
	return &running{exit: exit, watch: watch}, nil
}

// reap collects every child, also the orphans that the kernel hands to the first
// process, and the processor time that they used.
func reap(agent int, exit chan<- syscall.WaitStatus, used *atomic.Int64) {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &usage)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return // no children, so that the agent was among those collected
		}
		used.Add(usage.Utime.Nano() + usage.Stime.Nano())
		if pid == agent {
			exit <- status
			return
		}
	}
}
