package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Clock ticks of /proc a second: USER_HZ, 100 in the kernel's interface on every
// architecture (time(7)).
const clockTick = time.Second / 100

// usage is what live processes hold together, Init left out.
type usage struct {
	threads int
	memory  int64
	// Their own processor time, and that of children they waited for.
	cpu time.Duration
}

// A procReader reads process files into a buffer that it keeps.
type procReader struct{ buffer [8 << 10]byte }

// usage adds up /proc. With more processes than most it stops at their number: to
// look at each would leave a fork bomb the time.
func (r *procReader) usage(most int) (usage, error) {
	pids, err := processes()
	if err != nil {
		return usage{}, err
	}
	if len(pids) > most {
		return usage{threads: len(pids)}, nil
	}
	var sum usage
	for _, pid := range pids {
		stat, err := r.read(pid, "stat")
		if err != nil {
			return usage{}, err
		}
		cpu, err := parseStat(stat)
		if err != nil {
			return usage{}, err
		}
		status, err := r.read(pid, "status")
		if err != nil {
			return usage{}, err
		}
		threads, memory := parseStatus(status)
		sum.threads += max(1, threads)
		sum.memory += memory
		sum.cpu += cpu
	}
	return sum, nil
}

// processes lists the namespace's processes but the first.
func processes() ([]string, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	pids := names[:0]
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' && name != "1" {
			pids = append(pids, name)
		}
	}
	return pids, nil
}

// read returns nothing of a process that is gone.
func (r *procReader) read(pid, file string) ([]byte, error) {
	fd, err := unix.Open("/proc/"+pid+"/"+file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open a process's %s: %w", file, err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, r.buffer[:])
		switch {
		case errors.Is(err, unix.EINTR):
		case gone(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("read a process's %s: %w", file, err)
		default:
			return r.buffer[:n], nil
		}
	}
}

func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// parseStat returns fields 14 to 17 of /proc/pid/stat together: utime, stime,
// cutime, cstime (proc(5)). They are counted from the last parenthesis, since the
// name of a program, in field 2, may hold anything.
func parseStat(stat []byte) (time.Duration, error) {
	if len(stat) == 0 {
		return 0, nil
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return 0, fmt.Errorf("a process's stat has %d fields after its name", len(fields))
	}
	var ticks int64
	for _, field := range fields[11:15] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("a process's stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// parseStatus returns the threads of /proc/pid/status and what the process keeps
// of memory and swap. Pages of files are left out: the kernel can drop them, and a
// runtime's program would count once for each process that runs it. A process that
// is about to be gone has no memory and no such lines.
func parseStatus(status []byte) (threads int, memory int64) {
	for line := range bytes.Lines(status) {
		key, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		number, _, _ := bytes.Cut(bytes.TrimSpace(value), []byte{' '})
		switch string(key) {
		case "Threads":
			n, _ := strconv.Atoi(string(number))
			threads = n
		case "RssAnon", "RssShmem", "VmSwap":
			kilobytes, _ := strconv.ParseInt(string(number), 10, 64)
			memory += kilobytes << 10
		}
	}
	return threads, memory
}
