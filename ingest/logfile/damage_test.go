package logfile_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"footfall/ingest/logfile"
)

// The end of the bytes is no end of the log where the compression says that more
// was there: what is whole is handed out, then the failure.
func TestCutOffGzip(t *testing.T) {
	log := append(linesOf(2*chunkBytes), "the last line\n"...)
	whole := compress(t, log)
	for name, content := range map[string][]byte{
		"in the middle":           whole[:len(whole)/2],
		"before the checksum":     whole[:len(whole)-8],
		"the last byte":           whole[:len(whole)-1],
		"damaged checksum":        append(bytes.Clone(whole[:len(whole)-8]), "\x00\x00\x00\x00\x00\x00\x00\x00"...),
		"followed by other bytes": append(bytes.Clone(whole), "plain text\n"...),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "access.log.gz")
			writeFile(t, file, content)
			r := open(t, file)
			var got []byte
			var err error
			for {
				var chunk logfile.Chunk
				if chunk, err = r.Next(); err != nil {
					break
				}
				if chunk.End || chunk.Data[len(chunk.Data)-1] != '\n' {
					t.Errorf("the chunk from %d says that the log ends with it", chunk.From)
				}
				got = append(got, chunk.Data...)
				r.Advance(chunk, chunk.From+int64(len(chunk.Data)), 0)
			}
			if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), file) {
				t.Errorf("%v, want an error that names %s", err, file)
			}
			if len(got) < chunkBytes/2 || !bytes.HasPrefix(log, got) {
				t.Errorf("%d bytes were handed out before it", len(got))
			}
			if _, again := r.Next(); again == nil || errors.Is(again, io.EOF) {
				t.Errorf("the next call: %v", again)
			}
		})
	}
}

func TestOpenFailures(t *testing.T) {
	if _, err := logfile.Open(filepath.Join(t.TempDir(), "missing.log")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing log: %v", err)
	}
	if _, err := logfile.Open(t.TempDir()); err == nil {
		t.Error("a directory was opened")
	}
	name := ways["plain"](t, []byte("\x1f\x8bis no gzip"))
	if _, err := logfile.Open(name); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("no gzip in spite of its beginning: %v", err)
	}
}
