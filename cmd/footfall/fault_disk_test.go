package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// insideNamespace tells the test that it runs in a mount namespace of its own.
const insideNamespace = "FOOTFALL_TEST_NAMESPACE"

// TestFullDisk fills the disk of a data directory while events are sent: nothing
// is acknowledged that is not kept, the process neither dies nor hangs, and once
// there is room again a restart has everything that was acknowledged and takes
// more. With the sizes it ends in different places: at the log's first segment, at
// a checkpoint, at a later segment.
func TestFullDisk(t *testing.T) {
	// Also for root: what is mounted goes with the process, however that ends.
	if os.Getenv(insideNamespace) == "" {
		inNamespace(t)
		return
	}
	sizes := []int{140}
	if os.Getenv("FOOTFALL_ROUNDS") != "" {
		sizes = []int{140, 180, 210, 280, 360}
	}
	for _, mebibytes := range sizes {
		t.Run(fmt.Sprintf("%d MiB", mebibytes), func(t *testing.T) { fillDisk(t, mebibytes, mebibytes) })
	}
	t.Run("no room for the log", func(t *testing.T) { fillDisk(t, 140, 60) })
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

func resize(t *testing.T, dir string, mebibytes int) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", fmt.Sprintf("remount,size=%dm", mebibytes), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

const enough = 2048 // MiB

// fillDisk sends events to a server that was started on a disk of one size, which
// then has another.
func fillDisk(t *testing.T, started, filled int) {
	dir := mount(t, started)
	data := filepath.Join(dir, "data")
	key := newDocs(t, data)
	sent := &ledger{pages: 100, visitors: 2, pad: "/" + strings.Repeat("x", 900)}
	p := serve(t, data)
	resize(t, dir, filled)
	wait := sent.load(t.Context(), p.url, key, 4)
	sent.awaitRefusals(t, p)
	if status, body := request(t, "GET", p.metrics+"/readyz", "", nil); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d: %s", status, body)
	}
	p.terminate(t)
	wait()
	for status := range sent.answers {
		if status != http.StatusAccepted && status != http.StatusServiceUnavailable {
			t.Errorf("%d batches are answered with %d", sent.answers[status], status)
		}
	}
	why := regexp.MustCompile(`level=(WARN|ERROR) .*(no space|nearly full).*`).FindString(p.log.String())
	if !strings.Contains(why, "no space left on device") && !strings.Contains(why, "the disk is nearly full") {
		t.Errorf("the log does not say why:\n%.3000s", p.log)
	}
	t.Logf("answers: %v\n%s", sent.answers, why)

	resize(t, dir, enough)
	sent.check(t, data)
	p = serve(t, data)
	if status := sent.send(t.Context(), http.DefaultClient, p.url, key); status != http.StatusAccepted {
		t.Errorf("with room again a batch is answered with %d", status)
	}
	p.stop(t)
	sent.check(t, data)
}

// awaitRefusals waits until batches are refused, and fails where the process ends.
func (l *ledger) awaitRefusals(t *testing.T, p *process) {
	t.Helper()
	timeout := time.After(patience)
	for {
		changed, refused := l.watch(http.StatusServiceUnavailable)
		if refused >= 10 {
			return
		}
		select {
		case <-changed:
		case err := <-p.done:
			p.done <- err
			t.Fatalf("%v: the process ended with %v:\n%.6000s", l.answers, err, p.log)
		case <-timeout:
			t.Fatalf("%v: nothing was refused in time:\n%.6000s", l.answers, p.log)
		}
	}
}

// startOnFullDisk: where there is no room to work in, a start says so and changes
// nothing.
func startOnFullDisk(t *testing.T) {
	dir := mount(t, enough)
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
	resize(t, dir, 100)
	_, faults, err := command(t, nil, "serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	if err == nil || !strings.Contains(faults, "the disk is nearly full") || !strings.Contains(faults, data) {
		t.Errorf("%v: %s", err, faults)
	}
	resize(t, dir, enough)
	sent.check(t, data)
}
