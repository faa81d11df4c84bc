package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"footfall/internal/control"
	"footfall/internal/database"
	"footfall/internal/datadir"
	"footfall/internal/forwarded"
)

// shutdownTimeout is how long requests that run may take to end.
const shutdownTimeout = 15 * time.Second

// httpLimits are those of the HTTP servers. A client that is slow or stuck is cut
// off.
type httpLimits struct {
	maxConnections int64
	maxHeaderBytes int64
	headerTimeout  time.Duration
	readTimeout    time.Duration
	writeTimeout   time.Duration
	idleTimeout    time.Duration
}

// defaultHTTPLimits is what serve takes without being told otherwise.
func defaultHTTPLimits() httpLimits {
	return httpLimits{
		maxConnections: 1024,
		maxHeaderBytes: 32 << 10,
		headerTimeout:  10 * time.Second,
		readTimeout:    time.Minute,
		writeTimeout:   2 * time.Minute,
		idleTimeout:    2 * time.Minute,
	}
}

// serverOptions says where a server listens.
type serverOptions struct {
	data          string
	listen        string
	metricsListen string // empty for none
	bounds        bounds
	limits        httpLimits
	trusted       forwarded.Trusted
	agents        agentOptions
	now           func() time.Time
	logger        *slog.Logger
}

// server is an app that listens: for clients, for metrics, and on the control
// socket.
type server struct {
	app       *app
	logger    *slog.Logger
	client    net.Listener
	metrics   net.Listener // nil without metrics
	control   net.Listener
	registry  *prometheus.Registry
	limits    httpLimits
	listening []*http.Server
	// requests are those being answered. The store is closed after the last.
	requests sync.WaitGroup
}

// openServer opens the data directory and listens. When it returns, connections
// are accepted as soon as run is called.
func openServer(opts serverOptions) (_ *server, err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		database.NewCollector(),
	)
	s := &server{logger: opts.logger, registry: registry, limits: opts.limits}
	s.app, err = openApp(appOptions{
		data:       opts.data,
		now:        opts.now,
		logger:     opts.logger,
		registerer: registry,
		bounds:     opts.bounds,
		trusted:    opts.trusted,
		agents:     opts.agents,
	})
	if err != nil {
		return nil, err
	}
	// Not before it is known that the server can serve: a run costs money.
	if err = s.listen(opts); err == nil {
		err = s.app.jobs.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.closeListeners(), s.app.close())
	}
	return s, nil
}

func (s *server) listen(opts serverOptions) (err error) {
	if s.client, err = net.Listen("tcp", opts.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	s.client = newBoundedListener(s.client, int(opts.limits.maxConnections), s.registry, s.logger)
	if opts.metricsListen != "" {
		if s.metrics, err = net.Listen("tcp", opts.metricsListen); err != nil {
			return fmt.Errorf("--metrics-listen: %w", err)
		}
	}
	s.control, err = control.Listen(datadir.Socket(s.app.dir.Path()))
	return err
}

func (s *server) closeListeners() error {
	var err error
	for _, l := range []net.Listener{s.client, s.metrics, s.control} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// run serves until the context ends, then lets running requests end, makes
// durable what waits and closes everything.
func (s *server) run(ctx context.Context) error {
	group, failed := errgroup.WithContext(ctx)
	serve := func(l net.Listener, handler http.Handler) {
		server := &http.Server{
			Handler:           s.counted(handler),
			ReadHeaderTimeout: s.limits.headerTimeout,
			ReadTimeout:       s.limits.readTimeout,
			WriteTimeout:      s.limits.writeTimeout,
			IdleTimeout:       s.limits.idleTimeout,
			MaxHeaderBytes:    int(s.limits.maxHeaderBytes),
			// OPTIONS * is a route that does not exist, like any other.
			DisableGeneralOptionsHandler: true,
			ErrorLog:                     slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
		}
		// A log that is followed would else hold the shutdown up for as long as its job.
		server.RegisterOnShutdown(s.app.jobs.StopWaiting)
		s.listening = append(s.listening, server)
		group.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serving %s: %w", l.Addr(), err)
			}
			return nil
		})
	}
	serve(s.client, s.app.api)
	serve(s.control, s.app.admin)
	if s.metrics != nil {
		serve(s.metrics, s.metricsHandler())
		s.logger.Info("Metrics are served.", "address", s.metrics.Addr().String())
	}
	s.logger.Info("Footfall serves.", "address", s.client.Addr().String(), "data", s.app.dir.Path())

	<-failed.Done()
	s.logger.Info("Footfall stops.")
	err := s.shutdown()
	s.requests.Wait()
	return errors.Join(group.Wait(), err, s.app.close())
}

func (s *server) counted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Done()
		handler.ServeHTTP(w, r)
	})
}

func (s *server) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var err error
	for _, server := range s.listening {
		if stopErr := server.Shutdown(ctx); stopErr != nil {
			// A request that does not end is cut off: it was not answered, so
			// nothing that was acknowledged is lost.
			s.logger.Warn("A request was cut off.", "error", stopErr)
			err = errors.Join(err, server.Close())
		}
	}
	return err
}

func (s *server) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{Registry: s.registry}))
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /readyz", s.app.ready)
	return mux
}
