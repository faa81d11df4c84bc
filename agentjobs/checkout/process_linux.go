package checkout

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts a command into a process group that is killed as one, and has the
// kernel kill the command when the service dies: an orphan would go on writing into a
// git directory that the next start uses again.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// boundFiles limits the size of every file that a process and those that it starts
// from now on write. The process runs already, but it has to find the network first.
func boundFiles(pid int, bytes int64) error {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &limit)
	if err == nil {
		// Only root may raise a limit.
		limit.Max = min(limit.Max, uint64(bytes))
		limit.Cur = limit.Max
		err = unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended
	}
	return err
}
