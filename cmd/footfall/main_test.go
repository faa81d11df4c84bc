package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the program as it is built for users, made once for all tests.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "footfall-test")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "footfall")
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// patience bounds every wait for a condition of another process.
const patience = 30 * time.Second

// process is a running footfall serve.
type process struct {
	cmd     *exec.Cmd
	url     string
	metrics string
	log     *lines
	done    chan error
}

// lines collects what a process writes and finds what is waited for.
type lines struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	close(l.changed)
	l.changed = make(chan struct{})
	return len(b), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// find waits until the text matches and returns the submatches.
func (l *lines) find(t testing.TB, pattern string, done <-chan error) []string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	timeout := time.After(patience)
	for {
		l.mu.Lock()
		match, changed := expression.FindStringSubmatch(l.text.String()), l.changed
		l.mu.Unlock()
		if match != nil {
			return match
		}
		select {
		case <-changed:
		case err := <-done:
			t.Fatalf("the process ended (%v) before it wrote %q:\n%s", err, pattern, l)
		case <-timeout:
			t.Fatalf("nothing matched %q in time:\n%s", pattern, l)
		}
	}
}

// watch sends the first submatch once the text matches, unless the context ends
// before.
func (l *lines) watch(ctx context.Context, pattern string, found chan<- string) {
	expression := regexp.MustCompile(pattern)
	for {
		l.mu.Lock()
		match, changed := expression.FindStringSubmatch(l.text.String()), l.changed
		l.mu.Unlock()
		if match != nil {
			found <- match[1]
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// serve starts the binary on a data directory and waits until it answers.
func serve(t testing.TB, data string, args ...string) *process {
	t.Helper()
	args = append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"}, args...)
	return start(t, exec.Command(binary, args...))
}

func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := launch(t, cmd)
	p.metrics = "http://" + p.log.find(t, `Metrics are served\." address=(\S+)`, p.done)[1]
	p.url = "http://" + p.log.find(t, `Footfall serves\." address=(\S+)`, p.done)[1]
	return p
}

// launch starts a process and does not wait for anything.
func launch(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, log: &lines{changed: make(chan struct{})}, done: make(chan error, 1)}
	cmd.Stderr = p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // It may have ended.
	})
	return p
}

// stop ends the process as an operator would and checks that it ends well.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait(t, nil)
}

// terminate ends the process as an operator would where it may end with an error,
// but by itself.
func (p *process) terminate(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("the process ended with %v:\n%s", err, p.log)
		}
	case <-time.After(patience):
		t.Fatalf("the process did not end in time:\n%s", p.log)
	}
}

// kill ends the process at once, as a power switch would but for the page cache.
func (p *process) kill(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t, errors.New("signal: killed"))
}

// end kills the process unless it ends well before.
func (p *process) end(t testing.TB) {
	t.Helper()
	_ = p.cmd.Process.Kill() // It may have ended.
	select {
	case err := <-p.done:
		if err != nil && err.Error() != "signal: killed" {
			t.Fatalf("the process ended with %v:\n%s", err, p.log)
		}
	case <-time.After(patience):
		t.Fatalf("the process did not end in time:\n%s", p.log)
	}
}

func (p *process) wait(t testing.TB, want error) {
	t.Helper()
	select {
	case err := <-p.done:
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Fatalf("the process ended with %v, want %v:\n%s", err, want, p.log)
		}
	case <-time.After(patience):
		t.Fatalf("the process did not end in time:\n%s", p.log)
	}
}

// command runs the binary to its end and returns its standard output and error.
func command(t testing.TB, stdin io.Reader, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, faults bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &faults
	err = cmd.Run()
	return out.String(), faults.String(), err
}

// must runs the binary to its end, which must be a good one.
func must(t testing.TB, args ...string) string {
	t.Helper()
	out, faults, err := command(t, nil, args...)
	if err != nil {
		t.Fatalf("footfall %s: %v\n%s", strings.Join(args, " "), err, faults)
	}
	return out
}

// newProject creates a project and an admin key on a data directory.
func newDocs(t testing.TB, data string) (key string) {
	t.Helper()
	must(t, "project", "create", "docs", "--data", data)
	return strings.TrimSpace(must(t, "key", "create", "--data", data, "--project", "docs", "--scope", "admin"))
}

// request sends a request with a key and returns the status and the body.
func request(t testing.TB, method, url, key string, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{Timeout: patience}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(bufio.NewReader(response.Body))
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
