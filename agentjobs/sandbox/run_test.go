package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"footfall/agentjobs/sandbox"
)

var modes = []sandbox.Mode{sandbox.Bubblewrap, sandbox.None}

func eachMode(t *testing.T, test func(t *testing.T, mode sandbox.Mode)) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) { test(t, mode) })
	}
}

// An agent reads its input, writes its output, and its end is told.
func TestStreamsAndExit(t *testing.T) {
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		p := h.start(t, "/bin/sh", "-c", `read line; echo "got $line"; echo wrong >&2; exit 3`)
		if _, err := io.WriteString(p.Stdin(), "a line\n"); err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(p.Stdout())
		if err != nil || string(out) != "got a line\n" {
			t.Errorf("standard output %q, %v", out, err)
		}
		var exit *sandbox.ExitError
		if err := p.Wait(); !errors.As(err, &exit) || exit.Code != 3 || exit.Signal != 0 {
			t.Errorf("Wait: %v, want the exit code 3", err)
		}
		if got := p.Stderr(); got != "wrong\n" {
			t.Errorf("standard error %q", got)
		}
	})
}

func TestExits(t *testing.T) {
	tests := []struct {
		script string
		want   *sandbox.ExitError
	}{
		{"exit 0", nil},
		{"exit 255", &sandbox.ExitError{Code: 255}},
		{"kill -9 $$", &sandbox.ExitError{Code: -1, Signal: syscall.SIGKILL}},
		{"kill -TERM $$", &sandbox.ExitError{Code: -1, Signal: syscall.SIGTERM}},
		// What it left behind does not keep the run.
		{"sleep 1000 & exit 0", nil},
	}
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		for _, test := range tests {
			_, err := h.run(t, "/bin/sh", "-c", test.script)
			var got *sandbox.ExitError
			if test.want == nil {
				if err != nil {
					t.Errorf("%s: %v", test.script, err)
				}
			} else if !errors.As(err, &got) || *got != *test.want {
				t.Errorf("%s: %v, want %v", test.script, err, test.want)
			}
		}
	})
}

// The agent's standard output ends when the agent closes it, though it runs on.
func TestOutputCloses(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	p := h.start(t, "/bin/sh", "-c", "exec >&-; exec sleep 1000")
	if _, err := io.ReadAll(p.Stdout()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
		t.Fatal("the agent ended")
	default:
	}
}

func TestKillAndContext(t *testing.T) {
	errCause := errors.New("the deadline of the run")
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		p := h.start(t, "sleep", "1000")
		p.Kill()
		p.Kill()
		if err := p.Wait(); !errors.Is(err, sandbox.ErrKilled) {
			t.Errorf("after Kill, Wait: %v", err)
		}
		p.Kill()

		ctx, cancel := context.WithCancelCause(t.Context())
		p, err := h.Start(ctx, []string{"sleep", "1000"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		cancel(errCause)
		if err := p.Wait(); !errors.Is(err, errCause) {
			t.Errorf("after the context's end, Wait: %v", err)
		}
		// Whether it starts at all is open; that it ends with the cause is not.
		p, err = h.Start(ctx, []string{"sleep", "1000"}, nil)
		if err == nil {
			err = p.Wait()
		}
		if !errors.Is(err, errCause) {
			t.Errorf("with a context that ended: %v", err)
		}
	})
}

func TestCloseEndsAll(t *testing.T) {
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		first, second := h.start(t, "sleep", "98761"), h.start(t, "sleep", "98761")
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*sandbox.Process{first, second} {
			select {
			case <-p.Done():
			default:
				t.Error("a process was left by Close")
			}
		}
		if left := processesWith(t, "sleep\x0098761\x00"); len(left) > 0 {
			t.Errorf("Close left processes %v", left)
		}
		if _, err := h.Start(t.Context(), []string{"true"}, nil); !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("Start after Close: %v", err)
		}
		if err := h.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
	})
}

// Nothing is left open by runs: not a descriptor, also of those that fail.
func TestDescriptorsAreGivenBack(t *testing.T) {
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		h.sh(t, "true")
		count := func() int {
			names, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				t.Fatal(err)
			}
			return len(names)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		before := count()
		notRunnable := filepath.Join(t.TempDir(), "broken")
		if err := os.WriteFile(notRunnable, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		box, err := sandbox.New(sandbox.Options{Mode: mode, Self: os.Args[0]})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			room, err := box.Prepare(sandbox.Spec{Tree: h.tree, Home: h.home, GateSocket: h.gate})
			if err != nil {
				t.Fatal(err)
			}
			if p, err := room.Start(t.Context(), []string{"true"}, nil); err != nil || p.Wait() != nil {
				t.Errorf("true failed: %v", err)
			}
			if _, err := room.Start(t.Context(), []string{notRunnable}, nil); !errors.Is(err, fs.ErrNotExist) && mode == sandbox.None {
				t.Errorf("a program that can not run: %v", err)
			} else if err == nil {
				t.Error("a program that can not run was started")
			}
			if err := room.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if after := count(); after > before {
			t.Errorf("%d descriptors are open after the runs, %d were before", after, before)
		}
	})
}

// 1 GB on both streams is bounded by its reader, and what is kept by the ring.
func TestOutputIsBounded(t *testing.T) {
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		const kept = 4096
		h := newHost(t, mode, sandbox.Limits{StderrBytes: kept})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := h.start(t, "/bin/sh", "-c", `head -c 1000000000 /dev/zero >&2; echo last words >&2; exec head -c 1000000000 /dev/zero`)
		n, err := io.Copy(io.Discard, p.Stdout())
		if err != nil || n != 1_000_000_000 {
			t.Errorf("read %d bytes, %v", n, err)
		}
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
			t.Errorf("%d bytes were allocated for the output", grown)
		}
		if got := p.Stderr(); len(strings.ToValidUTF8(got, "")) > kept || !strings.HasSuffix(got, "last words\n") {
			t.Errorf("kept %d bytes of standard error, ending with %q", len(got), got[max(0, len(got)-20):])
		}
	})
}

// An agent whose output nobody reads waits, and can be ended.
func TestOutputThatNobodyReads(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	p := h.start(t, "/bin/sh", "-c", "echo started; exec cat /dev/zero")
	line, err := bufio.NewReaderSize(p.Stdout(), 16).ReadString('\n')
	if err != nil || line != "started\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	p.Kill()
	if err := p.Wait(); !errors.Is(err, sandbox.ErrKilled) {
		t.Errorf("Wait: %v", err)
	}
}
