package database_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/database"
	"footfall/sketch"
)

var errRefused = errors.New("refused")

// An update is there whole or not at all, also once the database was opened again.
func TestUpdateIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	db, err := database.Open(dir, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	update := func(value byte, answer error) {
		t.Helper()
		err := db.Update(func(txn *badger.Txn) error {
			for _, key := range []string{"a", "b"} {
				if err := txn.Set([]byte(key), []byte{value}); err != nil {
					return err
				}
			}
			return errors.Join(txn.Delete([]byte("c")), answer)
		})
		if !errors.Is(err, answer) {
			t.Fatalf("updating: %v, expected %v", err, answer)
		}
	}
	write(t, db, "c", "1")
	before := contents(t, db)
	update(1, errRefused)
	if got := contents(t, db); !maps.Equal(got, before) {
		t.Errorf("after an update that was refused: %q", got)
	}
	update(2, nil)
	want := map[string]string{"a": "\x02", "b": "\x02"}
	if got := contents(t, db); !maps.Equal(got, want) {
		t.Errorf("after an update: %q, expected %q", got, want)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, open(t, dir)); !maps.Equal(got, want) {
		t.Errorf("opened again: %q, expected %q", got, want)
	}
}

// Updates take turns: what one reads and writes, no other changes in between.
func TestUpdatesTakeTurns(t *testing.T) {
	db := open(t, t.TempDir())
	const writers, times = 8, 20
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range times {
				err := db.Update(func(txn *badger.Txn) error {
					n, err := database.GetCounter(txn, "n")
					if err != nil {
						return err
					}
					return database.SetCounter(txn, "n", n+1)
				})
				if err != nil {
					t.Errorf("updating: %v", err)
				}
			}
		})
	}
	running.Wait()
	wantCounter(t, db, "n", writers*times)
}

