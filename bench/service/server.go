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
	s := &Server{options: options, logged: make(chan struct{}), client: new(http.Client)}
	args := append([]string{"serve", "--data", options.Data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"}, options.Flags...)
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), options.Binary, args...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", options.Binary, err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", options.Binary, err)
	}
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
		return nil, errors.Join(fmt.Errorf("%s did not start: %s", options.Binary, &said), s.cmd.Wait())
	}
	go func() {
		defer close(s.logged)
		for lines.Scan() {
			if options.Log != nil {
				fmt.Fprintln(options.Log, lines.Text())
			}
		}
	}()
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
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
