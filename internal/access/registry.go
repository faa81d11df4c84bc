package access

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// Registry keeps projects and keys. It is safe for concurrent use.
type Registry struct {
	db     *database.DB
	now    func() time.Time
	source io.Reader // of randomness
	logger *slog.Logger

	changing sync.Mutex // held by every change, from its checks to its end

	mu       sync.RWMutex
	projects map[string]Project
	keys     map[[32]byte]Key
}

// Options gives a registry what it may not take by itself.
type Options struct {
	Database *database.DB
	Now      func() time.Time
	Random   io.Reader // cryptographically secure
	Logger   *slog.Logger
}

// Open reads all projects and keys from the database. A damaged one is a
// sketch.ErrCorrupted that names its key in the database.
func Open(opts Options) (*Registry, error) {
	r := &Registry{
		db:       opts.Database,
		now:      opts.Now,
		source:   opts.Random,
		logger:   opts.Logger,
		projects: make(map[string]Project),
		keys:     make(map[[32]byte]Key),
	}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	err := opts.Database.View(func(txn *badger.Txn) error {
		if err := database.Each(txn, database.ProjectPrefix(), database.KindProject, r.loadProject); err != nil {
			return err
		}
		return database.Each(txn, database.APIKeyPrefix(), database.KindKey, r.loadKey)
	})
	if err != nil {
		return nil, fmt.Errorf("reading projects and keys: %w", err)
	}
	return r, nil
}

func (r *Registry) loadProject(key, payload []byte) error {
	var stored storedProject
	if err := database.DecodeJSON(key, payload, &stored); err != nil {
		return err
	}
	p := Project{ID: database.ProjectID(key), Number: sketch.ProjectNumber(stored.Number), Created: stored.Created}
	if copy(p.Secret[:], stored.Secret) != len(p.Secret) {
		return &sketch.CorruptionError{Key: append([]byte(nil), key...), Reason: "the secret is too short"}
	}
	r.projects[p.ID] = p
	return nil
}

func (r *Registry) loadKey(key, payload []byte) error {
	var stored storedKey
	if err := database.DecodeJSON(key, payload, &stored); err != nil {
		return err
	}
	k := Key{
		ID: stored.ID, Name: stored.Name, Scope: stored.Scope, Project: stored.Project,
		Created: stored.Created, Expires: stored.Expires, LastUsed: stored.LastUsed, Allow: stored.Allow,
	}
	copy(k.sum[:], key[1:])
	r.keys[k.sum] = k
	return nil
}

func (r *Registry) random(b []byte) error {
	_, err := io.ReadFull(r.source, b)
	return err
}

// Now returns the time by which keys expire.
func (r *Registry) Now() time.Time { return r.now() }
