package database_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
)

// killed copies the files of an open database, with their holes: what a kill at
// this moment would leave.
func killed(t *testing.T, dir string) string {
	t.Helper()
	dead := filepath.Join(t.TempDir(), "badger")
	if out, err := exec.Command("cp", "-r", dir, dead).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dead
}

// What a kill leaves opens with everything that was written, whatever was written,
// deleted, dropped, flushed into tables and compacted before.
func TestKilledDatabaseOpens(t *testing.T) {
	dir := t.TempDir()
	db, err := database.Open(dir, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	want := make(map[string]string)
	for step := range 60 {
		key := fmt.Sprintf("%c%02d", 'a'+random.IntN(3), random.IntN(30))
		switch random.IntN(6) {
		case 0, 1:
			write(t, db, key, fmt.Sprint(step), key+"+", "more")
			want[key], want[key+"+"] = fmt.Sprint(step), "more"
		case 2, 3:
			if err := db.Update(func(txn *badger.Txn) error { return txn.Delete([]byte(key)) }); err != nil {
				t.Fatal(err)
			}
			delete(want, key)
		case 4:
			if err := db.Drop([]byte(key[:1])); err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(want, func(other, _ string) bool { return other[0] == key[0] })
		case 5:
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if db, err = database.Open(dir, database.Options{}); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		}
		if step%4 > 0 {
			continue
		}
		dead, err := database.Open(killed(t, dir), database.Options{})
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if got := contents(t, dead); !maps.Equal(got, want) {
			t.Fatalf("step %d: it holds %q, want %q", step, got, want)
		}
		if err := dead.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// flushing returns the files of a database that was killed while it flushed a
// memtable: the log of that, 00001.mem, and that of the next, 00002.mem, beside a
// table of what was written before. They hold the keys a, b and c.
func flushing(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := database.Open(dir, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, "a", "1")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = database.Open(dir, database.Options{}); err != nil {
		t.Fatal(err)
	}
	write(t, db, "b", "2")
	first := killed(t, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// A start flushes the log that it finds and begins the next.
	second := killed(t, first)
	if db, err = database.Open(second, database.Options{}); err != nil {
		t.Fatal(err)
	}
	write(t, db, "c", "3")
	for _, name := range []string{"00002.mem", "VERSION"} {
		if out, err := exec.Command("cp", filepath.Join(second, name), first).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return first
}

// Damage that Badger would take for the end of what was written stops the start,
// and what a kill or a power cut may leave does not.
func TestCheck(t *testing.T) {
	all := map[string]string{"a": "1", "b": "2", "c": "3"}
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
		file   string // that the error names; "" where it opens with everything
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"an entry of an older log", flip("00001.mem", 60), "00001.mem"},
		{"the last entry of an older log", flip("00001.mem", -3), "00001.mem"},
		{"an older log is gone", remove("00001.mem"), "00002.mem"},
		{"an older log is cut to nothing", cut("00001.mem", 20), "00002.mem"},
		{"an entry of the newest log", flip("00002.mem", 60), "00002.mem"},
		{"the last entry of the newest log", flip("00002.mem", -3), "00002.mem"},
		{"the newest log is gone", remove("00002.mem"), ""},
		{"a write that was cut short", appendTo("00002.mem", "\x40\x00\x09"), ""},
		{"a log that was just made", func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "00003.mem"), nil) }, ""},
		{"a table", flip("000001.sst", 10), "000001.sst"},
		{"a table is cut", cut("000001.sst", 50), "000001.sst"},
		{"a table is gone", remove("000001.sst"), "000001.sst"},
		{"the manifest is cut", cut("MANIFEST", 20), "00001.mem"},
		{"the manifest is gone", remove("MANIFEST"), "MANIFEST"},
		{"one slot of the version", flip("VERSION", 1), ""},
		{"the version is cut", cut("VERSION", 5), "VERSION"},
		{"the version is gone", remove("VERSION"), "VERSION"},
	}
	whole := flushing(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := killed(t, whole)
			test.damage(t, dir)
			db, err := database.Open(dir, database.Options{})
			if test.name == "the newest log is gone" {
				test.file = filepath.Base(dir) // No file is left to name.
			}
			if test.file == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := contents(t, db); !maps.Equal(got, all) {
					t.Errorf("it holds %q, want %q", got, all)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Errorf("it opens and holds %q", contents(t, db))
				_ = db.Close()
				return
			}
			var damage *database.DamageError
			if !errors.Is(err, database.ErrDamaged) || !errors.As(err, &damage) || filepath.Base(damage.File) != test.file {
				t.Errorf("%v, want damage in %s", err, test.file)
			}
		})
	}
}

// flip changes a byte at an offset, or at one before the end of what was written.
func flip(name string, offset int) func(*testing.T, string) {
	return change(name, func(b []byte) []byte {
		if offset < 0 {
			offset += written(b)
		}
		b[offset] ^= 4
		return b
	})
}

func cut(name string, size int) func(*testing.T, string) {
	return change(name, func(b []byte) []byte { return b[:size] })
}

func appendTo(name, text string) func(*testing.T, string) {
	return change(name, func(b []byte) []byte {
		copy(b[written(b)+1:], text)
		return b
	})
}

func remove(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// written returns the size of a file up to its last byte that is not zero.
func written(b []byte) int {
	end := len(b)
	for end > 0 && b[end-1] == 0 {
		end--
	}
	return end
}

func change(name string, fn func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), fn(b))
	}
}

func writeFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
