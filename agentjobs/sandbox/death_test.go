package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"footfall/agentjobs/sandbox"
)

// daemon is a script that leaves a process in a session of its own, with no
// parent but the first process, and tells when it runs.
func daemon(marker string) string {
	return `setsid -f sh -c 'while :; do echo ` + marker + ` >> beat; sleep 0.01; done' >/dev/null </dev/null
		while [ ! -s beat ]; do sleep 0.01; done; echo ready; exec sleep ` + marker
}

// service is a service that runs one agent until it is killed.
func service(args []string) int {
	box, err := sandbox.New(sandbox.Options{Mode: sandbox.Mode(args[0]), Self: os.Args[0]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	room, err := box.Prepare(sandbox.Spec{Tree: args[1], Home: args[2]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p, err := room.Start(context.Background(), []string{"/bin/sh", "-c", args[3]}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = io.Copy(os.Stdout, p.Stdout())
	return 0
}

func marker(t *testing.T) string {
	return "1000" + strconv.Itoa(os.Getpid()) + strconv.Itoa(len(t.Name()))
}

func waitReady(t *testing.T, out io.Reader) {
	t.Helper()
	if line, err := bufio.NewReaderSize(out, 16).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	eventually(t, "the agent sleeps", func() bool { return len(processesWith(t, "sleep\x00"+marker(t))) == 1 })
}

// A daemon does not outlive Kill, its agent, or a killed bwrap.
func TestDaemonsEnd(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, p *sandbox.Process){
		"killed": func(_ *testing.T, p *sandbox.Process) { p.Kill() },
		"the agent ends": func(t *testing.T, _ *sandbox.Process) {
			for _, pid := range processesWith(t, "sleep\x00"+marker(t)) {
				kill(t, pid)
			}
		},
		"bwrap is killed": func(t *testing.T, _ *sandbox.Process) {
			for _, pid := range childrenNamed(t, "bwrap") {
				kill(t, pid)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
			p := h.start(t, "/bin/sh", "-c", daemon(marker(t)))
			waitReady(t, p.Stdout())
			if len(processesWith(t, marker(t))) < 2 {
				t.Fatal("there is no daemon")
			}
			end(t, p)
			if err := p.Wait(); err == nil {
				t.Error("Wait: no error")
			}
			// At once, not eventually.
			if left := processesWith(t, marker(t)); len(left) > 0 {
				t.Errorf("processes %v are left after Wait", left)
			}
		})
	}
}

// The service is killed with no chance to do anything.
func TestServiceKilled(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			h := newHost(t, mode, sandbox.Limits{})
			script := daemon(marker(t))
			if mode == sandbox.None {
				script = "echo ready; exec sleep " + marker(t) // a daemon gets away
			}
			cmd := exec.Command(os.Args[0], "service", string(mode), h.tree, h.home, script)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitReady(t, out)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			eventually(t, "nothing of the run is left", func() bool { return len(processesWith(t, marker(t))) == 0 })
		})
	}
}

// The sandbox is not tied to the thread that its caller happened to be on.
func TestThreadOfTheCallerEnds(t *testing.T) {
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		started := make(chan *sandbox.Process)
		thread := make(chan int, 1)
		go func() {
			runtime.LockOSThread() // and ends with the goroutine
			thread <- syscall.Gettid()
			p, err := h.Start(t.Context(), []string{"cat"}, nil)
			if err != nil {
				t.Error(err)
			}
			started <- p
		}()
		p, tid := <-started, <-thread
		if p == nil {
			t.FailNow()
		}
		if tid != os.Getpid() { // the runtime keeps the first thread
			eventually(t, "the thread is gone", func() bool {
				_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
				return err != nil
			})
		}
		if _, err := io.WriteString(p.Stdin(), "alive\n"); err != nil {
			t.Error(err)
		}
		if err := p.Stdin().Close(); err != nil {
			t.Error(err)
		}
		if out, err := io.ReadAll(p.Stdout()); err != nil || string(out) != "alive\n" {
			t.Errorf("read %q, %v", out, err)
		}
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// childrenNamed returns children of the test's process, by their program's name.
func childrenNamed(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	for _, pid := range processesWith(t, name) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && strings.Contains(string(stat), fmt.Sprintf("(%s) S %d ", name, os.Getpid())) {
			found = append(found, pid)
		}
	}
	return found
}
