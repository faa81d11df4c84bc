//go:build !linux

package checkout

import (
	"os/exec"
	"syscall"
)

func start(make func() *exec.Cmd) (*exec.Cmd, error) {
	cmd := make()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd, cmd.Start()
}

func boundFiles(int, int64) error { return nil }
