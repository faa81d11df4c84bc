package database_test

import (
	"bytes"
	"iter"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"go.uber.org/goleak"

	"footfall/internal/database"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Badger leaves these behind where it fails to open; a database that was
		// opened and not closed has others, too.
		goleak.IgnoreTopFunction("github.com/dgraph-io/badger/v4.(*DB).monitorCache"),
		goleak.IgnoreTopFunction("github.com/dgraph-io/ristretto/v2/z.(*AllocatorPool).freeupAllocators"),
	)
}

// open opens a database in dir, which is closed when the test ends.
func open(t *testing.T, dir string) *database.DB {
	t.Helper()
	db, err := database.Open(dir, database.Options{})
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return db
}

// contents returns everything that was put into the database.
func contents(t *testing.T, db *database.DB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := db.View(func(txn *badger.Txn) error {
		cursor := txn.NewIterator(badger.DefaultIteratorOptions)
		defer cursor.Close()
		for cursor.Rewind(); cursor.Valid(); cursor.Next() {
			value, err := cursor.Item().ValueCopy(nil)
			if err != nil {
				return err
			}
			all[string(cursor.Item().Key())] = string(value)
		}
		// What the database writes by itself.
		delete(all, string(database.CounterKey("written")))
		return nil
	})
	if err != nil {
		t.Fatalf("reading everything: %v", err)
	}
	return all
}

// write puts pairs of a key and a value.
func write(t *testing.T, db *database.DB, pairs ...string) {
	t.Helper()
	if err := db.Write(entries(pairs...)); err != nil {
		t.Fatalf("writing: %v", err)
	}
}

func entries(pairs ...string) iter.Seq2[database.Entry, error] {
	return func(yield func(database.Entry, error) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(database.Entry{Key: []byte(pairs[i]), Value: []byte(pairs[i+1])}, nil) {
				return
			}
		}
	}
}

var tooLongKey = bytes.Repeat([]byte("k"), 1<<16) // Badger takes 65,000 bytes.
