package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"footfall/internal/access"
	"footfall/internal/database"
	"footfall/internal/datadir"
	"footfall/internal/store"
	"footfall/sketch"
)

// StoredViews opens the data directory of a server that has stopped, and returns
// the page views that it holds. The API does not tell them, and a count of views,
// unlike one of visitors, shows an event that was lost or counted twice.
func (s *Server) StoredViews(ctx context.Context) (views uint64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading the views of %s: %w", s.options.Data, err)
		}
	}()
	logger := slog.New(slog.DiscardHandler)
	dir, err := datadir.Open(s.options.Data)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	db, err := database.Open(dir.Database(), database.Options{Logger: logger})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	registry, err := access.Open(access.Options{Database: db, Now: time.Now, Random: rand.Reader, Logger: logger})
	if err != nil {
		return 0, err
	}
	known, found := registry.Project(project)
	if !found {
		return 0, fmt.Errorf("there is no project %s", project)
	}
	stored, err := store.Open(store.Options{LogDir: dir.Log(), Database: db, Live: registry.Live, Logger: logger})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stored.Close()) }()
	ranking, err := store.Rank(ctx, stored, known.Number, sketch.AllDays())
	if err != nil {
		return 0, err
	}
	return ranking.Views[sketch.Human] + ranking.Views[sketch.AI], nil
}
