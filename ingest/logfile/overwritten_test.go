package logfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"footfall/ingest/logfile"
)

// TestTruncatedAndGrown: a log that was cut and has grown beyond the old place
// before anyone looked is another log, not a longer one.
func TestTruncatedAndGrown(t *testing.T) {
	name := filepath.Join(t.TempDir(), "access.log")
	save := func(text string) {
		t.Helper()
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]logfile.Growth{
		"one\ntwo\nthree\n":  logfile.Grown,
		"ONE\nTWO\nTHREE!\n": logfile.Rotated,
		"one\nTWO\nthree\n":  logfile.Rotated,
	} {
		save("one\ntwo\n")
		r, err := logfile.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		watch, err := logfile.Follow(name)
		if err != nil {
			t.Fatal(err)
		}
		chunk, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		r.Advance(chunk, int64(len(chunk.Data)), 2)
		save(text)
		if got, err := watch.Wait(t.Context(), r); err != nil || got != want {
			t.Errorf("%q: %v (%v), want %v", text, got, err, want)
		}
		if err := watch.Close(); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
