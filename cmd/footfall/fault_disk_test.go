package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// insideNamespace tells the test that it runs in a mount namespace of its own.
const insideNamespace = "FOOTFALL_TEST_NAMESPACE"

// TestFullDisk fills the disk of a data directory while events are sent: nothing
// is acknowledged that is not kept, the process neither dies nor hangs, takes
// events again once there is room, and a restart has everything that was
// acknowledged. FOOTFALL_ROUNDS sets how often the disk fills, each time at
// another moment and to another degree.
func TestFullDisk(t *testing.T) {
	// Also for root: what is mounted goes with the process, however that ends.
	if os.Getenv(insideNamespace) == "" {
		inNamespace(t)
		return
	}
	t.Run("while events come in", fillDisk)
	t.Run("start", startOnFullDisk)
}

// inNamespace runs the test once more where it may mount.
func inNamespace(t *testing.T) {
	t.Helper()
	cmd := exec.Command("unshare", "--map-root-user", "--mount", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideNamespace+"=1")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "unshare:") || errors.Is(err, exec.ErrNotFound) {
		t.Skipf("only root may mount, and there are no user namespaces: %v: %s", err, out)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// mount mounts a file system and returns its directory.
func mount(t *testing.T, mebibytes int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", mebibytes), "footfall-test", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting a small file system: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

const diskSize = 2048 // MiB

// fill leaves so much room on a disk, and returns what gives back the rest.
func fill(t *testing.T, dir string, mebibytes int) (release func()) {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "filler")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(stat.Bavail)*stat.Bsize - int64(mebibytes)<<20
	if err := errors.Join(unix.Fallocate(int(file.Fd()), 0, 0, size), file.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

func fillDisk(t *testing.T) {
	dir := mount(t, diskSize)
	data := filepath.Join(dir, "data")
	key := newDocs(t, data)
	sent := &ledger{pages: 20, visitors: 2, pad: "/" + strings.Repeat("x", 900)}
	n := rounds(t, 2)
	random := rand.New(rand.NewPCG(4, uint64(n)))
	for range n {
		// So little memory that checkpoints are frequent; each batch has pages of its own.
		p := serve(t, data, "--memory", "128MiB", "--max-paths", "1000000", "--max-paths-per-day", "1000000")
		wait := sent.load(t.Context(), p.url, key, 4)
		for range 2 {
			sent.awaitMore(t, p, http.StatusAccepted, 20+random.IntN(400))
			// More than what is being written takes, less than what comes needs.
			release := fill(t, dir, 180+random.IntN(70))
			sent.awaitMore(t, p, http.StatusServiceUnavailable, 10)
			// A checkpoint that cuts the log makes room for a moment, also just before this
			// is asked; what comes takes it again.
			until(t, "/readyz says that the disk is full", func() bool {
				status, body := request(t, "GET", p.metrics+"/readyz", "", nil)
				return status == http.StatusServiceUnavailable && strings.Contains(body, "the disk is nearly full")
			})
			release()
		}
		sent.awaitMore(t, p, http.StatusAccepted, 10)
		release := fill(t, dir, 180+random.IntN(70))
		p.terminate(t)
		wait()
		release()
		for status, n := range sent.answers {
			if status != http.StatusAccepted && status != http.StatusServiceUnavailable {
				t.Errorf("%d batches are answered with %d", n, status)
			}
		}
		if !strings.Contains(p.log.String(), "the disk is nearly full") {
			t.Errorf("the log does not say why:\n%.3000s", p.log)
		}
		t.Logf("answers: %v", sent.answers)
		sent.check(t, data)
	}
}

// awaitMore waits for so many more answers of a status, and fails where the process
// ends.
func (l *ledger) awaitMore(t *testing.T, p *process, status, more int) {
	t.Helper()
	timeout := time.After(patience)
	_, before := l.watch(status)
	for {
		changed, answered := l.watch(status)
		if answered >= before+more {
			return
		}
		select {
		case <-changed:
		case err := <-p.done:
			p.done <- err
			t.Fatalf("%v: the process ended with %v:\n%.6000s", l.answers, err, p.log)
		case <-timeout:
			t.Fatalf("%v: no more answers of %d:\n%.6000s", l.answers, status, p.log)
		}
	}
}

// startOnFullDisk: where there is no room to work in, a start says so and changes
// nothing.
func startOnFullDisk(t *testing.T) {
	dir := mount(t, diskSize)
	data := filepath.Join(dir, "data")
	key := newDocs(t, data)
	sent := newLedger()
	p := serve(t, data)
	for range 20 {
		if status := sent.send(t.Context(), http.DefaultClient, p.url, key); status != http.StatusAccepted {
			t.Fatalf("a batch is answered with %d", status)
		}
	}
	p.kill(t)
	release := fill(t, dir, 100)
	_, faults, err := command(t, nil, "serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	if err == nil || !strings.Contains(faults, "the disk is nearly full") || !strings.Contains(faults, data) {
		t.Errorf("%v: %s", err, faults)
	}
	release()
	sent.check(t, data)
}
