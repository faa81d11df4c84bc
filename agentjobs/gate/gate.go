package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits bound one run. A field that is zero stands for its default; none can be
// switched off.
type Limits struct {
	// Requests is how many requests are forwarded. Default 1,000.
	Requests int64
	// Bytes is the size of forwarded request bodies and of response bodies, all
	// together. Default 512 MiB.
	Bytes int64
	// Tokens is how many tokens the model may read and write, all together.
	// Default 20,000,000.
	Tokens int64
	// RequestBytes is the size of one request body. Default 16 MiB. Some three
	// times that many, for each request at a time, are held in memory.
	RequestBytes int64
	// Concurrent is how many requests are served at a time. Default 8.
	Concurrent int
	// Silence is how long the upstream may send nothing, before its first byte or
	// between two. Default 10 minutes: a model may think for long.
	Silence time.Duration
}

const (
	defaultRequests     = 1_000
	defaultBytes        = 512 << 20
	defaultTokens       = 20_000_000
	defaultRequestBytes = 16 << 20
	defaultConcurrent   = 8
	defaultSilence      = 10 * time.Minute
)

// Options are what a gate is opened with.
type Options struct {
	// Socket is the path of the unix socket to make, at most 107 bytes. A socket
	// that lies there is replaced.
	Socket string
	// Upstream is the base of the model's API, such as https://api.example.com/v1.
	// Without TLS it may only be this machine itself.
	Upstream *url.URL
	// Model is the only model that requests may name.
	Model string
	// Key returns the real key. It is called for each request, so that a key can
	// be changed during a run. Its errors are logged and must not hold the key.
	// Nil stands for an upstream without keys.
	Key func() (string, error)
	// Limits bound the run.
	Limits Limits
	// Transport reaches the upstream. Nil stands for the gate's own, which reads
	// no proxy from the environment and speaks TLS 1.2 or later. Redirects are not
	// followed with either.
	Transport http.RoundTripper
	// Logger is told what was refused and why. Nil stands for none.
	Logger *slog.Logger
}

// Bounds on what the agent's side of a connection may take.
const (
	// maxSocketPath is what a unix socket's address holds on Linux, without the
	// zero byte at its end (unix(7)).
	maxSocketPath  = 107
	maxHeaderBytes = 64 << 10
	maxModelBytes  = 256
	headerTimeout  = 10 * time.Second
	bodyTimeout    = time.Minute
	writeTimeout   = time.Minute
	idleTimeout    = time.Minute
	// connectTimeout bounds the way to the upstream, each of connecting and the
	// handshake.
	connectTimeout = 15 * time.Second
)

// Gate forwards a run's requests to the model. Its methods may be called from
// several goroutines.
type Gate struct {
	upstream  url.URL
	model     string
	key       func() (string, error)
	limits    Limits
	transport http.RoundTripper
	logger    *slog.Logger
	budget    *budget
	running   chan struct{}
	// checking lets one body be checked at a time: what an agent sends costs the
	// service no more than one processor, and one tree in memory.
	checking sync.Mutex

	socket   string
	listener net.Listener
	server   *http.Server
	cut      context.CancelFunc
	conns    sync.WaitGroup
	served   chan struct{}
	closing  sync.Once
	closeErr error
}

// Open checks the options, makes the socket and serves it until Close. Errors say
// which option is wrong, or wrap that of the socket.
func Open(o Options) (*Gate, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("opening the gate to the model: %w", err)
	}
	limits := o.Limits.withDefaults()
	g := &Gate{
		upstream:  *o.Upstream,
		model:     o.Model,
		key:       o.Key,
		limits:    limits,
		transport: o.Transport,
		logger:    o.Logger,
		budget:    &budget{limits: limits},
		running:   make(chan struct{}, limits.Concurrent),
		socket:    o.Socket,
		served:    make(chan struct{}),
	}
	if g.transport == nil {
		g.transport = newTransport(limits)
	}
	if g.logger == nil {
		g.logger = slog.New(slog.DiscardHandler)
	}
	listener, err := listen(o.Socket, maxConnections(limits))
	if err != nil {
		return nil, fmt.Errorf("opening the gate to the model: %w", err)
	}
	ctx, cut := context.WithCancel(context.Background())
	g.listener, g.cut = listener, cut
	g.server = &http.Server{
		Handler:                      http.HandlerFunc(g.handle),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnState:                    g.count,
		ErrorLog:                     slog.NewLogLogger(g.logger.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(g.served)
		// It ends when the listener is closed, which is no error.
		_ = g.server.Serve(listener)
	}()
	return g, nil
}

