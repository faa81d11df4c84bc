package gitea

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	startLimit = 2 * time.Minute  // until Gitea answers, on a machine with other work
	stopLimit  = 30 * time.Second // until it has ended by itself
	logLimit   = 256 << 10        // bytes of its log that a failed test shows
	tries      = 3                // to find a port that stays free
)

// Options name the parts of Gitea.
type Options struct {
	Binary     string // the program, built with the tags sqlite and sqlite_unlock_notify
	StaticRoot string // the folder that holds templates, options and public: that of its module
}

// Server is a Gitea on loopback, from Start to the end of its test. Its methods
// end the test where the server refuses.
type Server struct {
	URL string // http://127.0.0.1:port

	t         testing.TB
	binary    string
	config    string
	root      string // the working folder
	admin     string // a token with every right
	passwords map[string]string
	output    *output
	client    *http.Client
}

// Start starts a Gitea with an empty database and returns once it answers. The
// test's end stops it. The log is shown where the test failed, without the tokens
// and passwords that were made here.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	root := t.TempDir()
	s := &Server{
		t:         t,
		binary:    options.Binary,
		config:    filepath.Join(root, "app.ini"),
		root:      root,
		passwords: make(map[string]string),
		output:    &output{},
		client:    &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("gitea's log:\n%s", strings.TrimSpace(s.output.String()))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	for try := 1; ; try++ {
		err := s.start(ctx, options.StaticRoot)
		if err == nil {
			break
		}
		if !errors.Is(err, errEnded) || try == tries {
			t.Fatalf("gitea: start: %v", err)
		}
	}
	if err := s.createAdmin(ctx); err != nil {
		t.Fatalf("gitea: create administrator: %v", err)
	}
	return s
}

// errEnded is the error of a Gitea that ended before it answered.
var errEnded = errors.New("ended before it answered")

// start starts the process and returns once it answers.
func (s *Server) start(ctx context.Context, static string) error {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return fmt.Errorf("look for a port: %w", err)
	}
	address := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil {
		return fmt.Errorf("look for a port: %w", err)
	}
	s.URL = "http://" + address.String()
	if err := s.configure(static, address.Port); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	web := &process{command: s.command(context.Background(), "web"), ended: make(chan struct{})}
	web.command.Stdout, web.command.Stderr = s.output, s.output
	if err := web.command.Start(); err != nil {
		return err
	}
	go func() {
		defer close(web.ended)
		web.err = web.command.Wait()
	}()
	s.t.Cleanup(func() {
		if err := web.stop(); err != nil {
			s.t.Errorf("gitea: stop: %v", err)
		}
	})
	return s.await(ctx, web)
}

// await waits until Gitea says that it and its database are well.
func (s *Server) await(ctx context.Context, web *process) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/healthz", nil)
		if err != nil {
			return err
		}
		if response, err := s.client.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-again.C:
		case <-web.ended:
			web.reported = true
			return fmt.Errorf("%w: %w", errEnded, web.err)
		case <-ctx.Done():
			return fmt.Errorf("wait for an answer: %w", ctx.Err())
		}
	}
}

// process is a Gitea that runs.
type process struct {
	command  *exec.Cmd
	ended    chan struct{} // closed once err is set
	err      error
	reported bool // its end is known to whoever started it
}

// stop asks the process to end, and ends it where it does not.
func (p *process) stop() error {
	if p.reported {
		return nil
	}
	// It may have ended just now: then Wait says how.
	_ = p.command.Process.Signal(syscall.SIGTERM)
	overdue := time.NewTimer(stopLimit)
	defer overdue.Stop()
	select {
	case <-p.ended:
	case <-overdue.C:
		_ = p.command.Process.Kill()
		<-p.ended
		return fmt.Errorf("still ran %v after it was asked to end", stopLimit)
	}
	return p.err
}

// configure writes the settings: nothing calls out, nothing runs later that could
// run now. Queues that are immediate make a push or a new pull request complete,
// with its check for conflicts, when the request that made it is answered.
func (s *Server) configure(static string, port int) error {
	current, err := user.Current()
	if err != nil {
		return err
	}
	return os.WriteFile(s.config, fmt.Appendf(nil, `APP_NAME = test
RUN_USER = %[1]s
RUN_MODE = prod
WORK_PATH = %[2]s
; Gitea refuses to run as root without this. Test machines often know no other user.
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true

[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[4]d
ROOT_URL = %[5]s/
LOCAL_ROOT_URL = %[5]s/
STATIC_ROOT_PATH = %[3]s
APP_DATA_PATH = %[2]s/data
OFFLINE_MODE = true
DISABLE_SSH = true
LFS_START_SERVER = false

[database]
DB_TYPE = sqlite3
PATH = %[2]s/gitea.db
; Rollback journals sync for each of hundreds of tables and indexes: the start takes four times as long.
SQLITE_JOURNAL_MODE = WAL

[repository]
ROOT = %[2]s/repositories
DEFAULT_BRANCH = main
DISABLE_MIGRATIONS = true

[security]
INSTALL_LOCK = true
SECRET_KEY = not-a-secret
; The tests' users log in by the API alone. One round is enough for them.
PASSWORD_HASH_ALGO = pbkdf2$1$8

[service]
DISABLE_REGISTRATION = true

[indexer]
ISSUE_INDEXER_TYPE = db

[queue]
TYPE = immediate

[cron]
ENABLED = false

[cron.update_checker]
ENABLED = false

[actions]
ENABLED = false

[packages]
ENABLED = false

[mailer]
ENABLED = false

[webhook]
ALLOWED_HOST_LIST = loopback

[log]
MODE = console
LEVEL = Info
`, current.Username, s.root, static, port, s.URL), 0o600)
}

// command is a run of the program with nothing of the test's environment but the
// path to git, and a home of its own: Gitea writes git's global configuration.
func (s *Server) command(ctx context.Context, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.binary, append(arguments, "--config", s.config)...)
	command.Dir = s.root
	// A git that it left behind may hold its output open.
	command.WaitDelay = stopLimit
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.root, "TMPDIR=" + s.root}
	return command
}

// tokenForm is that of Gitea's tokens: 20 bytes in hexadecimal digits.
var tokenForm = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// createAdmin makes the first user by the command line, the only way that needs
// none before it. Password and token are made there and printed: they are never
// arguments.
func (s *Server) createAdmin(ctx context.Context) error {
	command := s.command(ctx, "admin", "user", "create", "--admin", "--username", "operator",
		"--email", "operator@localhost.invalid", "--random-password", "--must-change-password=false",
		"--access-token", "--access-token-name", "test", "--access-token-scopes", "all")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	s.admin = string(tokenForm.Find(stdout))
	if s.admin == "" {
		return errors.New("no token in the answer")
	}
	s.output.hide(s.admin)
	return nil
}
