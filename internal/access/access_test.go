package access_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/access"
	"footfall/internal/database"
	"footfall/sketch"
)

// clock is a time that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// office is a registry that can be closed and opened again.
type office struct {
	*access.Registry
	t      *testing.T
	dir    string
	db     *database.DB
	clock  *clock
	random io.Reader
	log    bytes.Buffer
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir(), clock: newClock(), random: rand.Reader}
	o.open()
	t.Cleanup(func() {
		if err := o.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func (o *office) open() {
	o.t.Helper()
	var err error
	if o.db, err = database.Open(o.dir, database.Options{}); err != nil {
		o.t.Fatal(err)
	}
	o.Registry, err = access.Open(access.Options{
		Database: o.db,
		Now:      o.clock.Now,
		Random:   readerFunc(func(b []byte) (int, error) { return o.random.Read(b) }),
		Logger:   slog.New(slog.NewTextHandler(&o.log, nil)),
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) reopen() {
	o.t.Helper()
	if err := o.db.Close(); err != nil {
		o.t.Fatal(err)
	}
	o.open()
}

func (o *office) project(id string) access.Project {
	o.t.Helper()
	project, err := o.CreateProject(id)
	if err != nil {
		o.t.Fatal(err)
	}
	return project
}

func (o *office) key(spec access.KeySpec) (string, access.Key) {
	o.t.Helper()
	text, key, err := o.CreateKey(spec)
	if err != nil {
		o.t.Fatal(err)
	}
	return text, key
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestDamagedValuesStopTheStart(t *testing.T) {
	tests := []struct {
		name string
		key  []byte
		kind sketch.Kind
		json string
	}{
		{"project is no JSON", database.ProjectKey("docs"), database.KindProject, `{"number":`},
		{"project without a whole secret", database.ProjectKey("docs"), database.KindProject, `{"number":1,"secret":"c2hvcnQ="}`},
		{"key is no JSON", database.APIKeyKey([32]byte{1}), database.KindKey, `[]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db, err := database.Open(t.TempDir(), database.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			err = db.Update(func(txn *badger.Txn) error {
				return database.Set(txn, test.key, test.kind, []byte(test.json))
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = access.Open(access.Options{Database: db, Now: time.Now, Random: rand.Reader})
			var corruption *sketch.CorruptionError
			if !errors.As(err, &corruption) || !errors.Is(err, sketch.ErrCorrupted) {
				t.Fatalf("%v, want a sketch.CorruptionError", err)
			}
			if !bytes.Equal(corruption.Key, test.key) {
				t.Errorf("the error names key %q, want %q", corruption.Key, test.key)
			}
		})
	}
}
