package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/internal/datadir"
)

func mustOpen(t *testing.T, path string) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustClose(t *testing.T, dir *datadir.Dir) {
	t.Helper()
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenLocksTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	first := mustOpen(t, path)
	if _, err := datadir.Open(path); !errors.Is(err, datadir.ErrLocked) {
		t.Errorf("a second Open: %v, want ErrLocked", err)
	} else if !strings.Contains(err.Error(), path) {
		t.Errorf("%v does not name %s", err, path)
	}
	mustClose(t, first)

	second := mustOpen(t, path)
	// What was refused must not have taken the lock off its owner.
	if _, err := datadir.Open(path); !errors.Is(err, datadir.ErrLocked) {
		t.Errorf("Open beside the second owner: %v, want ErrLocked", err)
	}
	mustClose(t, second)
}

func TestOpenIsForTheOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "some", "where", "data")
	dir := mustOpen(t, path)
	defer mustClose(t, dir)
	permissions := map[string]os.FileMode{
		path:                          0o700,
		filepath.Dir(path):            0o700,
		filepath.Join(path, "lock"):   0o600,
		filepath.Join(path, "format"): 0o600,
	}
	for name, want := range permissions {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
}

func TestPathsAreAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := mustOpen(t, "data")
	defer mustClose(t, dir)
	path := filepath.Join(working, "data")
	got := []string{dir.Path(), dir.Log(), dir.Database(), datadir.Socket(dir.Path())}
	want := []string{path, path + "/log", path + "/badger", path + "/control.sock"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s, want %s", got[i], want[i])
		}
	}
}

func TestFormat(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		names []string // what the error names; empty means that the directory opens
	}{
		{"empty", nil, nil},
		{"this format", map[string]string{"format": "footfall data format 3\n", "log": ""}, nil},
		{"a start that was stopped before the format was whole", map[string]string{"lock": "", "format.tmp": "foot"}, nil},
		{"newer", map[string]string{"format": "footfall data format 4\n"}, []string{"format 4", "newer"}},
		{"older", map[string]string{"format": "footfall data format 1\n"}, []string{"format 1", "older"}},
		{"no number", map[string]string{"format": "footfall data format one\n"}, []string{"format"}},
		{"another program's format", map[string]string{"format": "1\n"}, []string{"format"}},
		{"empty format", map[string]string{"format": ""}, []string{"format"}},
		{"foreign", map[string]string{"thesis.txt": "once"}, []string{"thesis.txt"}},
		{"data without its format", map[string]string{"lock": "", "log": ""}, []string{"log"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := t.TempDir()
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dir, err := datadir.Open(path)
			if len(test.names) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				mustClose(t, dir)
				text, err := os.ReadFile(filepath.Join(path, "format"))
				if err != nil || string(text) != "footfall data format 3\n" {
					t.Errorf("format holds %q, %v", text, err)
				}
				return
			}
			if !errors.Is(err, datadir.ErrFormat) {
				t.Fatalf("%v, want ErrFormat", err)
			}
			for _, name := range append(test.names, path) {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%v does not name %q", err, name)
				}
			}
			for name, text := range test.files {
				if got, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(got) != text {
					t.Errorf("%s was changed to %q, %v", name, got, err)
				}
			}
			// A refusal leaves no lock behind: whoever repairs it may go on.
			if err := os.WriteFile(filepath.Join(path, "format"), []byte("footfall data format 3\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			mustClose(t, mustOpen(t, path))
		})
	}
}

func TestOpenWhereNoDirectoryCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "data")} {
		dir, err := datadir.Open(path)
		if err == nil {
			mustClose(t, dir)
			t.Fatalf("%s was opened", path)
		}
		if !strings.Contains(err.Error(), file) {
			t.Errorf("%v does not name %s", err, file)
		}
	}
}
