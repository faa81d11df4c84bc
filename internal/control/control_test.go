package control_test

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
	"sync"
	"testing"

	"footfall/internal/control"
)

// serve answers on a socket until the test ends.
func serve(t *testing.T, path string, handler http.Handler) {
	t.Helper()
	listener, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		running.Wait()
	})
}

func dial(t *testing.T, path string) *http.Client {
	t.Helper()
	transport, err := control.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// longDir makes a directory whose socket does not fit into a socket address.
func longDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shortDir makes a directory whose path is short however the test is named.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ff")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestSocket(t *testing.T) {
	dirs := map[string]func(*testing.T) string{"short path": shortDir, "long path": longDir}
	for name, makeDir := range dirs {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(makeDir(t), "control.sock")
			t.Run("serving", func(t *testing.T) {
				serve(t, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, "hello "+r.URL.Path)
				}))
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if info.Mode().Type() != os.ModeSocket || info.Mode().Perm() != 0o600 {
					t.Errorf("the socket has mode %v, want a socket of 0600", info.Mode())
				}
				client := dial(t, path)
				for range 2 {
					if got := get(t, client, "/there").body; got != "hello /there" {
						t.Errorf("answer %q", got)
					}
				}
			})
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket is still there after Close: %v", err)
			}
			if _, err := control.Dial(t.Context(), path); !errors.Is(err, control.ErrNoServer) {
				t.Errorf("Dial after Close: %v, want ErrNoServer", err)
			}
		})
	}
}

// The length at which the way around begins, and both sides of it.
func TestSocketPathLengths(t *testing.T) {
	parent := shortDir(t)
	for length := 105; length <= 110; length++ {
		dir := filepath.Join(parent, strings.Repeat("d", length-len(parent)-len("//control.sock")))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "control.sock")
		t.Run(fmt.Sprint(len(path)), func(t *testing.T) {
			serve(t, path, http.NotFoundHandler())
			if got := get(t, dial(t, path), "/").status; got != http.StatusNotFound {
				t.Errorf("status %d", got)
			}
		})
	}
}

func TestStaleSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "control.sock")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false) // As a process that was killed leaves it.
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Dial(t.Context(), path); !errors.Is(err, control.ErrNoServer) {
		t.Errorf("Dial to a stale socket: %v, want ErrNoServer", err)
	}
	serve(t, path, http.NotFoundHandler())
	if got := get(t, dial(t, path), "/").status; got != http.StatusNotFound {
		t.Errorf("status %d", got)
	}
}

func TestDialWithoutServer(t *testing.T) {
	dir := longDir(t)
	for _, path := range []string{
		filepath.Join(dir, "control.sock"),
		filepath.Join(dir, "missing", "control.sock"),
		filepath.Join(shortDir(t), "control.sock"),
	} {
		if _, err := control.Dial(t.Context(), path); !errors.Is(err, control.ErrNoServer) {
			t.Errorf("%s: %v, want ErrNoServer", path, err)
		}
	}
}

func TestListenWhereNoSocketCanBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "control.sock")
	listener, err := control.Listen(path)
	if err == nil {
		_ = listener.Close()
		t.Fatal("a socket in a directory that is not there")
	}
	if !strings.Contains(err.Error(), path) {
		t.Errorf("%v does not name %s", err, path)
	}
}

// told is what a client sees of an answer.
type told struct {
	status int
	line   string
	header string
	body   string
}

func get(t *testing.T, client *http.Client, path string) told {
	t.Helper()
	return do(t, client, http.MethodGet, path, nil)
}

func do(t *testing.T, client *http.Client, method, path string, body io.Reader) told {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://footfall"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Asked", "yes")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return told{
		status: response.StatusCode,
		line:   response.Status,
		header: response.Header.Get("Content-Type") + "|" + response.Header.Get("X-Told"),
		body:   string(text),
	}
}

// The commands can not tell whether a server answers or their own process.
func TestLocalAnswersAsTheSocketDoes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo/{name}", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Told", r.Header.Get("X-Asked"))
		fmt.Fprintf(w, "%s %s %s %s %q %v", r.Method, r.Host, r.RequestURI, r.PathValue("name"), text, err)
	})
	mux.HandleFunc("POST /bounded", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 10)
		_, err := io.ReadAll(r.Body)
		var limit *http.MaxBytesError
		if errors.As(err, &limit) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	mux.HandleFunc("DELETE /gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /twice", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, "once")
	})
	mux.HandleFunc("GET /nothing", func(w http.ResponseWriter, _ *http.Request) {})

	path := filepath.Join(shortDir(t), "control.sock")
	serve(t, path, mux)
	remote := dial(t, path)
	local := &http.Client{Transport: control.Local{Handler: mux}}
	requests := []struct {
		method, path string
		body         []byte
	}{
		{http.MethodGet, "/echo/a?b=c&d=%2F", nil},
		{http.MethodPost, "/echo/%C3%A9%2Fx", []byte("some text")},
		{http.MethodPut, "/echo/large", bytes.Repeat([]byte("x"), 10_000)},
		{http.MethodPost, "/bounded", []byte("short")},
		{http.MethodPost, "/bounded", []byte("longer than ten bytes")},
		{http.MethodDelete, "/gone", nil},
		{http.MethodGet, "/twice", nil},
		{http.MethodGet, "/nothing", nil},
		{http.MethodGet, "/missing", nil},
		{http.MethodPatch, "/gone", nil},
	}
	for _, request := range requests {
		t.Run(request.method+" "+request.path, func(t *testing.T) {
			want := do(t, remote, request.method, request.path, bytes.NewReader(request.body))
			got := do(t, local, request.method, request.path, bytes.NewReader(request.body))
			if got != want {
				t.Errorf("within the process: %+v\nover the socket:    %+v", got, want)
			}
			if request.body == nil {
				if got := do(t, local, request.method, request.path, nil); got != want {
					t.Errorf("without a body: %+v\nover the socket:  %+v", got, want)
				}
			}
		})
	}
}

// A request that was given up is an error, never an answer.
func TestLocalGivenUp(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	local := &http.Client{Transport: control.Local{Handler: http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) { giveUp() },
	)}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://footfall/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := local.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
