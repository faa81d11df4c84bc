package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// confineWord starts the step between Init and the agent: `Self sandbox-init
// confine LIMITS PATH ARGV...` binds itself and becomes the agent.
//
// It is a program of its own since Go has no place for own code between fork and
// exec, and since limits that are set on a process that runs already come late.
const confineWord = "confine"

// errorDescriptor is the end of a pipe that Init reads; it closes on exec.
const errorDescriptor = 3

// Threads of Init, which count for RLIMIT_NPROC as well: same user, same
// namespace. A margin lets the watch see a limit passed that the kernel holds.
const initThreads = 64

// The highest oom_score_adj (proc(5)): the kernel kills these first.
const oomFirst = "1000"

// The agent's niceness: the service and Init go before it (setpriority(2)).
const niceness = 10

func confine(args []string) int {
	told := os.NewFile(errorDescriptor, "error")
	unix.CloseOnExec(errorDescriptor)
	err := becomeAgent(args)
	if told != nil {
		_, _ = fmt.Fprint(told, err)
	}
	return codeFailed
}

// becomeAgent returns only where it fails.
func becomeAgent(args []string) error {
	if len(args) < 3 {
		return errors.New("the agent's program is missing")
	}
	var limits Limits
	if err := json.Unmarshal([]byte(args[0]), &limits); err != nil {
		return fmt.Errorf("decode the limits: %w", err)
	}
	// Niceness and filter are a thread's, and exec takes them from this one.
	runtime.LockOSThread()
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte(oomFirst), 0); err != nil {
		return fmt.Errorf("let the kernel prefer the agent when memory is short: %w", err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, niceness); err != nil {
		return fmt.Errorf("lower the agent's priority: %w", err)
	}
	if err := setLimits(limits); err != nil {
		return err
	}
	environment := os.Environ()
	if err := installFilter(); err != nil {
		return err
	}
	err := syscall.Exec(args[1], args[2:], environment)
	return fmt.Errorf("execute %s: %w", args[1], err)
}

// setLimits sets what the kernel holds for each process alone (setrlimit(2)).
// Those of processor time and file size are the run's own, so that no process
// passes them between two looks.
func setLimits(l Limits) error {
	seconds := uint64((l.CPU + time.Second - 1) / time.Second)
	for _, limit := range []struct {
		name       string
		resource   int
		soft, hard uint64
	}{
		{"core dumps", unix.RLIMIT_CORE, 0, 0},
		{"file size", unix.RLIMIT_FSIZE, uint64(max(l.DiskBytes, l.TempBytes)), uint64(max(l.DiskBytes, l.TempBytes))},
		{"open files", unix.RLIMIT_NOFILE, openFiles, openFiles},
		{"processes", unix.RLIMIT_NPROC, uint64(l.Processes + initThreads), uint64(l.Processes + initThreads)},
		{"processor time", unix.RLIMIT_CPU, seconds + 1, seconds + 2},
	} {
		if err := syscall.Setrlimit(limit.resource, &syscall.Rlimit{Cur: limit.soft, Max: limit.hard}); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
	}
	return nil
}

// openFiles of one process. Runtimes with many watchers want thousands.
const openFiles = 4096
