package faultfs_test

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
)

// create makes /d/a, durable and empty.
func create(t *testing.T) (*faultfs.FS, commitlog.File) {
	t.Helper()
	f := faultfs.New()
	must(t, f.Mkdir("/d"))
	must(t, f.SyncDir("/"))
	a, err := f.Create("/d/a")
	must(t, err)
	must(t, f.SyncDir("/d"))
	return f, a
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, f commitlog.File, offset int64, s string) {
	t.Helper()
	if _, err := f.WriteAt([]byte(s), offset); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, f *faultfs.FS, name, content string) {
	t.Helper()
	got, err := f.ReadFile(name)
	if err != nil || string(got) != content {
		t.Errorf("%s holds %q, %v, want %q", name, got, err, content)
	}
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	f, a := create(t)
	write(t, a, 0, "old")
	must(t, a.Sync())
	write(t, a, 0, "new and longer")
	want(t, f, "/d/a", "new and longer")
	want(t, f.Crash(nil), "/d/a", "old")
	must(t, a.Sync())
	want(t, f.Crash(nil), "/d/a", "new and longer")
}

func TestCrashKeepsSyncedEntries(t *testing.T) {
	f, a := create(t)
	write(t, a, 0, "a")
	must(t, a.Sync())
	must(t, f.Rename("/d/a", "/d/b"))
	want(t, f.Crash(nil), "/d/a", "a")
	must(t, f.SyncDir("/d"))
	want(t, f.Crash(nil), "/d/b", "a")
	must(t, f.Remove("/d/b"))
	want(t, f.Crash(nil), "/d/b", "a")
	must(t, f.SyncDir("/d"))
	names, err := f.Crash(nil).List("/d")
	if err != nil || len(names) > 0 {
		t.Errorf("%v, %v remain, want nothing", names, err)
	}
	must(t, f.Mkdir("/d/e/f")) // e is taken to have existed
	names, err = f.Crash(nil).List("/d/e")
	if err != nil || len(names) > 0 {
		t.Errorf("%v, %v remain of a directory that was not synced", names, err)
	}
}

// Sectors that were not synced remain whole or not at all, and both happens.
func TestCrashTearsAtSectors(t *testing.T) {
	f, a := create(t)
	must(t, a.Preallocate(16*512))
	must(t, a.Sync())
	write(t, a, 0, strings.Repeat("x", 16*512))
	var kept []int
	for seed := range uint64(20) {
		crashed := f.Crash(rand.New(rand.NewPCG(seed, 0)))
		data, err := crashed.ReadFile("/d/a")
		must(t, err)
		n := 0
		for s := range slices.Chunk(data, 512) {
			switch string(s) {
			case strings.Repeat("x", 512):
				n++
			case strings.Repeat("\x00", 512):
			default:
				t.Fatal("a sector is torn")
			}
		}
		kept = append(kept, n)
		again, err := f.Crash(rand.New(rand.NewPCG(seed, 0))).ReadFile("/d/a")
		if err != nil || string(again) != string(data) {
			t.Fatal("the same seed gives another crash")
		}
	}
	if slices.Max(kept) == 0 || slices.Min(kept) == 16 {
		t.Errorf("sectors kept: %v", kept)
	}
}

func TestFailedSyncForgets(t *testing.T) {
	f, a := create(t)
	write(t, a, 0, "lost")
	errDisk := errors.New("disk")
	f.SetHook(func(op faultfs.Op, name string) error {
		if op == faultfs.OpSync && name == "/d/a" {
			return errDisk
		}
		return nil
	})
	if err := a.Sync(); !errors.Is(err, errDisk) {
		t.Fatalf("Sync: %v, want the hook's error", err)
	}
	f.SetHook(nil)
	must(t, a.Sync())
	want(t, f, "/d/a", "lost")
	want(t, f.Crash(nil), "/d/a", "\x00\x00\x00\x00")
}

func TestFailedWriteIsHalfDone(t *testing.T) {
	f, a := create(t)
	f.SetHook(func(op faultfs.Op, _ string) error {
		if op == faultfs.OpWrite {
			return io.ErrShortWrite
		}
		return nil
	})
	n, err := a.WriteAt([]byte(strings.Repeat("x", 1500)), 0)
	if n != 512 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("WriteAt = %d, %v, want 512 and the hook's error", n, err)
	}
	want(t, f, "/d/a", strings.Repeat("x", 512))
}

func TestClosedFile(t *testing.T) {
	f, a := create(t)
	if n := f.OpenFiles(); n != 1 {
		t.Errorf("%d files open, want 1", n)
	}
	must(t, a.Close())
	if n := f.OpenFiles(); n != 0 {
		t.Errorf("%d files open, want 0", n)
	}
	_, writeErr := a.WriteAt([]byte("x"), 0)
	_, readErr := a.ReadAt(make([]byte, 1), 0)
	for _, err := range []error{writeErr, readErr, a.Sync(), a.Preallocate(1), a.Close()} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%v, want fs.ErrClosed", err)
		}
	}
}
