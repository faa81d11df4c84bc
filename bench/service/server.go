package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"footfall/bench/client"
)

// project is the one project of a server.
const project = "load"

// Options says what to start.
type Options struct {
	Binary string // path of the footfall binary
	Data   string // data directory
	// Flags are given to footfall serve beyond those that say where it listens and
	// keeps its data.
	Flags Flags
	// Log takes what the server logs, line by line, once it serves.
	Log io.Writer
}

// Server is a running footfall serve with a project and a key of all scopes.
type Server struct {
	options Options
	cmd     *exec.Cmd
	logged  chan struct{} // closed when the server's log has ended
	address string
	metrics string // URL
	key     string
	client  *http.Client // for what is not measured
}

var (
	serves        = regexp.MustCompile(`Footfall serves\." address=(\S+)`)
	servesMetrics = regexp.MustCompile(`Metrics are served\." address=(\S+)`)
)

// Start starts a server on ports that are free, and returns when it serves. Stop
// must be called. When ctx ends, the server goes on: it is stopped as a user
// does, not killed.
func Start(ctx context.Context, options Options) (*Server, error) {
	s := &Server{options: options, client: new(http.Client)}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Restart stops the server cleanly, starts another process on the same data, and
// returns how long that takes to serve. It listens on another port. After an
// error, no server runs.
func (s *Server) Restart(ctx context.Context) (time.Duration, error) {
	if err := s.Stop(); err != nil {
		return 0, err
	}
	started := time.Now()
	err := s.start(ctx)
	return time.Since(started), err
}

// start starts the process, and returns when it serves.
func (s *Server) start(ctx context.Context) error {
	args := append([]string{"serve", "--data", s.options.Data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"}, s.options.Flags...)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.options.Binary, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.options.Binary, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", s.options.Binary, err)
	}
	s.cmd, s.address, s.logged = cmd, "", make(chan struct{})
	var said strings.Builder
	lines := bufio.NewScanner(stderr)
	for s.address == "" && lines.Scan() {
		if match := servesMetrics.FindStringSubmatch(lines.Text()); match != nil {
			s.metrics = "http://" + match[1] + "/metrics"
		}
		if match := serves.FindStringSubmatch(lines.Text()); match != nil {
			s.address = match[1]
		}
		fmt.Fprintln(&said, lines.Text())
	}
	if s.address == "" {
		close(s.logged)
		return errors.Join(fmt.Errorf("%s did not start: %s", s.options.Binary, &said), cmd.Wait())
	}
	go func(logged chan<- struct{}) {
		defer close(logged)
		for lines.Scan() {
			if s.options.Log != nil {
				fmt.Fprintln(s.options.Log, lines.Text())
			}
		}
	}(s.logged)
	return nil
}

func (s *Server) prepare(ctx context.Context) (err error) {
	if _, err := s.Command(ctx, "project", "create", project); err != nil {
		return err
	}
	s.key, err = s.Command(ctx, "key", "create", "--project", project, "--scope", "admin")
	return err
}

// Command runs a command of the binary on the server's data directory, and
// returns its standard output.
func (s *Server) Command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.options.Binary, append(args, "--data", s.options.Data)...)
	out, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return "", fmt.Errorf("footfall %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Import imports an access log into the server's project.
func (s *Server) Import(ctx context.Context, file string) error {
	_, err := s.Command(ctx, "import", "--project", project, file)
	return err
}

// Address returns where the server takes requests: host and port.
func (s *Server) Address() string { return s.address }

// Process returns the server's process.
func (s *Server) Process() Process { return Process(s.cmd.Process.Pid) }

// Events renders a request that posts newline-delimited events.
func (s *Server) Events(body []byte) ([]byte, error) {
	return client.Render(http.MethodPost, s.address, "/v1/analytics/"+project+"/events", []client.Header{
		{Name: "Authorization", Value: "Bearer " + s.key},
		{Name: "Content-Type", Value: "application/x-ndjson"},
	}, body)
}

// Stop stops the server cleanly and waits for its end.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping the server: %w", err)
	}
	<-s.logged // Wait closes the pipe, and what was not read by then is lost.
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended badly: %w", err)
	}
	return nil
}
