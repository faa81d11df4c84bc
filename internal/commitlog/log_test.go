package commitlog_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/sketch"
)

func TestAppendAndReplay(t *testing.T) {
	tests := []struct {
		name   string
		writes [][]int // payload sizes of each Append
	}{
		{"one record", [][]int{{1}}},
		{"one write of many", [][]int{{1, 7, 8, 9, 511, 512, 513}}},
		{"many writes", [][]int{{100}, {200, 300}, {400}}},
		{"a write that crosses into another segment", [][]int{{3000}, {500, 3000, 3000, 10}}},
		{"a record larger than a segment", [][]int{{10}, {100_000}, {10}}},
		{"only records larger than a segment", [][]int{{5000}, {6000, 7000}}},
		{"a write larger than the buffer", [][]int{{3 << 20, 3 << 20, 3 << 20}, {1}}},
		{"a segment filled to the last byte", [][]int{{4096 - segmentHeader - 32}, {4096 - segmentHeader - 32}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := faultfs.New()
			l, got := mustOpen(t, options(fsys))
			wantPayloads(t, got, nil)
			var want [][]byte
			for _, sizes := range test.writes {
				var write [][]byte
				for _, size := range sizes {
					write = append(write, payload(uint64(len(want)+len(write)), size))
				}
				mustAppend(t, l, write...)
				want = append(want, write...)
			}
			mustClose(t, l)
			for after := range len(want) + 1 {
				opts := options(fsys)
				opts.After = sketch.Position(after)
				l, got = mustOpen(t, opts)
				wantPayloads(t, got, want[after:])
				mustClose(t, l)
			}
			if n := fsys.OpenFiles(); n != 0 {
				t.Errorf("%d files are open after Close", n)
			}
		})
	}
}

func TestAppendGoesOnAfterReopening(t *testing.T) {
	fsys := faultfs.New()
	want := payloads(20, 700)
	for i, p := range want {
		l, got := mustOpen(t, options(fsys))
		wantPayloads(t, got, want[:i])
		mustAppend(t, l, p)
		mustClose(t, l)
	}
}

func TestAppendRefuses(t *testing.T) {
	l, _ := mustOpen(t, options(faultfs.New()))
	mustAppend(t, l, []byte("a"))
	if _, err := l.Append([]byte("b"), nil); !errors.Is(err, commitlog.ErrEmpty) {
		t.Errorf("empty payload: %v, want ErrEmpty", err)
	}
	if _, err := l.Append([]byte("b"), make([]byte, commitlog.MaxPayload+1)); !errors.Is(err, commitlog.ErrTooLarge) {
		t.Errorf("large payload: %v, want ErrTooLarge", err)
	}
	if got, err := l.Append(); err != nil || got != 1 {
		t.Errorf("no payload: %d, %v, want 1", got, err)
	}
	mustAppend(t, l, []byte("b"))
	mustClose(t, l)
	if _, err := l.Append([]byte("c")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v, want fs.ErrClosed", err)
	}
	if err := l.DropThrough(1); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("DropThrough after Close: %v, want fs.ErrClosed", err)
	}
}

func TestLargestPayload(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	large := bytes.Repeat([]byte{0xa5}, commitlog.MaxPayload)
	mustAppend(t, l, large)
	mustClose(t, l)
	_, got := mustOpen(t, options(fsys))
	wantPayloads(t, got, [][]byte{large})
}

func TestOpenRefusesOptions(t *testing.T) {
	for name, opts := range map[string]commitlog.Options{
		"no directory":     {FS: faultfs.New()},
		"negative segment": {Dir: dir, FS: faultfs.New(), SegmentBytes: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if l, err := commitlog.Open(opts, nil); err == nil {
				mustClose(t, l)
				t.Error("Open succeeded")
			}
		})
	}
}

func TestReplayErrorStopsTheStart(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	mustAppend(t, l, payloads(3, 2000)...)
	mustClose(t, l)
	cause := errors.New("no such batch")
	for stop := range sketch.Position(3) {
		_, err := commitlog.Open(options(fsys), func(p sketch.Position, _ []byte) error {
			if p > stop {
				return cause
			}
			return nil
		})
		if !errors.Is(err, cause) {
			t.Errorf("Open: %v, want the cause", err)
		}
	}
	if n := fsys.OpenFiles(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	fsys := faultfs.New()
	for _, name := range []string{"notes.txt", "1.log", "00000000000000000000.log", "0000000000000000000x.log"} {
		fsys.WriteFile(filepath.Join(dir, name), []byte("mine"))
	}
	l, _ := mustOpen(t, options(fsys))
	mustAppend(t, l, []byte("a"))
	mustDrop(t, l, 1)
	if got := contents(t, fsys)["notes.txt"]; got != "mine" {
		t.Errorf("notes.txt holds %q", got)
	}
}

func TestSizeAndLastWhileAppending(t *testing.T) {
	l, _ := mustOpen(t, options(faultfs.New()))
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		var last sketch.Position
		var size int64
		for {
			if l.Last() < last || l.Size() < size {
				t.Error("Last or Size went back")
				return
			}
			last, size = l.Last(), l.Size()
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for range 200 {
		mustAppend(t, l, payload(1, 100))
	}
	close(done)
	wg.Wait()
}

func TestSize(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	const header, record = segmentHeader, 32 + 1000
	check := func(want int64) {
		t.Helper()
		if got := l.Size(); got != want {
			t.Errorf("Size is %d, want %d", got, want)
		}
	}
	check(header)
	mustAppend(t, l, payloads(7, 1000)...)
	check(3*header + 7*record)
	mustClose(t, l)
	l, _ = mustOpen(t, options(fsys))
	check(3*header + 7*record)
	mustDrop(t, l, 3)
	check(2*header + 4*record)
	mustDrop(t, l, 7)
	check(header)
}

func TestOperatingSystem(t *testing.T) {
	opts := commitlog.Options{Dir: filepath.Join(t.TempDir(), "log"), SegmentBytes: 1 << 20}
	l, _ := mustOpen(t, opts)
	want := payloads(5, 400_000)
	mustAppend(t, l, want[:3]...)
	mustAppend(t, l, want[3:]...)
	mustClose(t, l)

	names := func() []string {
		entries, err := os.ReadDir(opts.Dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s can be read by others: %v", entry.Name(), info.Mode())
			}
			if runtime.GOOS == "linux" && entry.Name() != "00000000000000000006.log" && info.Size() != opts.SegmentBytes {
				t.Errorf("%s has %d bytes: not preallocated", entry.Name(), info.Size())
			}
			names = append(names, entry.Name())
		}
		return names
	}
	if got, want := names(), []string{"00000000000000000001.log", "00000000000000000003.log", "00000000000000000005.log"}; !slices.Equal(got, want) {
		t.Errorf("files are %v, want %v", got, want)
	}
	l, got := mustOpen(t, opts)
	wantPayloads(t, got, want)
	mustDrop(t, l, 5)
	mustClose(t, l)
	if got, want := names(), []string{"00000000000000000006.log"}; !slices.Equal(got, want) {
		t.Errorf("files are %v, want %v", got, want)
	}
	info, err := os.Stat(filepath.Join(opts.Dir, "00000000000000000006.log"))
	if err != nil || info.Size() != segmentHeader {
		t.Errorf("the emptied log takes %v, %v, want its header only", info.Size(), err)
	}
	opts.After = 5
	l, _ = mustOpen(t, opts)
	mustAppend(t, l, []byte("six"))
}
