package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/prometheus/client_golang/prometheus"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/internal/database"
	"footfall/internal/part"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// damages are what may become of a stored value. Each must be told from a value
// that is whole, and from one that is not there.
var damages = []struct {
	name   string
	damage func(t *testing.T, n *node, key, value []byte) []byte
}{
	{"one bit flipped", func(_ *testing.T, _ *node, _, value []byte) []byte {
		value[len(value)-3] ^= 4
		return value
	}},
	{"cut short", func(_ *testing.T, _ *node, _, value []byte) []byte { return value[:len(value)-1] }},
	{"cut inside the frame", func(_ *testing.T, _ *node, _, value []byte) []byte { return value[:3] }},
	{"empty", func(*testing.T, *node, []byte, []byte) []byte { return nil }},
	{"zeros", func(_ *testing.T, _ *node, _, value []byte) []byte { return make([]byte, len(value)) }},
	{"grown", func(_ *testing.T, _ *node, _, value []byte) []byte { return append(value, 0) }},
	{"that of another key", func(t *testing.T, n *node, _, _ []byte) []byte {
		return get(t, n.db, rootKey(storetest.FirstDay+1))
	}},
	{"of another kind", func(_ *testing.T, _ *node, key, _ []byte) []byte {
		return sketch.AppendFrame(nil, key, database.KindKey, 0, make([]byte, 8))
	}},
}

// A damaged value is an error that says so and names the key, and never a zero:
// in rankings whose range holds it, in source look-ups, in commits of its source,
// and at the start. Rankings that do not need it are as before.
func TestDamagedValues(t *testing.T) {
	head := []byte("a log")
	source := sketch.SourceOf(head)
	next := sketch.Batch{Project: 1, Mark: sketch.Mark{Source: source, From: 10, To: 20}}
	tests := []struct {
		name string
		key  []byte
		read func(t *testing.T, n *node) error
	}{
		{"a root", rootKey(storetest.FirstDay), rankAll},
		{"a table", cellsKey(storetest.FirstDay, 0, 0), rankAll},
		{"the sets of pages", cellsKey(storetest.FirstDay, 0, 1), rankAll},
		{"the sets of the site", cellsKey(storetest.FirstDay, part.Site, 1), rankAll},
		{"the directory", database.DirectoryKey(1), rankAll},
		{"a path's number", database.PathKey(1, "/a"), rankAll},
		{"a number's path", database.PathNameKey(1, 0), rankAll},
		{"a source, looked up", database.SourceKey(1, source), func(t *testing.T, n *node) error {
			_, _, err := n.FindSource(t.Context(), 1, head)
			return err
		}},
		{"a source, committed to", database.SourceKey(1, source), func(t *testing.T, n *node) error {
			return n.Commit(t.Context(), next)
		}},
		{"the checkpoint's position", database.CounterKey("checkpoint"), func(_ *testing.T, n *node) error {
			_, err := store.Open(n.opts)
			return err
		}},
		{"a root, at the start", rootKey(storetest.FirstDay), func(t *testing.T, n *node) error {
			n.commit(t, 1, sketch.PageView{Path: "/a", Day: storetest.FirstDay})
			if err := n.Kill(); err != nil {
				return err
			}
			n.Store = nil
			_, err := store.Open(n.opts) // It asks how far the day is.
			return err
		}},
	}
	for _, test := range tests {
		for _, d := range damages {
			t.Run(test.name+", "+d.name, func(t *testing.T) {
				n := open(t, onDisk(faultfs.New()), noDayIsOver)
				visits := []sketch.PageView{
					{Path: "/a", Day: storetest.FirstDay, Visitor: 1},
					{Path: "/other", Day: storetest.FirstDay, Visitor: 2},
					{Path: "/a", Day: storetest.FirstDay + 1, Visitor: 3},
				}
				mark := sketch.Mark{Source: source, To: 10}
				if err := n.Commit(t.Context(), storetest.Marked(mark, sketch.NewBatch(1, visits...))); err != nil {
					t.Fatal(err)
				}
				if err := n.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				whole := get(t, n.db, test.key)
				n.restart(t) // Nothing is in memory.
				put(t, n.db, test.key, d.damage(t, n, test.key, bytes.Clone(whole)))

				err := test.read(t, n)
				var damage *sketch.CorruptionError
				if !errors.Is(err, sketch.ErrCorrupted) || !errors.As(err, &damage) {
					t.Fatalf("%v, expected ErrCorrupted", err)
				}
				if !bytes.Equal(damage.Key, test.key) {
					t.Errorf("the error names key %q, expected %q", damage.Key, test.key)
				}
				if n.Store != nil && bytes.Contains(test.key, binary.BigEndian.AppendUint32(nil, uint32(storetest.FirstDay))) {
					whole := sketch.Range{From: storetest.FirstDay + 1, To: sketch.LastDay}
					if err := storetest.Verify(rank(t, n, 1, whole), visits, whole); err != nil {
						t.Errorf("a range without the damage: %v", err)
					}
				}
				put(t, n.db, test.key, whole) // For closing.
			})
		}
	}
}

