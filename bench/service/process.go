package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Process is a running process, by its ID.
type Process int

// Usage is what a process takes of the machine at one instant.
type Usage struct {
	// Anonymous is its resident memory that belongs to no file, in bytes: RssAnon
	// of proc_pid_status(5).
	Anonymous int64
	// CPU is the time that it has run, in user and in kernel mode.
	CPU time.Duration
	// Files is the number of its open file descriptors.
	Files int
}

// Usage reads what the process takes. It works on Linux alone.
func (p Process) Usage() (u Usage, err error) {
	dir := fmt.Sprintf("/proc/%d/", p)
	if u.Anonymous, err = anonymous(dir); err != nil {
		return u, err
	}
	if u.CPU, err = cpuTime(dir); err != nil {
		return u, err
	}
	files, err := os.ReadDir(dir + "fd")
	if err != nil {
		return u, fmt.Errorf("reading open files: %w", err)
	}
	u.Files = len(files)
	return u, nil
}

var errProc = errors.New("not in the form that proc(5) describes")

func anonymous(dir string) (int64, error) {
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return 0, fmt.Errorf("reading the memory of a process: %w", err)
	}
	_, rest, found := bytes.Cut(status, []byte("\nRssAnon:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) < 2 || string(fields[1]) != "kB" {
		return 0, fmt.Errorf("%sstatus: RssAnon: %w", dir, errProc)
	}
	kilobytes, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%sstatus: RssAnon: %w", dir, errProc)
	}
	return kilobytes << 10, nil
}

// tick is the unit of times in /proc: USER_HZ, which Linux keeps at 100 a second
// whatever the kernel's own timer does.
const tick = time.Second / 100

func cpuTime(dir string) (time.Duration, error) {
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return 0, fmt.Errorf("reading the time of a process: %w", err)
	}
	// The second field is a name in parentheses, which may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, kernel = 14 - 3, 15 - 3 // fields are counted from 1, and 2 are cut off
	if len(fields) <= kernel {
		return 0, fmt.Errorf("%sstat: %w", dir, errProc)
	}
	var ticks int64
	for _, field := range fields[user : kernel+1] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%sstat: %w", dir, errProc)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// pollEvery is how often a watch looks. What rises and falls in between is
// missed.
const pollEvery = 100 * time.Millisecond

// Watch follows the memory of the process while do runs, and returns its peak, in
// bytes, with the error of do.
func (p Process) Watch(do func() error) (peak int64, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- p.poll(ctx, func(u Usage) { peak = max(peak, u.Anonymous) })
	}()
	err = do()
	cancel()
	return peak, errors.Join(err, <-done)
}

// poll tells about the process at once, regularly, and when ctx ends.
func (p Process) poll(ctx context.Context, tell func(Usage)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		usage, err := p.Usage()
		if err != nil {
			return err
		}
		tell(usage)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if usage, err = p.Usage(); err == nil {
				tell(usage)
			}
			return err
		}
	}
}
