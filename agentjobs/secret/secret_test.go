package secret_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"footfall/agentjobs/secret"
)

const content = "s3cret-s3cret"

// stranger is a user that is not root and not the one who runs the tests.
const stranger = 65534

func write(t *testing.T, text string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // WriteFile's mode is cut by the umask.
		t.Fatal(err)
	}
	return path
}

// expect checks what Read makes of a path. An empty rule says that it is read.
func expect(t *testing.T, path, want, rule string) {
	t.Helper()
	got, err := secret.Read(path)
	if rule == "" {
		if err != nil || got != want {
			t.Fatalf("Read: %q, %v; want %q", got, err, want)
		}
		return
	}
	if !errors.Is(err, secret.ErrRefused) || got != "" {
		t.Fatalf("Read: %q, %v; want it refused", got, err)
	}
	if !strings.Contains(err.Error(), rule) || !strings.Contains(err.Error(), path) {
		t.Errorf("the error %q does not name %s and %q", err, path, rule)
	}
	if strings.Contains(err.Error(), content) {
		t.Errorf("the error %q has the secret", err)
	}
}

func TestContent(t *testing.T) {
	for name, c := range map[string]struct{ text, want, rule string }{
		"plain":               {content, content, ""},
		"line end":            {content + "\r\n", content, ""},
		"white space around":  {" \t\n" + content + "\n\n", content, ""},
		"white space inside":  {"two " + content, "two " + content, ""},
		"largest":             {strings.Repeat("x", secret.MaxSize), strings.Repeat("x", secret.MaxSize), ""},
		"too large":           {strings.Repeat("x", secret.MaxSize+1), "", "more than"},
		"too large, of space": {content + strings.Repeat(" ", secret.MaxSize), "", "more than"},
		"empty":               {"", "", "empty"},
		"blank":               {" \n\t", "", "empty"},
		"two lines":           {content + "\n" + content, "", "control character"},
		"tab inside":          {content + "\t" + content, "", "control character"},
		"NUL":                 {content + "\x00", "", "control character"},
		"C1 control":          {content + "\u0085" + content, "", "control character"},
		"not UTF-8":           {content + "\xff", "", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) { expect(t, write(t, c.text, 0o600), c.want, c.rule) })
	}
}

func TestPermissions(t *testing.T) {
	for mode, rule := range map[fs.FileMode]string{
		0o600: "", 0o400: "", 0o700: "",
		0o640: "permissions", 0o604: "permissions", 0o620: "permissions", 0o602: "permissions",
		0o610: "permissions", 0o601: "permissions", 0o644: "permissions", 0o777: "permissions",
	} {
		t.Run(mode.String(), func(t *testing.T) { expect(t, write(t, content, mode), content, rule) })
	}
}

func TestKindOfFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, "", "regular file")

	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, fifo, "", "regular file") // It would wait for a writer.
	expect(t, "/dev/zero", "", "regular file")
}

func TestPath(t *testing.T) {
	path := write(t, content, 0o600)
	t.Chdir(filepath.Dir(path))
	expect(t, "secret", "", "not absolute")
	expect(t, "", "", "not absolute")
	if _, err := secret.Read(path + ".missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// Kubernetes mounts secret -> ..data/secret, ..data -> ..2026_01_01.
func TestLinks(t *testing.T) {
	for mode, rule := range map[fs.FileMode]string{0o600: "", 0o644: "permissions"} {
		path := write(t, content, mode)
		dir := filepath.Dir(path)
		for _, link := range [][2]string{{".", "..data"}, {"..data/secret", "linked"}} {
			if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, filepath.Join(dir, "linked"), content, rule)
	}
}

// TestOwner takes the part of another user, which only root can.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away and become another user")
	}
	own := write(t, content, 0o600)
	foreign := write(t, content, 0o600)
	if err := os.Chown(foreign, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own, foreign} {
		if err := os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755); err != nil { // So that the stranger gets there.
			t.Fatal(err)
		}
	}
	t.Run("as root", func(t *testing.T) {
		expect(t, own, content, "")
		expect(t, foreign, "", "belongs to user 65534")
	})
	t.Run("as another user", func(t *testing.T) {
		asStranger(t, func() {
			expect(t, foreign, content, "")
			if _, err := secret.Read(own); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("root's file of mode 0600: %v", err)
			}
		})
	})
	t.Run("of root, given by other means", func(t *testing.T) {
		// CAP_DAC_OVERRIDE lets root's file be read; here the effective user is
		// changed and the right to read is kept.
		asReader(t, func() {
			expect(t, own, content, "")
		})
	})
}

// asStranger runs f on a thread that is the stranger. It ends with the thread:
// a locked goroutine that returns takes its thread along.
func asStranger(t *testing.T, f func()) {
	onThread(t, f, func() unix.Errno {
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, stranger, stranger, stranger)
		return errno
	})
}

// asReader runs f on a thread whose effective user is the stranger, while its
// file system user is still root.
func asReader(t *testing.T, f func()) {
	onThread(t, f, func() unix.Errno {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), stranger, ^uintptr(0)); errno != 0 {
			return errno
		}
		_, _, errno := unix.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0)
		_ = errno // It answers with the user before, never with an error.
		return 0
	})
}

func onThread(t *testing.T, f func(), become func() unix.Errno) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if errno := become(); errno != 0 {
			t.Errorf("changing the thread's user: %v", errno)
			return
		}
		f()
	}()
	<-done
}