// A store that does not open says why, holds nothing open and leaves metrics that
// can be gathered.
func TestOpenFails(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, n *node, disk *faultfs.FS)
		want    error
	}{
		{"the log is gone", func(_ *testing.T, n *node, _ *faultfs.FS) {
			n.opts.LogDir = "/elsewhere"
		}, commitlog.ErrDamaged},
		{"the disk fails", func(_ *testing.T, _ *node, disk *faultfs.FS) {
			disk.SetHook(failing(faultfs.OpRead))
		}, errDisk},
		{"a record is of another version", func(t *testing.T, n *node, _ *faultfs.FS) {
			after, err := n.CheckpointPosition()
			if err != nil {
				t.Fatal(err)
			}
			log, err := commitlog.Open(commitlog.Options{Dir: n.opts.LogDir, FS: n.opts.LogFS, After: after}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := log.Append([]byte{99, 1, 0}); err != nil {
				t.Fatal(err)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			disk := faultfs.New()
			n := open(t, onDisk(disk))
			n.commit(t, 1, storetest.NewWorkload(1).Visits()...)
			if err := n.Store.Close(); err != nil {
				t.Fatal(err)
			}
			test.prepare(t, n, disk)
			n.Store = nil
			registry := prometheus.NewRegistry()
			n.opts.Registerer = registry
			s, err := store.Open(n.opts)
			if err == nil {
				n.Store = s
				t.Fatal("it opens")
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%v, expected %v", err, test.want)
			}
			if _, err := registry.Gather(); err != nil {
				t.Errorf("gathering metrics: %v", err)
			}
			if n := disk.OpenFiles(); n != 0 {
				t.Errorf("%d files are open", n)
			}
		})
	}
}

// A value that is not there where another one says that it should be.
func TestMissingValues(t *testing.T) {
	visits := []sketch.PageView{
		{Path: "/a", Day: storetest.FirstDay, Visitor: 1},
		{Path: "/b", Day: storetest.FirstDay, Visitor: 1},
		{Path: "/b", Day: storetest.FirstDay + 1, Visitor: 2, Traffic: sketch.AI},
	}
	for _, key := range [][]byte{
		rootKey(storetest.FirstDay),
		cellsKey(storetest.FirstDay, 0, 0),
		cellsKey(storetest.FirstDay, 0, 1),
		cellsKey(storetest.FirstDay, part.Site, 1),
	} {
		n := open(t, noDayIsOver)
		for _, project := range []sketch.ProjectNumber{1, 2} {
			n.commit(t, project, visits...)
			if err := n.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.db.Update(func(txn *badger.Txn) error { return txn.Delete(key) }); err != nil {
			t.Fatal(err)
		}
		_, err := store.Rank(t.Context(), n, 1, sketch.AllDays())
		var damage *sketch.CorruptionError
		if !errors.As(err, &damage) || !bytes.Equal(key, damage.Key) {
			t.Errorf("without key %q: %v, expected an error that names it", key, err)
		}
		whole := sketch.Range{From: storetest.FirstDay + 1, To: sketch.LastDay}
		if err := storetest.Verify(rank(t, n, 1, whole), visits, whole); err != nil {
			t.Errorf("a range without the cell: %v", err)
		}
		if err := storetest.Verify(n.rank(t, 2), visits, sketch.AllDays()); err != nil {
			t.Errorf("another project: %v", err)
		}
	}
}

// noDayIsOver keeps days from being merged into blocks, from which a ranking would
// be read instead of them.
func noDayIsOver(opts *store.Options) {
	opts.Now = func() time.Time { return storetest.FirstDay.Start() }
}

func rankAll(t *testing.T, n *node) error {
	_, err := store.Rank(t.Context(), n, 1, sketch.AllDays())
	return err
}

// rootKey is the key of the root of a day of project 1.
func rootKey(day sketch.Day) []byte { return database.RootKey(1, uint8(part.Day), uint32(day)) }

// cellsKey is the key of a table, or of sets, that the first checkpoint wrote after
// one batch.
func cellsKey(day sketch.Day, group uint32, ordinal uint16) []byte {
	return database.CellsKey(1, uint8(part.Day), uint32(day), group, 1, ordinal)
}

// Damage in the database's own log, of which Badger keeps what stands before it
// and says nothing: what was checkpointed is gone, and so is the position that
// says so, while our log was cut. The start is refused and names the file.
func TestDatabaseLosesItsNewestWrites(t *testing.T) {
	n := open(t)
	for range 3 {
		n.commit(t, 1, storetest.NewWorkload(1).Visits()...)
		if err := n.Checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	// While nothing is written, the files are what the end of the process leaves.
	crashed := &node{dir: t.TempDir(), opts: n.opts}
	crashed.opts.LogDir = filepath.Join(crashed.dir, "log")
	if err := os.CopyFS(crashed.dir, os.DirFS(n.dir)); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(crashed.dir, "badger", "*.mem"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%d logs of the database: %v", len(logs), err)
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	last := len(bytes.TrimRight(data, "\x00")) - 1
	data[last/2] ^= 1
	if err := os.WriteFile(logs[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(filepath.Join(crashed.dir, "badger"), database.Options{})
	if err == nil {
		err = db.Close()
		t.Errorf("it opens")
	}
	var damage *database.DamageError
	if !errors.As(err, &damage) || damage.File != logs[0] {
		t.Errorf("%v, expected an ErrDamaged that names %s", err, logs[0])
	}
}
