package checkout

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// start starts a command that takes along all that it started, when it is killed and
// when the service dies: an orphan would go on writing into a git directory that the
// next start uses again, with the token in its environment.
//
// A process group holds for a kill. When the service dies, the kernel kills the
// command alone (PR_SET_PDEATHSIG, prctl(2)), so the command is the first process
// of a namespace, which dies with it (pid_namespaces(7)). Where the system gives no
// namespaces, what git started for the network then lives until the remote answers.
func start(make func() *exec.Cmd) (*exec.Cmd, error) {
	cmd := make()
	ownGroup(cmd)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	err := cmd.Start()
	for _, refusal := range []error{syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EINVAL, syscall.EUSERS} {
		if errors.Is(err, refusal) {
			cmd = make()
			ownGroup(cmd)
			return cmd, cmd.Start()
		}
	}
	return cmd, err
}

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