func wantCounter(t *testing.T, db *database.DB, name string, want uint64) {
	t.Helper()
	err := db.View(func(txn *badger.Txn) error {
		n, err := database.GetCounter(txn, name)
		if n != want {
			t.Errorf("counter %s is %d, expected %d", name, n, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A snapshot does not see what comes after it.
func TestSnapshot(t *testing.T) {
	db := open(t, t.TempDir())
	write(t, db, "a", "1")
	txn := db.Snapshot()
	defer txn.Discard()
	write(t, db, "a", "2", "b", "2")
	item, err := txn.Get([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if value, err := item.ValueCopy(nil); err != nil || string(value) != "1" {
		t.Errorf("a is %q, %v", value, err)
	}
	if _, err := txn.Get([]byte("b")); !errors.Is(err, badger.ErrKeyNotFound) {
		t.Errorf("b is there: %v", err)
	}
}

// A write of more than fits into one transaction is there when it returns, and
// after the database was opened again.
func TestWriteOfManyTransactions(t *testing.T) {
	dir := t.TempDir()
	db, err := database.Open(dir, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const count, size = 300, 64 << 10
	value := bytes.Repeat([]byte("v"), size)
	err = db.Write(func(yield func(database.Entry, error) bool) {
		for i := range count {
			if !yield(database.Entry{Key: fmt.Appendf(nil, "%08d", i), Value: append(value, byte(i))}, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		got := contents(t, db)
		for i := range count {
			if v := got[fmt.Sprintf("%08d", i)]; len(v) != size+1 || v[size] != byte(i) {
				t.Fatalf("entry %d has %d bytes", i, len(v))
			}
		}
	}
	check()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, dir)
	check()
	if db.Size() == 0 {
		t.Error("its size is 0")
	}
}

// An error among the entries is the caller's: the write ends with it, and the
// database takes more.
func TestWriteOfAnError(t *testing.T) {
	db := open(t, t.TempDir())
	pulled := 0
	err := db.Write(func(yield func(database.Entry, error) bool) {
		for pulled = 1; yield(database.Entry{Key: []byte{byte(pulled)}, Value: []byte("v")}, map[int]error{3: errRefused}[pulled]); pulled++ {
		}
	})
	if !errors.Is(err, errRefused) || pulled != 3 {
		t.Errorf("after %d entries: %v", pulled, err)
	}
	write(t, db, "a", "1")
}

// A failed write latches: what it left is not known, so nothing is built on it
// until the database is opened again.
func TestFailedWriteLatches(t *testing.T) {
	dir := t.TempDir()
	db, err := database.Open(dir, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, "a", "1")
	err = db.Write(func(yield func(database.Entry, error) bool) {
		yield(database.Entry{Key: tooLongKey}, nil)
	})
	if err == nil || errors.Is(err, database.ErrFailed) {
		t.Fatalf("the write that fails: %v", err)
	}
	latched := map[string]error{
		"Write":  db.Write(func(func(database.Entry, error) bool) { t.Error("entries are asked for") }),
		"Update": db.Update(func(*badger.Txn) error { t.Error("an update is run"); return nil }),
		"Drop":   db.Drop([]byte("a")),
	}
	for name, again := range latched {
		if !errors.Is(again, database.ErrFailed) || !strings.Contains(again.Error(), err.Error()) {
			t.Errorf("%s: %v, expected ErrFailed with its cause", name, again)
		}
	}
	if got := contents(t, db); len(got) != 1 {
		t.Errorf("it holds %q", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, dir), "b", "2")
}

// A drop removes what begins with the prefix, from memory and from tables, and
// nothing else, and waits for writes as they wait for it.
func TestDrop(t *testing.T) {
	dir := t.TempDir()
	db, err := database.Open(dir, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, "a", "1", "b", "1", "b1", "1", "c", "1")
	if err := db.Close(); err != nil { // What it holds is in a table now.
		t.Fatal(err)
	}
	db = open(t, dir)
	write(t, db, "a2", "1", "b2", "1")

	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for j := range 10 {
				if err := db.Write(entries(fmt.Sprintf("other/%d/%d", i, j), "1")); err != nil {
					t.Errorf("writing: %v", err)
				}
			}
		})
	}
	running.Go(func() {
		for range 10 {
			err := db.Update(func(txn *badger.Txn) error {
				return database.Set(txn, []byte("other/updated"), database.KindProject, nil)
			})
			if err != nil {
				t.Errorf("updating: %v", err)
			}
		}
	})
	for range 5 {
		if err := db.Drop([]byte("b")); err != nil {
			t.Error(err)
		}
	}
	running.Wait()
	got := contents(t, db)
	for _, key := range []string{"a", "a2", "c"} {
		if got[key] != "1" {
			t.Errorf("%s is gone", key)
		}
		delete(got, key)
	}
	for key := range got {
		if !strings.HasPrefix(key, "other/") {
			t.Errorf("%s is left", key)
		}
	}
	if len(got) != 41 {
		t.Errorf("%d of 41 keys of concurrent writes are there", len(got))
	}
	if err := db.Drop([]byte("nothing")); err != nil {
		t.Errorf("dropping what is not there: %v", err)
	}
}

func TestValues(t *testing.T) {
	db := open(t, t.TempDir())
	err := db.Update(func(txn *badger.Txn) error {
		return errors.Join(
			database.Set(txn, []byte("p1"), database.KindProject, []byte("one")),
			database.Set(txn, []byte("p2"), database.KindProject, nil),
			database.Set(txn, []byte("q"), database.KindProject, []byte("other")),
			database.SetCounter(txn, "large", 1<<63+5),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantCounter(t, db, "large", 1<<63+5)
	wantCounter(t, db, "never set", 0)
	err = db.View(func(txn *badger.Txn) error {
		payload, found, err := database.Get(txn, []byte("p1"), database.KindProject)
		if string(payload) != "one" || !found || err != nil {
			t.Errorf("p1 is %q, %v, %v", payload, found, err)
		}
		payload, found, err = database.Get(txn, []byte("p3"), database.KindProject)
		if payload != nil || found || err != nil {
			t.Errorf("p3 is %q, %v, %v", payload, found, err)
		}
		var all []string
		err = database.Each(txn, []byte("p"), database.KindProject, func(key, payload []byte) error {
			all = append(all, string(key)+"="+string(payload))
			return nil
		})
		if want := []string{"p1=one", "p2="}; err != nil || !slices.Equal(all, want) {
			t.Errorf("each: %q, %v, expected %q", all, err, want)
		}
		err = database.Each(txn, []byte("p"), database.KindProject, func([]byte, []byte) error { return errRefused })
		if !errors.Is(err, errRefused) {
			t.Errorf("each, refused: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A damaged value is an error that names its key, and never found, not found or 0.
func TestDamagedValues(t *testing.T) {
	db := open(t, t.TempDir())
	key := database.CounterKey("n")
	whole := sketch.AppendFrame(nil, key, database.KindCounter, 0, []byte("12345678"))
	flipped := bytes.Clone(whole)
	flipped[9] ^= 1
	damaged := map[string][]byte{
		"empty":           {},
		"flipped":         flipped,
		"cut short":       whole[:len(whole)-1],
		"of another key":  sketch.AppendFrame(nil, []byte("other"), database.KindCounter, 0, []byte("12345678")),
		"of another kind": sketch.AppendFrame(nil, key, database.KindKey, 0, []byte("12345678")),
		"too small":       sketch.AppendFrame(nil, key, database.KindCounter, 0, []byte("1234567")),
		"too large":       sketch.AppendFrame(nil, key, database.KindCounter, 0, []byte("123456789")),
	}
	for name, value := range damaged {
		write(t, db, string(key), string(value))
		err := db.View(func(txn *badger.Txn) error {
			_, err := database.GetCounter(txn, "n")
			wantCorrupted(t, name+", counter", err, key)
			if strings.HasPrefix(name, "too ") {
				return nil // That is for the counter to see, not for the frame.
			}
			_, found, err := database.Get(txn, key, database.KindCounter)
			if found {
				t.Errorf("%s: found", name)
			}
			wantCorrupted(t, name+", get", err, key)
			err = database.Each(txn, key, database.KindCounter, func([]byte, []byte) error {
				t.Errorf("%s: each calls", name)
				return nil
			})
			wantCorrupted(t, name+", each", err, key)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantCorrupted(t *testing.T, name string, err error, key []byte) {
	t.Helper()
	var damage *sketch.CorruptionError
	if !errors.Is(err, sketch.ErrCorrupted) || !errors.As(err, &damage) || !bytes.Equal(damage.Key, key) {
		t.Errorf("%s: %v, expected an ErrCorrupted that names key %q", name, err, key)
	}
}

// A table that was damaged while the database was closed is an error of Open,
// wherever the damage is: not a panic, and not a database without what was there.
func TestDamagedTable(t *testing.T) {
	dir := t.TempDir()
	db, err := database.Open(dir, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		write(t, db, fmt.Sprintf("key/%d", i), strings.Repeat(fmt.Sprint(i), 100))
	}
	want := contents(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	whole, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	// The last bytes are lengths of the index, which Badger itself exits on.
	const footer = 64
	for i := range 24 {
		at := i * (len(whole) - footer) / 24
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x10
		if err := os.WriteFile(tables[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if db, err := database.Open(dir, database.Options{}); err == nil {
			t.Errorf("byte %d of %d: it opens", at, len(whole))
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(tables[0], whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, open(t, dir)); !maps.Equal(got, want) {
		t.Errorf("repaired, it holds %d keys, expected %d", len(got), len(want))
	}
}

func TestOpenRefusesASecond(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if db, err := database.Open(dir, database.Options{}); err == nil {
		t.Error("a directory that is open opens again")
		_ = db.Close() // Another error already stands.
	}
}

// Badger's own metrics come out under our names.
func TestCollector(t *testing.T) {
	write(t, open(t, t.TempDir()), "a", "1")
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(database.NewCollector()); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "footfall_badger_") {
			t.Errorf("metric %s", family.GetName())
		}
		found[family.GetName()] = true
	}
	for _, name := range []string{"footfall_badger_puts", "footfall_badger_written_bytes", "footfall_badger_memtable_gets"} {
		if !found[name] {
			t.Errorf("metric %s is missing", name)
		}
	}
}
