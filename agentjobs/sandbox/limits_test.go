package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs/sandbox"
)

func TestLimits(t *testing.T) {
	const program = "/run/footfall/init attack "
	files := func(n, size int, where string) string {
		return fmt.Sprintf(`i=0; while [ $i -lt %d ]; do i=$((i+1)); head -c %d /dev/zero > %s/f$i; done; exec sleep 1000`, n, size, where)
	}
	tests := []struct {
		name   string
		limits sandbox.Limits
		script string
		want   string
	}{
		// It doubles ten times: the machine that tests run on is not to be lost with them.
		{"a fork bomb", sandbox.Limits{Processes: 100}, `f() { sleep 1000 & [ $1 -gt 9 ] || { f $(($1+1)) & f $(($1+1)) & }; wait; }; f 0`, sandbox.LimitProcesses},
		{"one process after the other", sandbox.Limits{Processes: 100}, `(while :; do sleep 1000 & done); exec sleep 1000`, sandbox.LimitProcesses},
		{"orphans", sandbox.Limits{Processes: 100}, `(while :; do setsid sh -c 'sleep 1000 & exit'; done); exec sleep 1000`, sandbox.LimitProcesses},
		{"memory", sandbox.Limits{MemoryBytes: 150 << 20}, "exec " + program + "hog 300000000", sandbox.LimitMemory},
		{"memory of several", sandbox.Limits{MemoryBytes: 150 << 20}, strings.Repeat(program+"hog 60000000 & ", 3) + "wait", sandbox.LimitMemory},
		{"files in memory", sandbox.Limits{MemoryBytes: 100 << 20, TempBytes: 200 << 20}, files(6, 20<<20, "/tmp"), sandbox.LimitMemory},
		{"shared memory", sandbox.Limits{MemoryBytes: 100 << 20, TempBytes: 200 << 20}, files(6, 20<<20, "/dev/shm"), sandbox.LimitMemory},
		{"a spin", sandbox.Limits{CPU: time.Second}, `while :; do :; done`, sandbox.LimitCPU},
		{"spins one after the other", sandbox.Limits{CPU: time.Second}, `while :; do timeout 0.3 sh -c 'while :; do :; done'; done`, sandbox.LimitCPU},
		{"orphaned spins", sandbox.Limits{CPU: time.Second}, `while :; do setsid -f timeout 0.1 sh -c 'while :; do :; done'; sleep 0.1; done`, sandbox.LimitCPU},
		{"the home", sandbox.Limits{DiskBytes: 32 << 20}, files(4, 16<<20, "$HOME"), sandbox.LimitDisk},
		{"tree and home together", sandbox.Limits{DiskBytes: 40 << 20}, `head -c 24000000 /dev/zero > $HOME/x; ` + files(1, 24000000, "."), sandbox.LimitDisk},
		{"files without a name", sandbox.Limits{DiskBytes: 40 << 20}, program + "hold-deleted x 24000000 & " + program + "hold-deleted $HOME/y 24000000", sandbox.LimitDisk},
		{"many files", sandbox.Limits{Files: 1000}, files(2000, 0, "."), sandbox.LimitFiles},
		{"many files in memory", sandbox.Limits{Files: 1000}, files(2000, 0, "/tmp"), sandbox.LimitFiles},
		{"many directories", sandbox.Limits{Files: 1000}, `mkdir $(seq 2000); exec sleep 1000`, sandbox.LimitFiles},
		{"a directory that can not be read", sandbox.Limits{}, `mkdir -p a/b; chmod 0 a; exec sleep 1000`, sandbox.LimitHidden},
		{"paths that are too long", sandbox.Limits{}, program + "nest", sandbox.LimitHidden},
		{"a process that can not be read", sandbox.Limits{}, `cp /bin/sleep s; chmod 111 s; exec ./s 1000`, sandbox.LimitHidden},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t, sandbox.Bubblewrap, test.limits)
			_, err := h.run(t, "/bin/sh", "-c", test.script)
			_ = os.Chmod(filepath.Join(h.tree, "a"), 0o700) // or it can not be removed
			got := wantLimit(t, err, test.want)
			t.Log(got)
			if got.Limit != sandbox.LimitHidden && got.Seen <= got.Allowed {
				t.Errorf("seen %d, allowed %d", got.Seen, got.Allowed)
			}
		})
	}
}

// A run below its limits is left alone. What is there before it does not count.
func TestWithinLimits(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	h.sh(t, `head -c 60000000 /dev/zero > before; touch $(seq 1500)`)
	box, err := sandbox.New(sandbox.Options{Mode: sandbox.Bubblewrap, Self: os.Args[0], Limits: sandbox.Limits{
		Processes: 60, MemoryBytes: 100 << 20, CPU: 30 * time.Second, DiskBytes: 50 << 20, Files: 1000, TempBytes: 20 << 20,
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.Room, err = box.Prepare(sandbox.Spec{Tree: h.tree, Home: h.home})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	// Two links to a file count once, one that is sparse by what it holds, and what
	// is deleted makes room.
	h.sh(t, `set -e
		for i in $(seq 30); do sleep 1.5 & done
		head -c 30000000 /dev/zero > x; ln x y; ln x z; truncate -s 40000000 sparse
		touch $(seq 2001 2500)
		sleep 1.2
		rm x y z; head -c 40000000 /dev/zero > w
		sleep 1.2`)
}

// The kernel holds these, without a look.
func TestBoundsOfTheKernel(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{TempBytes: 4 << 20, DiskBytes: 8 << 20})
	h.sh(t, `! head -c 5000000 /dev/zero > /tmp/x && ! head -c 5000000 /dev/zero > /dev/shm/x && ! sh -c 'head -c 9000000 /dev/zero > $HOME/x'`)
}

// An agent that takes away what the watch needs is ended, not set free.
func TestWatchFailsClosed(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	_, err := h.run(t, os.Args[0], "attack", "starve")
	var exit *sandbox.ExitError
	if err == nil || errors.As(err, &exit) || errors.Is(err, t.Context().Err()) && t.Context().Err() != nil {
		t.Errorf("the run ended with %v", err)
	}
	t.Log(err)
}
