package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/duckdb/duckdb-go/v2"
	"golang.org/x/sync/errgroup"

	"footfall/bench/service"
	"footfall/bench/workload"
)

// duckdbPeers is DuckDB with its appender, the fastest way in that it has: in this
// process, without HTTP and without a parser. It keeps every event, and counts
// when it is asked. It is measured in two ways:
//
//   - appender: what an appender commits by itself, and durable for certain only
//     when it is closed
//   - committed: a commit every 1,000 events, which is what Footfall promises
//     for a request of as many
func duckdbPeers() []peer {
	with := func(name string, flush int, asked bool) peer {
		return peer{name: name, version: duckdbVersion, start: func(ctx context.Context, _ options, dir string) (system, error) {
			db, err := openDuckDB(filepath.Join(dir, "events.duckdb"))
			if err != nil {
				return nil, err
			}
			if _, err := db.ExecContext(ctx, "CREATE TABLE views (seen TIMESTAMP, path VARCHAR, visitor VARCHAR, ai BOOLEAN)"); err != nil {
				return nil, errors.Join(fmt.Errorf("making a table: %w", err), db.Close())
			}
			return &duckDBPeer{duckDB: db, flush: flush, asked: asked}, nil
		}}
	}
	return []peer{with("duckdb-appender", 0, true), with("duckdb-committed", 1000, false)}
}

// duckDBPeer is a DuckDB that is measured.
type duckDBPeer struct {
	duckDB
	flush int  // events after which it commits; 0 leaves that to it
	asked bool // what it keeps is the same in all variants
}

func (d *duckDBPeer) process() service.Process { return 0 }

func (d *duckDBPeer) stop() error { return d.Close() }

func duckdbVersion(ctx context.Context, _ options) (version string, err error) {
	db, err := openDuckDB("")
	if err != nil {
		return "", err
	}
	err = db.QueryRowContext(ctx, "SELECT version()").Scan(&version)
	return version, errors.Join(err, db.Close())
}

// connections are how many append at once, one for each processor of the machines
// that this is measured on.
const connections = 2

// duckDB is a database, and what makes connections that an appender takes.
type duckDB struct {
	*sql.DB
	connector *duckdb.Connector
}

// openDuckDB opens a database in a file, or in memory for an empty name.
func openDuckDB(name string) (duckDB, error) {
	connector, err := duckdb.NewConnector(name, nil)
	if err != nil {
		return duckDB{}, fmt.Errorf("opening DuckDB: %w", err)
	}
	return duckDB{DB: sql.OpenDB(connector), connector: connector}, nil
}

func (d *duckDBPeer) ingest(ctx context.Context, events *workload.Events) (time.Duration, error) {
	shares := make([][]view, connections)
	number, total := 0, 0
	for b := range events.Batches(1000) {
		for v, err := range views(b) {
			if err != nil {
				return 0, err
			}
			shares[number%connections] = append(shares[number%connections], v)
		}
		number++
		total += b.Events
	}
	runtime.GC() // As for Footfall: of what rendering left behind.
	started := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	for _, share := range shares {
		group.Go(func() error { return d.appendViews(groupCtx, share, d.flush) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	elapsed := time.Since(started)
	return elapsed, d.check(ctx, total)
}

// appendViews appends views, and commits after every flush of them, unless that
// is 0.
func (db duckDB) appendViews(ctx context.Context, views []view, flush int) error {
	conn, err := db.connector.Connect(ctx)
	if err != nil {
		return fmt.Errorf("connecting to DuckDB: %w", err)
	}
	appender, err := duckdb.NewAppenderFromConn(conn, "", "views")
	if err != nil {
		return errors.Join(fmt.Errorf("making an appender: %w", err), conn.Close())
	}
	for i, v := range views {
		if err = appender.AppendRow(v.at, v.path, v.visitor, v.ai); err != nil {
			break
		}
		if flush == 0 || (i+1)%flush != 0 {
			continue
		}
		if err = errors.Join(ctx.Err(), appender.Flush()); err != nil {
			break
		}
	}
	if err := errors.Join(err, appender.Close(), conn.Close()); err != nil {
		return fmt.Errorf("appending: %w", err)
	}
	return nil
}

func (db duckDB) check(ctx context.Context, want int) error {
	var got int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM views").Scan(&got); err != nil {
		return fmt.Errorf("counting views: %w", err)
	}
	if got != want {
		return fmt.Errorf("%d views are there of %d", got, want)
	}
	return nil
}
