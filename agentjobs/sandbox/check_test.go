package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	box, err := New(Options{Mode: Bubblewrap, Self: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := box.Check(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended, Check: %v", err)
	}
	plain, err := New(Options{Mode: None})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := plain.Check(t.Context()); err != nil {
		t.Errorf("without a sandbox, Check: %v", err)
	}
	if err := box.Check(t.Context()); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "the package is named bubblewrap") {
		t.Errorf("without bwrap, Check: %v", err)
	}
}

func TestCheckOfVersions(t *testing.T) {
	box, err := New(Options{Mode: Bubblewrap, Self: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, said := range []string{"bubblewrap 0.7.9", "bubblewrap 0.8", "bubblewrap", "", "bubblewrap 0.8.x"} {
		script := "#!/bin/sh\necho '" + said + "'\n"
		if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := box.Check(t.Context()); !errors.Is(err, ErrVersion) {
			t.Errorf("%q: %v", said, err)
		}
	}
	for said, want := range map[string][3]int{"bubblewrap 0.8.0\n": {0, 8, 0}, "bubblewrap 1.0.12": {1, 0, 12}} {
		if got, ok := parseVersion(said); !ok || got != want || older(got, oldest) {
			t.Errorf("%q: %v, %v", said, got, ok)
		}
	}
}

func TestAdvice(t *testing.T) {
	for name, want := range map[string]string{
		"user/max_user_namespaces":                     "user.max_user_namespaces",
		"kernel/unprivileged_userns_clone":             "kernel.unprivileged_userns_clone",
		"kernel/apparmor_restrict_unprivileged_userns": "kernel.apparmor_restrict_unprivileged_userns",
	} {
		root := t.TempDir()
		path := filepath.Join(root, "proc/sys", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		off, on := "0\n", "1\n"
		if strings.Contains(name, "apparmor") {
			off, on = on, off
		}
		for value, want := range map[string]string{off: want, on: ""} {
			if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := adviseNamespaces(root); !strings.Contains(got, want) || (want == "") != (got == "") {
				t.Errorf("%s is %q: %q", name, value, got)
			}
		}
	}
}

// What is kept is the end of what was written, however it was cut into writes.
func FuzzRing(f *testing.F) {
	f.Add([]byte("some text that is longer than the ring"), uint8(7), uint8(3))
	f.Add([]byte("abcdefgh"), uint8(4), uint8(4))
	f.Fuzz(func(t *testing.T, text []byte, size, step uint8) {
		r := newRing(int(size) + 1)
		for rest := text; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			if got, err := r.Write(rest[:n]); got != n || err != nil {
				t.Fatalf("Write: %d, %v", got, err)
			}
			rest = rest[n:]
		}
		want := strings.ToValidUTF8(string(text[max(0, len(text)-int(size)-1):]), "\uFFFD")
		if got := r.String(); got != want {
			t.Errorf("kept %q, want %q", got, want)
		}
	})
}

// A process chooses its name, and these are read by the process that bounds it.
func FuzzProcessFiles(f *testing.F) {
	f.Add([]byte("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 1 1 1"), []byte("Name:\tRssAnon: 1\nThreads:\t3\nRssAnon:\t  12 kB\nVmSwap:\t 1 kB\n"))
	f.Fuzz(func(t *testing.T, stat, status []byte) {
		_, _ = parseStat(stat)
		_, _ = parseStatus(status)
	})
}

func TestProcessFiles(t *testing.T) {
	cpu, err := parseStat([]byte("7 (a) S 9 9) S 1 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 1 1 1"))
	if err != nil || cpu != 100*clockTick {
		t.Errorf("processor time %v, %v, want a second", cpu, err)
	}
	if _, err := parseStat([]byte("7 (a) S 1 2")); err == nil {
		t.Error("a stat that is cut was read")
	}
	threads, memory := parseStatus([]byte("Name:\tx\nVmRSS:\t 999 kB\nRssAnon:\t  12 kB\nRssFile:\t 50 kB\nRssShmem:\t 2 kB\nThreads:\t3\nVmSwap:\t 1 kB\n"))
	if threads != 3 || memory != 15<<10 {
		t.Errorf("%d threads, %d bytes, want 3 and %d", threads, memory, 15<<10)
	}
}
