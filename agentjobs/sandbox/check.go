package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Check runs a program that does nothing in a sandbox, and says what is to be done
// where that fails. With Mode None there is nothing to check.
func (s *Sandbox) Check(ctx context.Context) error {
	if s.mode == None {
		return nil
	}
	if err := checkVersion(ctx); err != nil {
		return err
	}
	err := s.tryOut(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if advice := adviseNamespaces("/"); advice != "" {
		return fmt.Errorf("bubblewrap can not set up a sandbox: %s: %w", advice, err)
	}
	return fmt.Errorf("bubblewrap can not set up a sandbox: %w", err)
}

// The first version with --disable-userns, of January 2023.
var oldest = [3]int{0, 8, 0}

// ErrVersion is returned by Check where bwrap is too old, or does not tell its
// version.
var ErrVersion = errors.New("bubblewrap 0.8.0 or newer is needed")

func checkVersion(ctx context.Context) error {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return fmt.Errorf("bubblewrap is not installed; the package is named bubblewrap on Debian, Ubuntu, Fedora, Arch and Alpine: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"LANG=C.UTF-8"}
	said, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", path, err)
	}
	if version, ok := parseVersion(string(said)); !ok || older(version, oldest) {
		return fmt.Errorf("%w: %s says %.100q", ErrVersion, path, bytes.TrimSpace(said))
	}
	return nil
}

// parseVersion reads "bubblewrap 0.8.0".
func parseVersion(said string) (version [3]int, ok bool) {
	_, numbers, ok := strings.Cut(strings.TrimSpace(said), " ")
	parts := strings.Split(numbers, ".")
	if !ok || len(parts) != len(version) {
		return version, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return version, false
		}
		version[i] = int(n)
	}
	return version, true
}

func older(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func (s *Sandbox) tryOut(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "footfall-sandbox-")
	if err != nil {
		return fmt.Errorf("make directories to try the sandbox with: %w", err)
	}
	defer os.RemoveAll(dir)
	spec := Spec{Tree: filepath.Join(dir, "tree"), Home: filepath.Join(dir, "home")}
	for _, path := range []string{spec.Tree, spec.Home} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return fmt.Errorf("make directories to try the sandbox with: %w", err)
		}
	}
	room, err := s.Prepare(spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	process, err := room.Start(ctx, []string{"true"}, nil)
	if err != nil {
		return err
	}
	return process.Wait()
}

// namespaceSettings are what systems turn user namespaces off with.
var namespaceSettings = []struct{ file, off, advice string }{
	{"proc/sys/user/max_user_namespaces", "0",
		"user namespaces are turned off; set the sysctl user.max_user_namespaces to 10000, say"},
	{"proc/sys/kernel/unprivileged_userns_clone", "0",
		"user namespaces are turned off for all but root; set the sysctl kernel.unprivileged_userns_clone to 1"},
	{"proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		"AppArmor keeps programs from user namespaces; give bwrap a profile that allows userns, or set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0"},
}

// adviseNamespaces reads the settings of the system at root. It returns nothing
// where they look well.
func adviseNamespaces(root string) string {
	for _, setting := range namespaceSettings {
		value, err := os.ReadFile(filepath.Join(root, setting.file))
		if err == nil && string(bytes.TrimSpace(value)) == setting.off {
			return setting.advice
		}
	}
	return ""
}
