package commitlog_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/sketch"
)

const dir = "/data/log"

// The bytes before the first record of a segment.
const segmentHeader = 32

func options(fsys commitlog.FS) commitlog.Options {
	return commitlog.Options{Dir: dir, FS: fsys, SegmentBytes: 4096}
}

// unextended is a file system that can not extend a file ahead of what is written.
type unextended struct{ commitlog.FS }

func (u unextended) Create(name string) (commitlog.File, error) {
	file, err := u.FS.Create(name)
	return unextendedFile{file}, err
}

type unextendedFile struct{ commitlog.File }

func (unextendedFile) Preallocate(int64) error { return nil }

// replayed collects what Open replays, and checks that positions have no gap.
type replayed struct {
	t        *testing.T
	after    sketch.Position
	payloads [][]byte
}

func (r *replayed) add(position sketch.Position, payload []byte) error {
	r.t.Helper()
	if want := r.after + sketch.Position(len(r.payloads)) + 1; position != want {
		r.t.Fatalf("replayed record %d, want %d", position, want)
	}
	r.payloads = append(r.payloads, bytes.Clone(payload))
	return nil
}

// mustOpen opens the log, which is closed when the test ends.
func mustOpen(t *testing.T, opts commitlog.Options) (*commitlog.Log, [][]byte) {
	t.Helper()
	r := &replayed{t: t, after: opts.After}
	l, err := commitlog.Open(opts, r.add)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { mustClose(t, l) })
	if want := opts.After + sketch.Position(len(r.payloads)); l.Last() != want {
		t.Fatalf("Last is %d, want %d: %d records replayed after %d", l.Last(), want, len(r.payloads), opts.After)
	}
	return l, r.payloads
}

func mustClose(t *testing.T, l *commitlog.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func mustAppend(t *testing.T, l *commitlog.Log, payloads ...[]byte) {
	t.Helper()
	want := l.Last() + sketch.Position(len(payloads))
	if got, err := l.Append(payloads...); err != nil || got != want {
		t.Fatalf("Append = %d, %v, want %d", got, err, want)
	}
}

func mustDrop(t *testing.T, l *commitlog.Log, p sketch.Position) {
	t.Helper()
	if err := l.DropThrough(p); err != nil {
		t.Fatalf("DropThrough(%d): %v", p, err)
	}
}

func wantPayloads(t *testing.T, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("replayed %d records, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("record %d of the replay diverges", i)
		}
	}
}

// payload returns n bytes without a zero among them, the same for the same seed.
func payload(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(1 + random.IntN(255))
	}
	return b
}

func payloads(n, size int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = payload(uint64(i), size)
	}
	return all
}

func segmentFile(first int) string {
	return filepath.Join(dir, fmt.Sprintf("%020d.log", first))
}

// contents returns every file of the log's directory.
func contents(t *testing.T, fsys *faultfs.FS) map[string]string {
	t.Helper()
	names, err := fsys.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		data, err := fsys.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	return files
}

// edit changes a segment's bytes.
func edit(t *testing.T, fsys *faultfs.FS, name string, change func([]byte) []byte) {
	t.Helper()
	data, err := fsys.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	fsys.WriteFile(name, change(data))
}
