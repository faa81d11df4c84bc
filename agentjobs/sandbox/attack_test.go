package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attack is the part of an agent that a shell can not play. It runs in the
// sandbox and exits with 0 where it was refused.
func attack(args []string) int {
	switch args[0] {
	case "ptrace":
		return refusedWith(unix.PtraceAttach(1), unix.EPERM)
	case "read-memory":
		_, err := os.ReadFile("/proc/1/mem")
		return refusedWith(err, unix.EACCES, unix.EPERM)
	case "vsock":
		_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		return refusedWith(err, unix.EAFNOSUPPORT)
	case "memfd":
		_, err := unix.MemfdCreate("hidden", 0)
		return refusedWith(err, unix.ENOSYS)
	case "keyring":
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return refusedWith(err, unix.ENOSYS)
	case "dumpable":
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return refusedWith(err)
		}
		left, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if err != nil || left != 1 {
			fmt.Fprintln(os.Stderr, "dumpable is", left, err)
			return 1
		}
		return 0
	case "mount":
		return refusedWith(unix.Mount("none", "/tmp", "tmpfs", 0, ""), unix.EPERM)
	case "unshare":
		_, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
		return refusedWith(err, unix.ENOSPC, unix.EPERM)
	case "signals":
		// Those that a shell names, and all others. A fault's signals end the first
		// process, and the run with it.
		faults := map[syscall.Signal]bool{
			syscall.SIGSEGV: true, syscall.SIGBUS: true, syscall.SIGFPE: true, syscall.SIGILL: true,
			syscall.SIGTRAP: true, syscall.SIGABRT: true, syscall.SIGSYS: true, syscall.SIGSTKFLT: true, syscall.SIGPROF: true,
		}
		for signal := syscall.Signal(1); signal <= 64; signal++ {
			if !faults[signal] {
				_ = syscall.Kill(1, signal)
			}
		}
		return 0
	case "dial":
		for _, address := range args[1:] {
			conn, err := net.DialTimeout("tcp", address, 2*time.Second)
			if err == nil {
				_ = conn.Close()
				fmt.Fprintln(os.Stderr, "connected to", address)
				return 1
			}
		}
		return 0
	case "starve":
		// Takes the descriptors of the first process away.
		if err := unix.Prlimit(1, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil); err != nil {
			return refusedWith(err)
		}
		select {}
	case "hold-deleted":
		return holdDeleted(args[1], args[2])
	case "post":
		return post(args[1], args[2])
	case "nest":
		for range 3000 {
			if unix.Mkdir("d", 0o700) != nil || unix.Chdir("d") != nil {
				return 1
			}
		}
		select {}
	case "hog":
		return hog(args[1])
	}
	fmt.Fprintln(os.Stderr, "no such attack")
	return 2
}

func refusedWith(err error, allowed ...error) int {
	for _, a := range allowed {
		if errors.Is(err, a) {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, "got", err)
	return 1
}

// holdDeleted writes into a file without a name.
func holdDeleted(path, size string) int {
	n, err := strconv.Atoi(size)
	if err != nil {
		return 2
	}
	f, err := os.Create(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Remove(path); err != nil {
		return 1
	}
	for written, block := 0, make([]byte, 1<<20); written < n; written += len(block) {
		if _, err := f.Write(block); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	select {}
}

func post(address, body string) int {
	response, err := http.Post(address, "text/plain", strings.NewReader(body))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	return refusedWith(err, nil)
}

// hog touches memory and keeps it.
func hog(size string) int {
	n, err := strconv.Atoi(size)
	if err != nil {
		return 2
	}
	memory, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for i := 0; i < n; i += 4096 {
		memory[i] = 1
	}
	fmt.Println("held")
	select {}
}
