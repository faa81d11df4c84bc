package commitlog_test

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/sketch"
)

// FuzzOpen reads arbitrary bytes as the only segment of a log: Open either
// refuses and changes nothing, or replays records that stay the same from then on.
func FuzzOpen(f *testing.F) {
	write := func(fsys *faultfs.FS, as commitlog.FS) []byte {
		l, err := commitlog.Open(options(as), nil)
		if err != nil {
			f.Fatal(err)
		}
		for _, write := range [][][]byte{{payload(1, 20)}, {payload(2, 300), make([]byte, 700)}, {payload(3, 500)}} {
			if _, err := l.Append(write...); err != nil {
				f.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			f.Fatal(err)
		}
		whole, err := fsys.ReadFile(segmentFile(1))
		if err != nil {
			f.Fatal(err)
		}
		return whole
	}
	fsys := faultfs.New()
	short := write(fsys, unextended{fsys})
	for _, n := range []int{len(short), len(short) - 1, 1500, 500, 100, 80} {
		f.Add(short[:n], uint8(0))
	}
	fsys = faultfs.New()
	whole := write(fsys, fsys)
	for _, n := range []int{0, 10, 24, 31, 32, 80, 500, 1800, len(whole)} {
		f.Add(whole[:n], uint8(0))
	}
	for _, at := range []int{0, 24, 28, 36, 48, 98, 1500} {
		f.Add(flip(at)(bytes.Clone(whole)), uint8(2))
	}
	f.Add(zero(512, 1024)(bytes.Clone(whole)), uint8(0))
	f.Add(zero(1536, 2048)(bytes.Clone(whole)), uint8(3))

	f.Fuzz(func(t *testing.T, data []byte, after uint8) {
		fsys := faultfs.New()
		fsys.WriteFile(segmentFile(1), data)
		opts := options(fsys)
		opts.After = sketch.Position(after)
		var got [][]byte
		total := 0
		l, err := commitlog.Open(opts, func(p sketch.Position, payload []byte) error {
			if want := opts.After + sketch.Position(len(got)) + 1; p != want {
				t.Fatalf("replayed record %d, want %d", p, want)
			}
			got = append(got, bytes.Clone(payload))
			total += len(payload)
			return nil
		})
		if total > len(data) {
			t.Fatalf("%d bytes of payload out of a segment of %d", total, len(data))
		}
		if err != nil {
			if !errors.Is(err, commitlog.ErrDamaged) && !errors.Is(err, commitlog.ErrVersion) {
				t.Fatalf("Open: %v", err)
			}
			if left := contents(t, fsys); len(left) != 1 || left[filepath.Base(segmentFile(1))] != string(data) {
				t.Fatalf("Open changed a damaged log: %v", slices.Sorted(maps.Keys(left)))
			}
			return
		}
		if n := opts.After + sketch.Position(len(got)); l.Last() != n {
			t.Fatalf("Last is %d, want %d", l.Last(), n)
		}
		mustClose(t, l)
		survives(t, opts, got)
	})
}
