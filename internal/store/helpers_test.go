package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"go.uber.org/goleak"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/internal/database"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
	}
	goleak.VerifyTestMain(m)
}

// rounds returns FOOTFALL_ROUNDS, or usual where it is not set.
func rounds(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("FOOTFALL_ROUNDS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("FOOTFALL_ROUNDS: %v", err)
	}
	return n
}

// node is a store on a database of its own, which both outlive it.
type node struct {
	*store.Store
	dir  string
	db   *database.DB
	opts store.Options
}

// small makes checkpoints follow each other without end.
func small(opts *store.Options) {
	opts.OverlayBytes = 4 << 10
	opts.LogBytes = 1
}

// open opens an empty store, which is closed when the test ends.
func open(t testing.TB, change ...func(*store.Options)) *node {
	t.Helper()
	n := &node{dir: t.TempDir(), opts: store.Options{Live: everyProject}}
	n.opts.LogDir = filepath.Join(n.dir, "log")
	for _, c := range change {
		c(&n.opts)
	}
	n.openDatabase(t)
	n.start(t)
	t.Cleanup(func() {
		if err := n.close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return n
}

func everyProject(sketch.ProjectNumber) bool { return true }

func (n *node) openDatabase(t testing.TB) {
	t.Helper()
	db, err := database.Open(filepath.Join(n.dir, "badger"), database.Options{})
	if err != nil {
		t.Fatalf("opening the database: %v", err)
	}
	n.db, n.opts.Database = db, db
}

func (n *node) start(t testing.TB) {
	t.Helper()
	s, err := store.Open(n.opts)
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	n.Store = s
}

// close closes what is open; nil says that the test did so itself.
func (n *node) close() error {
	if n.Store != nil {
		if err := n.Store.Close(); err != nil {
			return fmt.Errorf("the store: %w", err)
		}
	}
	if n.db != nil {
		return n.db.Close()
	}
	return nil
}

// Reopen closes the store and its database and opens both again.
func (n *node) Reopen(t testing.TB) {
	t.Helper()
	if err := n.close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	n.openDatabase(t)
	n.start(t)
}

// restart closes the store and opens it again on the same database.
func (n *node) restart(t testing.TB) {
	t.Helper()
	if err := n.Store.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	n.start(t)
}

func (n *node) commit(t testing.TB, project sketch.ProjectNumber, visits ...sketch.PageView) {
	t.Helper()
	if err := n.Commit(t.Context(), sketch.NewBatch(project, visits...)); err != nil {
		t.Fatalf("committing: %v", err)
	}
}

func (n *node) rank(t testing.TB, project sketch.ProjectNumber) *sketch.Ranking {
	t.Helper()
	return rank(t, n, project, sketch.AllDays())
}

func rank(t testing.TB, s storetest.Subject, project sketch.ProjectNumber, within sketch.Range) *sketch.Ranking {
	t.Helper()
	ranking, err := store.Rank(t.Context(), s, project, within)
	if err != nil {
		t.Fatalf("ranking project %d, %v: %v", project, within, err)
	}
	return ranking
}

// waitUntil waits for what other goroutines bring about.
func waitUntil(done func() bool) {
	for !done() {
		runtime.Gosched()
	}
}

// memoryOf returns the twin that holds these batches.
func memoryOf(t testing.TB, batches ...sketch.Batch) *store.Memory {
	t.Helper()
	memory := store.NewMemory(nil, store.Limits{})
	for i, b := range batches {
		if err := memory.Commit(context.Background(), b); err != nil {
			t.Fatalf("committing batch %d to the twin: %v", i, err)
		}
	}
	return memory
}

// onDisk keeps the log of a store on a disk that faults can be put into.
func onDisk(disk *faultfs.FS) func(*store.Options) {
	return func(opts *store.Options) {
		opts.LogDir, opts.LogFS = "/data/log", unreserved{disk}
	}
}

// unreserved is a file system that can not reserve space: a start then has no
// tens of megabytes of zeros to look through.
type unreserved struct{ commitlog.FS }

func (u unreserved) Create(name string) (commitlog.File, error) {
	file, err := u.FS.Create(name)
	return unreservedFile{file}, err
}

func (u unreserved) Open(name string) (commitlog.File, error) {
	file, err := u.FS.Open(name)
	return unreservedFile{file}, err
}

type unreservedFile struct{ commitlog.File }

func (unreservedFile) Preallocate(int64) error { return nil }

// get returns a copy of what the database holds under key.
func get(t testing.TB, db *database.DB, key []byte) []byte {
	t.Helper()
	var value []byte
	err := db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(key)
		if err != nil {
			return err
		}
		value, err = item.ValueCopy(nil)
		return err
	})
	if err != nil {
		t.Fatalf("reading key %q: %v", key, err)
	}
	return value
}

// put puts a value under key as it is, unframed.
func put(t testing.TB, db *database.DB, key, value []byte) {
	t.Helper()
	err := db.Update(func(txn *badger.Txn) error { return txn.Set(key, value) })
	if err != nil {
		t.Fatalf("writing key %q: %v", key, err)
	}
}
