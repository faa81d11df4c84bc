package commitlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/sketch"
)

func TestDropThrough(t *testing.T) {
	tests := []struct {
		through sketch.Position
		want    []int // segments that remain
	}{
		{0, []int{1, 4, 7}},
		{2, []int{1, 4, 7}},
		{3, []int{4, 7}},
		{4, []int{4, 7}},
		{5, []int{4, 7}},
		{6, []int{7}},
		{8, []int{7}},
		{9, []int{10}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.through), func(t *testing.T) {
			fsys, want := nineRecords(t)
			l, _ := mustOpen(t, options(fsys))
			mustDrop(t, l, test.through)
			if l.Last() != 9 {
				t.Errorf("Last is %d, want 9", l.Last())
			}
			check := func(fsys *faultfs.FS, extra ...[]byte) {
				t.Helper()
				opts := options(fsys)
				opts.After = test.through
				l, got := mustOpen(t, opts)
				wantPayloads(t, got, append(want[test.through:len(want):len(want)], extra...))
				mustClose(t, l)
			}
			var names []string
			for _, first := range test.want {
				names = append(names, fmt.Sprintf("%020d.log", first))
			}
			// On disk, not only in memory: the removal was synced.
			if got := slices.Sorted(maps.Keys(contents(t, fsys.Crash(nil)))); !slices.Equal(got, names) {
				t.Errorf("files are %v, want %v", got, names)
			}
			check(fsys.Crash(nil))
			mustDrop(t, l, test.through) // again: nothing to do
			more := payload(50, 2000)
			mustAppend(t, l, more)
			check(fsys.Crash(nil), more)
			mustClose(t, l)
			check(fsys, more)
		})
	}
}

func TestDropThroughEverythingLeavesNoTrace(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	mustDrop(t, l, 0)
	secret := []byte("/pages/of/a/deleted/project")
	for range 200 {
		mustAppend(t, l, secret, secret)
	}
	mustDrop(t, l, l.Last())
	for _, left := range []*faultfs.FS{fsys, fsys.Crash(nil)} {
		for name, data := range contents(t, left) {
			if strings.Contains(data, string(secret)) {
				t.Errorf("%s still holds a dropped record", name)
			}
			if len(data) > segmentHeader {
				t.Errorf("%s takes %d bytes in an emptied log", name, len(data))
			}
		}
	}
}

// A segment that got its space but no record takes none after it was dropped.
func TestDropThroughGivesBackWhatWasReserved(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	errKilled := errors.New("killed")
	hook, _ := failAt(2, errKilled, func(op faultfs.Op) bool { return op == faultfs.OpWrite }) // after the header
	fsys.SetHook(hook)
	if _, err := l.Append([]byte("a")); !errors.Is(err, errKilled) {
		t.Fatalf("Append: %v, want it killed", err)
	}
	fsys.SetHook(nil)
	size := func() int { return len(contents(t, fsys)[filepath.Base(segmentFile(1))]) }
	if size() != 4096 {
		t.Fatalf("the segment has %d bytes: not preallocated", size())
	}
	l, _ = mustOpen(t, options(fsys))
	mustDrop(t, l, 0)
	if size() != segmentHeader {
		t.Errorf("the segment has %d bytes, want its header only", size())
	}
}

func TestDropThroughRefusesTheFuture(t *testing.T) {
	l, _ := mustOpen(t, options(faultfs.New()))
	mustAppend(t, l, []byte("a"))
	if err := l.DropThrough(2); err == nil {
		t.Error("DropThrough of a record not written succeeded")
	}
	mustAppend(t, l, []byte("b")) // the mistake does not latch the log
}

// A torn record that is the first of its segment: the next segment takes its name.
func TestTornFirstRecordOfASegment(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	mustAppend(t, l, payload(1, 100))
	mustDrop(t, l, 1)
	mustAppend(t, l, bytes.Repeat([]byte("torn"), 500))
	mustClose(t, l)
	edit(t, fsys, segmentFile(2), zero(1024, 1536))
	opts := options(fsys)
	opts.After = 1
	survives(t, opts, nil)
	for name, data := range contents(t, fsys) {
		if strings.Contains(data, "torn") {
			t.Errorf("%s still holds the torn record", name)
		}
	}
}

func TestOpenWithoutReplay(t *testing.T) {
	fsys, _ := nineRecords(t)
	l, err := commitlog.Open(options(fsys), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.Last() != 9 {
		t.Errorf("Last is %d, want 9", l.Last())
	}
	mustClose(t, l)
}