// Usage is what the run has used by now. Requests that are running are counted
// with their bytes; their tokens are added when they end.
func (g *Gate) Usage() Usage {
	return g.budget.read()
}

// Close stops serving, cuts the requests that are running, waits for them and
// removes the socket. Further calls return what the first one did. The error is
// that of removing the socket.
func (g *Gate) Close() error {
	g.closing.Do(func() {
		// Serve has returned before connections are closed: one that was accepted
		// meanwhile would otherwise be neither closed nor waited for.
		_ = g.listener.Close()
		<-g.served
		g.cut()
		_ = g.server.Close()
		g.conns.Wait()
		if own, ok := g.transport.(*ownTransport); ok {
			own.CloseIdleConnections()
		}
		if err := os.Remove(g.socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
			g.closeErr = fmt.Errorf("removing the gate's socket: %w", err)
		}
	})
	return g.closeErr
}

// count follows the connections, so that Close can wait for them. A connection is
// new before Serve returns, and closed after its last request was answered.
func (g *Gate) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		g.conns.Add(1)
	case http.StateClosed:
		g.conns.Done()
	}
}

func (o Options) check() error {
	if len(o.Socket) > maxSocketPath {
		return fmt.Errorf("the path of the socket has %d bytes, at most %d are possible: %s", len(o.Socket), maxSocketPath, o.Socket)
	}
	if o.Socket == "" {
		return errors.New("the path of the socket is empty")
	}
	if err := checkUpstream(o.Upstream); err != nil {
		return err
	}
	return CheckModel(o.Model)
}

// checkUpstream does not repeat the URL: it may hold a password.
func checkUpstream(u *url.URL) error {
	switch {
	case u == nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New("the upstream names no host")
	case u.User != nil:
		return errors.New("the upstream holds user information; the key belongs into a file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the upstream has a query or a fragment")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return errors.New("the upstream is not https: the key would pass in the clear")
	}
	return errors.New("the upstream is not https")
}

// CheckModel returns nil for the name of a model that a gate can be opened for, and else
// says why not. It holds the name to what can stand in a URL's path: as a segment, dots
// alone would lead elsewhere.
func CheckModel(model string) error {
	if model == "" || len(model) > maxModelBytes || !utf8.ValidString(model) || strings.ContainsFunc(model, unicode.IsControl) {
		return fmt.Errorf("the model's name is not 1 to %d bytes of printable text", maxModelBytes)
	}
	segments := strings.Split(model, "/")
	if slices.Contains(segments, ".") || slices.Contains(segments, "..") || slices.Contains(segments, "") {
		return fmt.Errorf("the model's name %q is not a path", model)
	}
	return nil
}

// loopback tells whether a host's name, without a port, is this machine itself.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

func (l Limits) withDefaults() Limits {
	l.Requests = orDefault(l.Requests, defaultRequests)
	l.Bytes = orDefault(l.Bytes, defaultBytes)
	l.Tokens = orDefault(l.Tokens, defaultTokens)
	l.RequestBytes = orDefault(l.RequestBytes, defaultRequestBytes)
	l.Concurrent = orDefault(l.Concurrent, defaultConcurrent)
	l.Silence = orDefault(l.Silence, defaultSilence)
	return l
}

func orDefault[T int | int64 | time.Duration](value, byDefault T) T {
	if value <= 0 {
		return byDefault
	}
	return value
}

// ownTransport is a transport that the gate made, and closes.
type ownTransport struct{ *http.Transport }

func newTransport(limits Limits) *ownTransport {
	dialer := &net.Dialer{Timeout: connectTimeout}
	return &ownTransport{&http.Transport{
		// No Proxy: the environment of the service does not choose the host.
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    limits.Concurrent,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}}
}
