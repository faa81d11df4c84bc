package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// Where things are in the sandbox.
const (
	insideTree = "/workspace"
	insideHome = "/home/agent"
	insideInit = "/run/footfall/init"
	insideGate = "/run/footfall/gate.sock"
	modelPort  = "127.0.0.1:8484"
)

// A Spec names what of the host one run gets, by absolute paths.
type Spec struct {
	Tree, Home string // directories that the agent may write, neither in the other
	GateSocket string // the run's way to the model; empty for none
}

// A Room is what one run is locked into. Its fields are paths and an address as
// the agent sees them. Its methods are safe for concurrent use.
type Room struct {
	Tree, Home, ModelURL string

	sandbox *Sandbox
	spec    Spec
	forward *forwarder // of Mode None; nil otherwise
	hidden  []hidden   // of the tree

	mu        sync.Mutex
	closed    bool
	starting  sync.WaitGroup
	processes []*Process
}

// Prepare checks the paths of a run and returns its room, which Close gives back.
func (s *Sandbox) Prepare(spec Spec) (*Room, error) {
	for _, dir := range []string{spec.Tree, spec.Home} {
		if err := s.checkShared(dir); err != nil {
			return nil, err
		}
		if info, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("prepare the sandbox: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("prepare the sandbox: %s is not a directory", dir)
		}
	}
	if within(spec.Tree, spec.Home) || within(spec.Home, spec.Tree) {
		return nil, fmt.Errorf("prepare the sandbox: of %s and %s one lies in the other", spec.Tree, spec.Home)
	}
	if spec.GateSocket != "" {
		if err := s.checkShared(spec.GateSocket); err != nil {
			return nil, err
		}
		if info, err := os.Stat(spec.GateSocket); err != nil {
			return nil, fmt.Errorf("prepare the sandbox: %w", err)
		} else if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("prepare the sandbox: %s is not a socket", spec.GateSocket)
		}
	}

	r := &Room{sandbox: s, spec: spec, Tree: insideTree, Home: insideHome}
	if spec.GateSocket != "" {
		r.ModelURL = "http://" + modelPort + "/v1"
	}
	if s.mode != None {
		return r, nil
	}
	r.Tree, r.Home = spec.Tree, spec.Home
	if spec.GateSocket != "" {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("listen for the model's clients: %w", err)
		}
		r.forward = newForwarder(listener, spec.GateSocket)
		r.ModelURL = "http://" + listener.Addr().String() + "/v1"
	}
	return r, nil
}

// checkShared refuses a path that is visible to every run already.
func (s *Sandbox) checkShared(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("prepare the sandbox: %q is not an absolute path", path)
	}
	for _, dir := range s.runtime {
		if within(path, dir) {
			return fmt.Errorf("prepare the sandbox: %s lies in the runtime directory %s, which every run sees", path, dir)
		}
	}
	return nil
}

// Start runs a program in the room, with the tree as its working directory, and
// returns once it runs. argv[0] is looked up in the service's PATH. Each entry of
// env is KEY=value and goes over the few variables that every agent gets; the
// service's own are not among them.
//
// The program is killed when ctx ends, after Start too. An error of Start leaves
// nothing running; it says what bwrap wrote where bwrap could not set up.
func (r *Room) Start(ctx context.Context, argv, env []string) (*Process, error) {
	if len(argv) == 0 {
		return nil, errors.New("start an agent: no program is named")
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.starting.Add(1)
	r.mu.Unlock()
	defer r.starting.Done()

	start := r.startBubblewrap
	if r.sandbox.mode == None {
		start = r.startPlain
	}
	p, err := start(ctx, argv, env)
	if err != nil {
		return nil, fmt.Errorf("start the agent %s: %w", argv[0], err)
	}
	r.mu.Lock()
	r.processes = append(r.processes, p)
	r.mu.Unlock()
	return p, nil
}

// Close kills what still runs, waits until no process of the room is left, and
// closes what Prepare opened. With Mode None a process that left the agent's
// process group is not found. Close may be called again.
func (r *Room) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	// A Start that is under way is bounded by startTimeout.
	r.starting.Wait()

	r.mu.Lock()
	processes := r.processes
	r.processes = nil
	forward := r.forward
	r.forward = nil
	r.mu.Unlock()
	for _, p := range processes {
		p.Kill()
	}
	for _, p := range processes {
		<-p.Done()
		p.closePipes()
	}
	if forward != nil {
		return forward.Close()
	}
	return nil
}
