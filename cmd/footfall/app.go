package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/agentjobs"
	"footfall/ingest"
	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
	"footfall/internal/datadir"
	"footfall/internal/forwarded"
	"footfall/internal/memory"
	"footfall/internal/store"
	"footfall/query"
)

// app is everything that works on one data directory, wired together. The
// server, the commands that open the store themselves, and the tests all start
// the same one.
type app struct {
	dir      *datadir.Dir
	db       *database.DB
	registry *access.Registry
	store    *store.Store
	pipeline *ingest.Pipeline
	exports  *query.Exports
	jobs     *agentjobs.Jobs
	logger   *slog.Logger

	// api answers the clients, admin the administrative commands.
	api   http.Handler
	admin http.Handler
}

// appOptions is what an app may not take by itself.
type appOptions struct {
	data       string
	now        func() time.Time
	logger     *slog.Logger
	registerer prometheus.Registerer // may be nil
	bounds     bounds
	trusted    forwarded.Trusted // proxies of clients
	agents     agentOptions
	// runJobs says that agent jobs run in this process. Else they wait in the database
	// for one in which they do.
	runJobs bool
}

// bounds are the bounds of what an app takes. 0 means the default.
type bounds struct {
	memory       int64 // bytes
	maxBodyBytes int64
	maxLineBytes int64
	pathsPerDay  int64
	paths        int64 // of a project
}

// maxBody returns the bound of a body. Without being told it is the usual one, or
// less where the memory has no room for that.
func (b bounds) maxBody(shares memory.Shares) (int64, error) {
	const usual = 16 << 20
	most := int64(shares.Bodies / ingest.BodiesPerLargest)
	if b.maxBodyBytes > most {
		return 0, fmt.Errorf("--max-body-bytes must be at most %d, for which --memory has room", most)
	}
	return cmp.Or(b.maxBodyBytes, min(usual, most)), nil
}

// logRoom is the room that the disk must have beside what the database keeps in
// reserve, so that the log grows to its next checkpoint and that can be written.
const logRoom = 128 << 20

// openApp locks the data directory and opens what is in it. datadir.ErrLocked
// says that another process has it.
func openApp(opts appOptions) (*app, error) {
	a := &app{logger: opts.logger}
	if err := a.open(opts); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *app) open(opts appOptions) (err error) {
	if a.dir, err = datadir.Open(opts.data); err != nil {
		return err
	}
	shares := memory.Divide(cmp.Or(opts.bounds.memory, memory.DefaultBudget))
	maxBody, err := opts.bounds.maxBody(shares)
	if err != nil {
		return err
	}
	a.db, err = database.Open(a.dir.Database(), database.Options{
		IndexCacheBytes: shares.IndexCache,
		MemTableBytes:   shares.MemTable,
		Logger:          opts.logger,
	})
	if err != nil {
		return err
	}
	a.registry, err = access.Open(access.Options{
		Database: a.db,
		Now:      opts.now,
		Random:   rand.Reader,
		Logger:   opts.logger,
	})
	if err != nil {
		return err
	}
	a.store, err = store.Open(store.Options{
		LogDir:        a.dir.Log(),
		Database:      a.db,
		Live:          a.registry.Live,
		Now:           opts.now,
		Room:          a.db.Room(logRoom),
		Limits:        store.Limits{PathsPerDay: int(opts.bounds.pathsPerDay), PathsPerProject: int(opts.bounds.paths)},
		QueueBytes:    shares.Queue,
		OverlayBytes:  shares.Overlay,
		KnownPaths:    shares.KnownPaths,
		NumberedPaths: shares.NumberedPaths,
		CacheBytes:    shares.CellCache,
		Logger:        opts.logger,
		Registerer:    opts.registerer,
	})
	if err != nil {
		return err
	}
	a.pipeline, err = ingest.New(ingest.Options{
		Store:        a.store,
		Now:          opts.now,
		MaxBodyBytes: maxBody,
		MaxLineBytes: int(opts.bounds.maxLineBytes),
		BodyBytes:    shares.Bodies,
		Registerer:   opts.registerer,
	})
	if err != nil {
		return err
	}
	a.exports = query.New(query.Options{
		Ranker:       a.store,
		Now:          opts.now,
		ListingBytes: shares.Listings,
		Logger:       opts.logger,
		Registerer:   opts.registerer,
	})

	if a.jobs, err = openJobs(a, opts); err != nil {
		return err
	}
	if opts.runJobs {
		if err := a.jobs.Start(); err != nil {
			return err
		}
	}

	router := api.NewRouter(a.registry, opts.trusted, opts.logger)
	a.pipeline.Routes(router)
	a.exports.Routes(router)
	a.jobs.Routes(router)
	router.Public(http.MethodGet, "/healthz", healthy)
	router.Public(http.MethodGet, "/readyz", a.ready)
	a.api = router
	a.admin = newAdmin(a)
	return nil
}

// close closes in the opposite order what was opened; what page views wait are
// made durable and folded.
func (a *app) close() error {
	var err error
	if a.jobs != nil {
		a.jobs.Close()
	}
	if a.exports != nil {
		a.exports.Close()
	}
	if a.store != nil {
		err = errors.Join(err, a.store.Close())
	}
	if a.db != nil {
		err = errors.Join(err, a.db.Close())
	}
	if a.dir != nil {
		err = errors.Join(err, a.dir.Close())
	}
	return err
}

// deleteProject removes a project with its keys, then its agent jobs, then everything
// that page views made of it. When the process ends in between, the next start goes on.
func (a *app) deleteProject(ctx context.Context, id string) error {
	project, err := a.registry.DeleteProject(id)
	if err != nil {
		return err
	}
	// From here on it is done or goes on at the next start; a client that gives
	// up does not stop it.
	return errors.Join(a.jobs.DeleteProject(project), a.store.DeleteProject(context.WithoutCancel(ctx), project.Number))
}

// healthy answers that the process serves requests.
func healthy(w http.ResponseWriter, _ *http.Request) {
	api.Write(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready answers whether page views are taken.
func (a *app) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.store.Ready(); err != nil {
		api.WriteError(w, r, a.logger, err)
		return
	}
	healthy(w, r)
}
