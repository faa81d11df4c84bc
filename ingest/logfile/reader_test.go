package logfile_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"footfall/ingest/logfile"
	"footfall/sketch"
)

const chunkBytes = 1 << 20

func writeFile(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func compress(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ways are those in which one log can lie there; each makes a name to open.
var ways = map[string]func(t testing.TB, content []byte) string{
	"plain": func(t testing.TB, content []byte) string {
		name := filepath.Join(t.TempDir(), "access.log")
		writeFile(t, name, content)
		return name
	},
	"gzip": func(t testing.TB, content []byte) string {
		name := filepath.Join(t.TempDir(), "access.log") // Its name says nothing.
		writeFile(t, name, compress(t, content))
		return name
	},
	"gzip in parts": func(t testing.TB, content []byte) string {
		name := filepath.Join(t.TempDir(), "access.log.gz")
		middle := len(content) / 2
		writeFile(t, name, append(compress(t, content[:middle]), compress(t, content[middle:])...))
		return name
	},
	"pipe": func(t testing.TB, content []byte) string {
		name := filepath.Join(t.TempDir(), "pipe")
		if err := unix.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		go func() {
			w, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			// A reader that has seen enough closes the pipe.
			if _, err := w.Write(content); err != nil && !errors.Is(err, unix.EPIPE) {
				t.Error(err)
			}
			_ = w.Close()
		}()
		return name
	},
}

func open(t testing.TB, name string) *logfile.Reader {
	t.Helper()
	r, err := logfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// readAll takes chunk after chunk to the end, as an import does, and checks what
// holds for each.
func readAll(t testing.TB, r *logfile.Reader, offset int64) []byte {
	t.Helper()
	var log []byte
	for {
		inside := r.Inside()
		if want := len(log) > 0 && log[len(log)-1] != '\n'; len(log) > 0 && inside != want {
			t.Fatalf("at %d: inside %v, want %v", offset, inside, want)
		}
		chunk, err := r.Next()
		if errors.Is(err, io.EOF) {
			return log
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.From != offset || len(chunk.Data) == 0 || len(chunk.Data) > chunkBytes {
			t.Fatalf("a chunk of %d bytes from %d, want it from %d", len(chunk.Data), chunk.From, offset)
		}
		if lines := bytes.Count(log, []byte("\n")); len(log) > 0 && chunk.Lines != int64(lines) {
			t.Fatalf("at %d: %d lines before, want %d", offset, chunk.Lines, lines)
		}
		if last := chunk.Data[len(chunk.Data)-1]; last != '\n' && !chunk.End && bytes.IndexByte(chunk.Data, '\n') >= 0 {
			t.Fatalf("the chunk from %d holds lines, but ends within another", chunk.From)
		}
		log = append(log, chunk.Data...)
		offset += int64(len(chunk.Data))
		r.Advance(chunk, offset, chunk.Lines+int64(bytes.Count(chunk.Data, []byte("\n"))))
	}
}

// linesOf makes lines of 100 bytes up to a size.
func linesOf(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%099d\n", i)
	}
	return b.Bytes()[:size]
}

func TestReader(t *testing.T) {
	long := bytes.Repeat([]byte("x"), chunkBytes)
	logs := map[string][]byte{
		"empty":                             nil,
		"one byte":                          []byte("x"),
		"a line":                            []byte("line\n"),
		"a line without an end":             []byte("line"),
		"blank lines":                       []byte("\n\n\na\n\n"),
		"carriage returns":                  []byte("a\r\nb\r\n"),
		"a gzip magic within":               []byte("line\n\x1f\x8b\n"),
		"some chunks":                       linesOf(2*chunkBytes + 12345),
		"a chunk to the byte":               append(linesOf(chunkBytes-1), '\n'),
		"a line end first in a chunk":       append(append(linesOf(chunkBytes-1), 'x', '\n'), "more\n"...),
		"a line across the border":          append(append(linesOf(chunkBytes-50), long[:100]...), "\nmore\n"...),
		"a line of a chunk":                 append(bytes.Clone(long[1:]), '\n'),
		"a line of a chunk and its end":     append(bytes.Clone(long), "\nmore\n"...),
		"a line of some chunks":             bytes.Join([][]byte{[]byte("before"), bytes.Repeat(long, 2), []byte("after")}, []byte("\n")),
		"a line of some chunks and no end":  bytes.Repeat(long, 2),
		"a long line behind a short one":    append([]byte("a\n"), long...),
		"a line across the border, at last": append(linesOf(chunkBytes-50), long[:100]...),
	}
	for wayName, way := range ways {
		for logName, log := range logs {
			t.Run(wayName+"/"+logName, func(t *testing.T) {
				t.Parallel()
				r := open(t, way(t, log))
				head, err := r.Head()
				if err != nil {
					t.Fatal(err)
				}
				if want := log[:min(len(log), sketch.SourceHead)]; !bytes.Equal(head, want) {
					t.Errorf("a head of %d bytes, want the first %d", len(head), len(want))
				}
				if got := readAll(t, r, 0); !bytes.Equal(got, log) {
					t.Errorf("%d bytes were handed out, want the %d of the log", len(got), len(log))
				}
				if _, err := r.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("after the end: %v", err)
				}
				if r.Left() != 0 {
					t.Errorf("%d bytes are left", r.Left())
				}
			})
		}
	}
}

// Whatever the lines and where an earlier import ended, what is handed out is
// the log from there on.
func TestReaderFromAnywhere(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				lines := rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,80}`), 0, 60).Draw(rt, "lines")
				log := []byte(strings.Join(lines, "\n"))
				to := rapid.IntRange(0, len(log)).Draw(rt, "to")
				from := rapid.IntRange(0, to).Draw(rt, "from")
				mark := markOf(log, from, to)
				r := open(t, way(t, log))
				if err := r.SkipTo(mark); err != nil {
					rt.Fatal(err)
				}
				if want := to > from && log[to-1] != '\n'; r.Inside() != want {
					rt.Fatalf("inside %v, want %v", r.Inside(), want)
				}
				if got := readAll(t, r, int64(to)); !bytes.Equal(got, log[to:]) {
					rt.Fatalf("handed out %q, want %q", got, log[to:])
				}
			})
		})
	}
}

// markOf is what the last batch of an import left that went from an offset to
// another.
func markOf(log []byte, from, to int) sketch.Mark {
	mark := sketch.Mark{
		Source: sketch.SourceOf(log),
		From:   int64(from),
		To:     int64(to),
		Lines:  int64(bytes.Count(log[:to], []byte("\n"))),
	}
	mark.Tail = sha256.Sum256(log[mark.TailStart():to])
	return mark
}

func TestSkipToTellsLogsApart(t *testing.T) {
	log := linesOf(300_000)
	mark := markOf(log, 100_000, 200_000)
	change := func(at int) []byte {
		changed := bytes.Clone(log)
		changed[at] = 'X'
		return changed
	}
	tests := []struct {
		name string
		log  []byte
		want error
	}{
		{"the same", log, nil},
		{"grown", append(bytes.Clone(log), "more\n"...), nil},
		{"cut behind the mark", log[:250_000], nil},
		{"cut at the mark", log[:200_000], nil},
		{"other behind the mark", change(200_000), nil},
		{"other at the mark", change(199_999), logfile.ErrChanged},
		{"other some lines before the mark", change(199_100), logfile.ErrChanged},
		{"cut before the mark", log[:199_999], logfile.ErrChanged},
		{"cut far before the mark", log[:5000], logfile.ErrChanged},
		{"empty", nil, logfile.ErrChanged},
	}
	for wayName, way := range ways {
		for _, test := range tests {
			t.Run(wayName+"/"+test.name, func(t *testing.T) {
				r := open(t, way(t, test.log))
				if _, err := r.Head(); err != nil {
					t.Fatal(err)
				}
				if err := r.SkipTo(mark); !errors.Is(err, test.want) {
					t.Fatalf("%v, want %v", err, test.want)
				}
				if test.want == nil {
					if got := readAll(t, r, mark.To); !bytes.Equal(got, test.log[mark.To:]) {
						t.Errorf("%d bytes were handed out, want %d", len(got), len(test.log)-int(mark.To))
					}
				}
			})
		}
	}
}

// A short batch is told by all of it, and no byte of the one before.
func TestSkipToAfterAShortBatch(t *testing.T) {
	log := linesOf(10_000)
	mark := markOf(log, 5000, 5100)
	changed := bytes.Clone(log)
	changed[4999] = 'X'
	if err := open(t, ways["plain"](t, changed)).SkipTo(mark); err != nil {
		t.Errorf("what came before the batch: %v", err)
	}
	changed[5000] = 'X'
	if err := open(t, ways["plain"](t, changed)).SkipTo(mark); !errors.Is(err, logfile.ErrChanged) {
		t.Errorf("the batch itself: %v, want ErrChanged", err)
	}
}

// What was not taken comes again, together with what was appended meanwhile.
func TestAdvanceLeavesTheRest(t *testing.T) {
	name := ways["plain"](t, []byte("one\ntw"))
	r := open(t, name)
	take := func(data string, end bool, to, lines int64) {
		t.Helper()
		chunk, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if string(chunk.Data) != data || chunk.End != end {
			t.Fatalf("chunk %q, end %v; want %q, %v", chunk.Data, chunk.End, data, end)
		}
		r.Advance(chunk, to, lines)
		if want := int(chunk.From) + len(data) - int(to); r.Left() != want {
			t.Errorf("%d bytes left, want %d", r.Left(), want)
		}
	}
	appendTo := func(text string) {
		t.Helper()
		file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(text)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	take("one\ntw", true, 4, 1)
	take("tw", true, 4, 1)
	appendTo("o\nthr")
	take("two\nthr", true, 8, 2)
	appendTo("ee\n" + string(linesOf(2*chunkBytes)))
	var log []byte
	for {
		chunk, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.From != 8+int64(len(log)) {
			t.Fatalf("a chunk from %d, want %d", chunk.From, 8+len(log))
		}
		log = append(log, chunk.Data...)
		r.Advance(chunk, chunk.From+int64(len(chunk.Data)), 0)
	}
	if want := "three\n" + string(linesOf(2*chunkBytes)); string(log) != want {
		t.Errorf("%d bytes, want %d", len(log), len(want))
	}
}

func TestStandardInput(t *testing.T) {
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	log := linesOf(2*chunkBytes + 77)
	for _, content := range [][]byte{log, compress(t, log)} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if _, err := write.Write(content); err != nil {
				t.Error(err)
			}
			_ = write.Close()
		}()
		os.Stdin = read
		r, err := logfile.Open(logfile.Stdin)
		if err != nil {
			t.Fatal(err)
		}
		if r.CanFollow() || r.Size() != 0 {
			t.Errorf("can follow %v, size %d", r.CanFollow(), r.Size())
		}
		if got := readAll(t, r, 0); !bytes.Equal(got, log) {
			t.Errorf("%d bytes, want %d", len(got), len(log))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		// It is not ours to close.
		if err := read.Close(); err != nil {
			t.Errorf("standard input was closed: %v", err)
		}
	}
}

func TestProgress(t *testing.T) {
	log := linesOf(3 * chunkBytes)
	for _, way := range []string{"plain", "gzip"} {
		r := open(t, ways[way](t, log))
		if r.CanFollow() != (way == "plain") {
			t.Errorf("%s: can follow %v", way, r.CanFollow())
		}
		last := int64(0)
		for {
			chunk, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			r.Advance(chunk, chunk.From+int64(len(chunk.Data)), 0)
			if r.Read() < last || r.Read() > r.Size() {
				t.Errorf("%s: %d bytes were read of %d, %d before", way, r.Read(), r.Size(), last)
			}
			last = r.Read()
		}
		if last != r.Size() {
			t.Errorf("%s: %d bytes were read at the end, want %d", way, last, r.Size())
		}
	}
}
