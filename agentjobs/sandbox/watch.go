package sandbox

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// How often processes are looked at. A look takes about 30 microseconds a
	// process.
	lookEvery = 200 * time.Millisecond
	// How often the disk is walked at most, where nothing seems to happen on it.
	walkEvery = time.Second
	// A walk that took t is followed by a rest of 20 t: 5 % of one processor. Where
	// the file system lost a quarter of what is allowed, a rest of 3 t is enough.
	calmRest, busyRest = 20, 3
	// What an empty file in memory holds of the kernel's memory (Linux keeps an
	// inode and a directory entry for it).
	inodeBytes = 1 << 10
)

// A watch looks again and again at what the agent holds. It fails closed: an agent
// can take file descriptors or processor time away from Init, and what can not
// be looked at is not bounded.
type watch struct {
	limits Limits
	disk   *disk
	reaped atomic.Int64 // nanoseconds of processor time of what Init reaped
	over   chan error   // gets a *LimitError, or why the watch failed
}

// newWatch takes stock of the disk before the agent runs.
func newWatch(limits Limits, dirs ...string) (*watch, error) {
	d, err := newDisk(limits, dirs, []string{"/tmp", "/dev/shm"})
	if err != nil {
		return nil, fmt.Errorf("measure the disk before the run: %w", err)
	}
	return &watch{limits: limits, disk: d, over: make(chan error, 2)}, nil
}

// run looks until a limit is passed; beat is called after each look.
func (w *watch) run(beat func()) {
	go func() { w.over <- w.watchDisk() }()
	var pages procReader
	for ticks := time.Tick(lookEvery); ; <-ticks {
		if err := w.look(&pages); err != nil {
			w.over <- err
			return
		}
		beat()
	}
}

func (w *watch) look(pages *procReader) error {
	// Before the live processes: one that is reaped in between is missed until the
	// next look. The other way round it would count twice.
	reaped := time.Duration(w.reaped.Load())
	used, err := pages.usage(w.limits.Processes)
	if err != nil {
		return fmt.Errorf("look at the agent's processes: %w", err)
	}
	temp, err := w.disk.temporary()
	if err != nil {
		return err
	}
	memory := used.memory + temp.bytes + int64(temp.files)*inodeBytes
	switch {
	case used.threads > w.limits.Processes:
		return &LimitError{Limit: LimitProcesses, Allowed: int64(w.limits.Processes), Seen: int64(used.threads)}
	case memory > w.limits.MemoryBytes:
		return &LimitError{Limit: LimitMemory, Allowed: w.limits.MemoryBytes, Seen: memory}
	case used.cpu+reaped > w.limits.CPU:
		return &LimitError{Limit: LimitCPU, Allowed: int64(w.limits.CPU), Seen: int64(used.cpu + reaped)}
	}
	return nil
}

func (w *watch) watchDisk() error {
	d := w.disk
	for ticks := time.Tick(lookEvery); ; <-ticks {
		lost, err := d.lost()
		if err != nil {
			return err
		}
		rest := max(walkEvery, calmRest*d.took)
		if lost.bytes > w.limits.DiskBytes/4 || lost.files > w.limits.Files/4 {
			rest = busyRest * d.took
		}
		if time.Since(d.walked) < rest {
			continue
		}
		added, err := d.added()
		if err != nil {
			return err
		}
		switch {
		case added.bytes > w.limits.DiskBytes:
			return &LimitError{Limit: LimitDisk, Allowed: w.limits.DiskBytes, Seen: added.bytes}
		case added.files > w.limits.Files:
			return &LimitError{Limit: LimitFiles, Allowed: int64(w.limits.Files), Seen: int64(added.files)}
		}
	}
}

// A holding is an amount of disk or of a file system in memory.
type holding struct {
	bytes int64
	files int
}

func (h holding) plus(o holding) holding {
	return holding{bytes: h.bytes + o.bytes, files: h.files + o.files}
}

func (h holding) minus(o holding) holding {
	return holding{bytes: h.bytes - o.bytes, files: h.files - o.files}
}

// statfs returns what is in use of the file system at path, by anybody.
func statfs(path string) (holding, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return holding{}, fmt.Errorf("look at the file system of %s: %w", path, err)
	}
	return holding{bytes: int64(s.Blocks-s.Bfree) * s.Bsize, files: int(s.Files - s.Ffree)}, nil
}
