package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// Mode is how an agent's process is kept apart from the service.
type Mode string

const (
	// Bubblewrap runs the agent in namespaces of its own, set up by bwrap(1).
	Bubblewrap Mode = "bwrap"
	// None runs the agent as a plain child with the service's own rights: it can
	// read the data directory and use the network, and no Limits hold but
	// StderrBytes.
	None Mode = "none"
)

// Options say how every run of a Sandbox is kept.
type Options struct {
	Mode Mode
	// Self is a static binary that runs Init when it is started as `Self
	// sandbox-init`. Empty means the service's own executable.
	Self string
	// Runtime are more directories that agents see, read-only and at the same
	// path, such as that of a Node.js outside of /usr. Their bin directories
	// stand in the agent's PATH.
	Runtime []string
	Limits  Limits
	// Logger may be nil.
	Logger *slog.Logger
}

// A Sandbox prepares rooms. It holds no resources and is safe for concurrent use.
type Sandbox struct {
	mode    Mode
	self    string
	runtime []string
	limits  Limits
	logger  *slog.Logger
}

// reserved are the paths inside the sandbox that nothing from outside may cover.
var reserved = []string{insideTree, insideHome, "/proc", "/dev", "/etc", "/run/footfall"}

// New checks the options. It starts nothing: Check tells whether a sandbox works
// on this machine.
func New(o Options) (*Sandbox, error) {
	s := &Sandbox{mode: o.Mode, self: o.Self, limits: o.Limits.withDefaults(), logger: o.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	switch o.Mode {
	case Bubblewrap:
	case None:
		s.logger.Warn("agents run without a sandbox and can reach all that the service can")
		return s, nil
	default:
		return nil, fmt.Errorf("sandbox mode %q is neither %q nor %q", o.Mode, Bubblewrap, None)
	}
	if err := o.Limits.check(); err != nil {
		return nil, err
	}
	if s.self == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the service's executable: %w", err)
		}
		s.self = self
	}
	self, err := filepath.Abs(s.self)
	if err != nil {
		return nil, fmt.Errorf("find the sandbox's first program %s: %w", s.self, err)
	}
	s.self = self
	for _, dir := range o.Runtime {
		if err := checkRuntime(dir); err != nil {
			return nil, err
		}
		s.runtime = append(s.runtime, filepath.Clean(dir))
	}
	return s, nil
}

func checkRuntime(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("runtime directory %q is not an absolute path", dir)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at a runtime directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("runtime directory %s is not a directory", dir)
	}
	return checkOverlap(dir)
}

// checkOverlap refuses a path of the host that would lie above or below one that
// the sandbox gives a meaning of its own.
func checkOverlap(path string) error {
	for _, r := range reserved {
		if within(path, r) || within(r, path) {
			return fmt.Errorf("%s can not be shown in the sandbox, which has its own %s", path, r)
		}
	}
	return nil
}

// within tells whether path is dir or lies below it.
func within(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, "../")
}

// ErrClosed is returned by Start on a room that was closed.
var ErrClosed = errors.New("the sandbox's room is closed")
