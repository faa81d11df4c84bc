package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"footfall/agentjobs/sandbox"
)

// canary stands for what only the service may know.
const canary = "canary-5f1c9b2e7a"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		// Not os.Exit, with which the race detector waits for a second.
		switch os.Args[1] {
		case sandbox.InitCommand:
			syscall.Exit(sandbox.Init(os.Args[2:]))
		case "attack":
			syscall.Exit(attack(os.Args[2:]))
		case "service":
			syscall.Exit(service(os.Args[2:]))
		}
	}
	if err := os.Setenv("FOOTFALL_CANARY", canary); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// A host is what a test has of the host: the run's directories, and its room.
type host struct {
	*sandbox.Room
	tree, home, gate string
}

// newHost prepares a room with small limits; zero ones in limits stay as they
// are here.
func newHost(t *testing.T, mode sandbox.Mode, limits sandbox.Limits) host {
	t.Helper()
	dir := t.TempDir()
	h := host{tree: filepath.Join(dir, "tree"), home: filepath.Join(dir, "home"), gate: filepath.Join(dir, "gate.sock")}
	for _, path := range []string{h.tree, h.home} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	serveGate(t, h.gate, "the model of "+t.Name())
	box, err := sandbox.New(sandbox.Options{Mode: mode, Self: os.Args[0], Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	h.Room, err = box.Prepare(sandbox.Spec{Tree: h.tree, Home: h.home, GateSocket: h.gate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// serveGate answers every request on a socket with text and the request's body.
func serveGate(t *testing.T, path, text string) {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", text, r.URL.Path, body)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
}

func (h host) start(t *testing.T, argv ...string) *sandbox.Process {
	t.Helper()
	p, err := h.Start(t.Context(), argv, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs to the end, within a time that no test needs, and returns what was
// written to standard output.
func (h host) run(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := h.Start(ctx, argv, nil)
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Error(err)
	}
	err = p.Wait()
	if text := p.Stderr(); text != "" {
		t.Logf("standard error: %s", text)
	}
	return string(out), err
}

// sh runs a script that must exit with 0.
func (h host) sh(t *testing.T, script string) string {
	t.Helper()
	out, err := h.run(t, "/bin/sh", "-c", script)
	if err != nil {
		t.Fatalf("the script ended with: %v; it wrote %q", err, out)
	}
	return out
}

// eventually waits for a condition that something else brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for ticks := time.Tick(5 * time.Millisecond); !holds(); {
		select {
		case <-ticks:
		case <-deadline:
			t.Fatalf("in vain waited until %s", what)
		}
	}
}

func wantLimit(t *testing.T, err error, limit string) *sandbox.LimitError {
	t.Helper()
	var got *sandbox.LimitError
	if !errors.As(err, &got) {
		t.Fatalf("the run ended with %v, want the limit on %s", err, limit)
	}
	if got.Limit != limit {
		t.Fatalf("the run ended with %q, want the limit on %s", got, limit)
	}
	return got
}

// processesWith returns the ids of the host's processes whose command line has
// the text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(text)) {
			found = append(found, strings.Split(path, "/")[2])
		}
	}
	return found
}
