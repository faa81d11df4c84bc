package logfile_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/ingest/logfile"
)

// followed is a log that a server writes and a reader follows.
type followed struct {
	t      *testing.T
	name   string
	server *os.File
	reader *logfile.Reader
	watch  *logfile.Follower
	read   strings.Builder
}

func follow(t *testing.T, content string) *followed {
	t.Helper()
	f := &followed{t: t, name: filepath.Join(t.TempDir(), "access.log")}
	f.create()
	f.write(content)
	watch, err := logfile.Follow(f.name)
	if err != nil {
		t.Fatal(err)
	}
	f.watch = watch
	t.Cleanup(func() {
		if err := errors.Join(watch.Close(), f.reader.Close(), f.server.Close()); err != nil {
			t.Error(err)
		}
	})
	f.open()
	f.readOn()
	return f
}

// create makes the server write a new file under the log's name.
func (f *followed) create() {
	f.t.Helper()
	var err error
	if f.server, err = os.OpenFile(f.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *followed) write(text string) {
	if _, err := f.server.WriteString(text); err != nil {
		f.t.Error(err)
	}
}

// rename moves the file away, which the server writes on into.
func (f *followed) rename() {
	f.t.Helper()
	if err := os.Rename(f.name, f.name+".1"); err != nil {
		f.t.Fatal(err)
	}
}

func (f *followed) open() {
	f.t.Helper()
	if f.reader != nil {
		if err := f.reader.Close(); err != nil {
			f.t.Fatal(err)
		}
	}
	var err error
	if f.reader, err = logfile.Open(f.name); err != nil {
		f.t.Fatal(err)
	}
}

// readOn reads to the end, leaving a last line without an end, as an import does.
func (f *followed) readOn() {
	f.t.Helper()
	for {
		chunk, err := f.reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			f.t.Fatal(err)
		}
		taken := strings.LastIndexByte(string(chunk.Data), '\n') + 1
		f.read.Write(chunk.Data[:taken])
		f.reader.Advance(chunk, chunk.From+int64(taken), 0)
		if chunk.End {
			return
		}
	}
}

// wait calls Wait and expects what it finds.
func (f *followed) wait(want logfile.Growth) {
	f.t.Helper()
	got, err := f.watch.Wait(f.t.Context(), f.reader)
	if err != nil {
		f.t.Fatal(err)
	}
	if got != want {
		f.t.Fatalf("growth %v, want %v", got, want)
	}
}

// glance lets Wait look once: it finds nothing and gives up.
func (f *followed) glance() {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	cancel()
	if got, err := f.watch.Wait(ctx, f.reader); !errors.Is(err, context.Canceled) {
		f.t.Fatalf("growth %v, error %v, want that of the context", got, err)
	}
}

func (f *followed) expect(want string) {
	f.t.Helper()
	f.readOn()
	if got := f.read.String(); got != want {
		f.t.Errorf("read %q, want %q", got, want)
	}
}

func TestFollowGrowth(t *testing.T) {
	t.Parallel()
	f := follow(t, "one\n")
	f.expect("one\n")
	f.write("two\n")
	f.wait(logfile.Grown)
	f.expect("one\ntwo\n")
	// What grows while Wait waits.
	written := make(chan struct{})
	go func() {
		defer close(written)
		f.write("three\nfo")
	}()
	f.wait(logfile.Grown)
	<-written
	f.expect("one\ntwo\nthree\n")
	// The beginning of a line, which was read and left, is no growth.
	f.glance()
	f.write("ur\n")
	f.wait(logfile.Grown)
	f.expect("one\ntwo\nthree\nfour\n")
}

func TestFollowRename(t *testing.T) {
	t.Parallel()
	f := follow(t, "old 1\n")
	f.rename()
	f.glance() // Between the two steps of a rotation.
	f.write("old 2\n")
	f.wait(logfile.Grown)
	f.expect("old 1\nold 2\n")
	f.create()
	f.write("new 1\n")
	f.wait(logfile.Rotated)
	f.open()
	f.expect("old 1\nold 2\nnew 1\n")
	// And again, with the same watch.
	f.rename()
	f.create()
	f.write("newer 1\n")
	f.wait(logfile.Rotated)
	f.open()
	f.expect("old 1\nold 2\nnew 1\nnewer 1\n")
	f.write("newer 2\n")
	f.wait(logfile.Grown)
	f.expect("old 1\nold 2\nnew 1\nnewer 1\nnewer 2\n")
}

// A server writes on into the old file until it is told of the rotation, and its
// requests until they end. None of those lines is lost.
func TestFollowWritesAfterTheRename(t *testing.T) {
	t.Parallel()
	f := follow(t, "old 1\n")
	old := f.server
	f.rename()
	f.create()
	f.write("new 1\n")
	lateWrite := func(text string) {
		t.Helper()
		if _, err := old.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	f.glance() // The rotation is seen, and the old file is not yet left.
	lateWrite("old 2\n")
	f.wait(logfile.Grown)
	f.expect("old 1\nold 2\n")
	// The server still writes: another look without an interval is too soon.
	f.glance()
	lateWrite("old 3\n")
	f.wait(logfile.Grown)
	f.expect("old 1\nold 2\nold 3\n")
	f.wait(logfile.Rotated)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	f.open()
	f.expect("old 1\nold 2\nold 3\nnew 1\n")
}

func TestFollowCopyTruncate(t *testing.T) {
	t.Parallel()
	f := follow(t, "old 1\nold 2\n")
	if err := os.Truncate(f.name, 0); err != nil {
		t.Fatal(err)
	}
	f.wait(logfile.Rotated)
	f.open()
	f.expect("old 1\nold 2\n")
	f.write("new 1\n")
	f.wait(logfile.Grown)
	f.expect("old 1\nold 2\nnew 1\n")
	// Shorter than before, but no longer empty when it is looked at.
	if err := os.Truncate(f.name, 0); err != nil {
		t.Fatal(err)
	}
	f.write("x\n")
	f.wait(logfile.Rotated)
	f.open()
	f.expect("old 1\nold 2\nnew 1\nx\n")
}

// Lines that come faster than they are read, in a directory where much happens,
// overflow the queue of the kernel's events. That is no failure: looking tells.
func TestFollowEventOverflow(t *testing.T) {
	t.Parallel()
	f := follow(t, "one\n")
	for range 25_000 { // The queue holds 16,384 unless it is told otherwise.
		// By turns, since equal events in a row are one.
		f.write("x")
		if err := os.WriteFile(f.name+".other", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.write("\n")
	f.readOn()
	f.rename()
	f.create()
	// Nothing is left to read: for an interval Wait goes through all the events.
	f.wait(logfile.Rotated)
	f.expect("one\n" + strings.Repeat("x", 25_000) + "\n")
}
