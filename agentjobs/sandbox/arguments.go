package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Descriptors of the process that bwrap starts; those of files follow.
const (
	controlDescriptor   = 3
	stdinDescriptor     = 4
	stdoutDescriptor    = 5
	argumentsDescriptor = 6
	firstFileDescriptor = 7
)

// Files of /etc that exist only inside. Names are looked up in them alone: there
// is no network to ask.
var insideFiles = []struct{ path, content string }{
	{"/etc/passwd", "agent:x:1000:1000::" + insideHome + ":/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n"},
	{"/etc/group", "agent:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
	{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
	{"/etc/resolv.conf", ""},
}

// Files of the host's /etc that programs need to load, to check certificates and
// to tell the time. Not all of /etc/ssl: it has a directory of private keys.
var hostFiles = []string{
	"/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/ca-certificates.conf",
}

// arguments are those of bwrap(1) for a run. They travel in a file, since any
// user of the host may read a command line, and these name the data directory.
func (r *Room) arguments(program executable, proc []os.DirEntry) []string {
	s := r.sandbox
	size := strconv.FormatInt(s.limits.TempBytes, 10)
	args := []string{
		"--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL",
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try",
		"--hostname", "footfall", "--new-session", "--die-with-parent", "--as-pid-1", "--clearenv", "--chdir", "/",
		"--ro-bind", "/usr", "/usr",
	}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		// Where /usr is merged these are links into it.
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	args = append(args, "--proc", "/proc")
	args = append(args, coverProc(proc)...)
	args = append(args,
		"--dev", "/dev",
		"--size", size, "--perms", "1777", "--tmpfs", "/dev/shm",
		"--size", size, "--perms", "1777", "--tmpfs", "/tmp",
	)
	for _, path := range hostFiles {
		args = append(args, "--ro-bind-try", path, path)
	}
	for i, file := range insideFiles {
		args = append(args, "--perms", "0444", "--ro-bind-data", strconv.Itoa(firstFileDescriptor+i), file.path)
	}
	for _, dir := range s.runtime {
		args = append(args, "--ro-bind", dir, dir)
	}
	if program.show != "" {
		args = append(args, "--ro-bind", program.show, program.show)
	}
	args = append(args, "--ro-bind", s.self, insideInit)
	if r.spec.GateSocket != "" {
		args = append(args, "--ro-bind", r.spec.GateSocket, insideGate)
	}
	args = append(args, "--bind", r.spec.Tree, insideTree)
	for _, h := range r.hidden {
		args = append(args, h.arguments()...)
	}
	return append(args,
		"--bind", r.spec.Home, insideHome,
		// The root and /dev are file systems in memory without a bound.
		"--remount-ro", "/dev", "--remount-ro", "/",
	)
}

// coverProc takes away what of /proc is not about processes. The kernel lets the
// host's root write settings such as kernel.core_pattern, a program that it runs
// outside of every namespace, by user id alone: no capability is asked for. So
// the agent of a service that runs as root could. What others may not read is
// hidden, the rest is made read-only. bwrap covers /proc/sys only where it can
// write to the directory itself, which nobody can.
func coverProc(entries []os.DirEntry) []string {
	var args []string
	for _, e := range entries {
		path := filepath.Join("/proc", e.Name())
		if _, err := strconv.Atoi(e.Name()); err == nil || e.Type() == os.ModeSymlink {
			continue
		}
		if e.IsDir() {
			args = append(args, "--ro-bind", path, path)
			continue
		}
		info, err := e.Info()
		switch {
		case err != nil:
			args = append(args, "--ro-bind-try", "/dev/null", path)
		case info.Mode()&0o004 == 0:
			args = append(args, "--ro-bind", "/dev/null", path)
		case info.Mode()&0o222 != 0:
			args = append(args, "--ro-bind", path, path)
		}
	}
	return args
}

// launchFiles are the descriptors from argumentsDescriptor on. The caller closes
// them.
func (r *Room) launchFiles(program executable) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	proc, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list what of /proc to cover: %w", err)
	}
	contents := []string{strings.Join(r.arguments(program, proc), "\x00") + "\x00"}
	for _, file := range insideFiles {
		contents = append(contents, file.content)
	}
	for _, content := range contents {
		f, err := memoryFile(content)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// memoryFile is a file with a content to read. A pipe would take only as much as
// fits its buffer before somebody reads.
func memoryFile(content string) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "sandbox")
	if _, err := f.WriteString(content); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("rewind a file in memory: %w", err)
	}
	return f, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
