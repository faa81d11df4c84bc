package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

const project = "load"

// server is a running footfall serve with a project and a key.
type server struct {
	binary string
	data   string
	cmd    *exec.Cmd
	url    string // of the project's endpoints
	key    string
	client *http.Client
}

func startServer(ctx context.Context, binary, data string) (*server, error) {
	s := &server{binary: binary, data: data, client: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 64,
		DisableCompression:  true,
	}}}
	// A cancelled context must not kill the server: it is stopped as a user does.
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), binary, "serve", "--data", data,
		"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	address := regexp.MustCompile(`Footfall serves\." address=(\S+)`)
	lines := bufio.NewScanner(stderr)
	for s.url == "" && lines.Scan() {
		if match := address.FindStringSubmatch(lines.Text()); match != nil {
			s.url = "http://" + match[1] + "/v1/analytics/" + project
		}
	}
	if s.url == "" {
		return nil, errors.Join(errors.New("the server did not start"), s.cmd.Wait())
	}
	go func() {
		for lines.Scan() {
			fmt.Fprintln(os.Stderr, lines.Text())
		}
	}()
	if _, err := s.command(ctx, "project", "create", project); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if s.key, err = s.command(ctx, "key", "create", "--project", project, "--scope", "admin"); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// command runs an administrative command and returns its standard output.
func (s *server) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.binary, append(args, "--data", s.data)...)
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

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping the server: %w", err)
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended badly: %w", err)
	}
	return nil
}
