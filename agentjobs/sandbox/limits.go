package sandbox

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// Limits bound one run. A zero field stands for its default. The package comment
// says what enforces each.
type Limits struct {
	// Processes bounds processes and their threads together, as RLIMIT_NPROC and
	// the pids control group count them. Default 512.
	Processes int
	// MemoryBytes bounds what the processes hold of memory together, with what
	// lies in the sandbox's temporary file systems. Default 4 GiB.
	MemoryBytes int64
	// CPU bounds the processor time of all processes together. Default 30 minutes.
	CPU time.Duration
	// DiskBytes bounds what one run adds to the tree and the home together, in
	// allocated bytes: what they held at its start does not count, so that a large
	// repository leaves as much room as a small one. Default 2 GiB.
	DiskBytes int64
	// Files bounds how many files, links and directories one run adds to the tree,
	// the home and the temporary file systems together. Default 200,000.
	Files int
	// TempBytes is the size of the file system at /tmp, and that of the one at
	// /dev/shm. Default 512 MiB.
	TempBytes int64
	// StderrBytes is how much of the end of the agent's standard error is kept.
	// Default 64 KiB.
	StderrBytes int
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Processes, 512)
	setDefault(&l.MemoryBytes, 4<<30)
	setDefault(&l.CPU, 30*time.Minute)
	setDefault(&l.DiskBytes, 2<<30)
	setDefault(&l.Files, 200_000)
	setDefault(&l.TempBytes, 512<<20)
	setDefault(&l.StderrBytes, 64<<10)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (l Limits) check() error {
	if l.Processes < 0 || l.MemoryBytes < 0 || l.CPU < 0 || l.DiskBytes < 0 || l.Files < 0 || l.TempBytes < 0 || l.StderrBytes < 0 {
		return fmt.Errorf("a limit of the sandbox is negative: %+v", l)
	}
	return nil
}

// The limits that a LimitError names.
const (
	LimitProcesses = "processes"
	LimitMemory    = "memory"
	LimitCPU       = "cpu"
	LimitDisk      = "disk"
	LimitFiles     = "files"
	// LimitHidden is passed by an agent that keeps its disk use out of sight: a
	// directory that its owner may not read, a path longer than the system takes,
	// a process that does not show its open files.
	LimitHidden = "hidden"
)

// LimitError says which limit ended a run. Its message is meant for the person
// who asked for the run.
type LimitError struct {
	Limit string `json:"limit"`
	// Allowed and Seen are a number of processes or files, bytes, or nanoseconds.
	// What was seen can be far above what is allowed: it is what the last look
	// found. Both are zero for LimitHidden.
	Allowed int64 `json:"allowed,omitzero"`
	Seen    int64 `json:"seen,omitzero"`
	// Path is where something was hidden, as the agent sees it.
	Path string `json:"path,omitzero"`
}

func (e *LimitError) Error() string {
	allowed, seen := humanize.Comma(e.Allowed), humanize.Comma(e.Seen)
	switch e.Limit {
	case LimitProcesses:
		return fmt.Sprintf("the agent was stopped: it ran %s processes and threads, and %s are allowed", seen, allowed)
	case LimitMemory:
		return fmt.Sprintf("the agent was stopped: it held %s of memory, and %s are allowed", humanBytes(e.Seen), humanBytes(e.Allowed))
	case LimitCPU:
		return fmt.Sprintf("the agent was stopped: it used %s of processor time, and %s are allowed",
			time.Duration(e.Seen).Round(10*time.Millisecond), time.Duration(e.Allowed))
	case LimitDisk:
		return fmt.Sprintf("the agent was stopped: it added %s to the disk, and %s are allowed", humanBytes(e.Seen), humanBytes(e.Allowed))
	case LimitFiles:
		return fmt.Sprintf("the agent was stopped: it added %s files, and %s are allowed", seen, allowed)
	case LimitHidden:
		return fmt.Sprintf("the agent was stopped: what %.200q holds can not be measured", e.Path)
	}
	return fmt.Sprintf("the agent was stopped by the limit on %s", e.Limit)
}

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
