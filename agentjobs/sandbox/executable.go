package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An executable is the agent's program as it is on the host.
type executable struct {
	path string // absolute, free of symbolic links: the same inside
	// show is what must be bound for the program to run; empty below /usr, which
	// is there already.
	show string
}

// findExecutable looks name up as execvp(3) does, in the service's PATH.
//
// A link is followed on the host, since the directory that holds it is not there
// inside. A program that npm installed needs what lies beside it, so that the
// outermost node_modules directory is shown: packages are found upwards from
// the program, and the outermost holds all of them. Any other program is shown
// alone: the directory that holds it may hold anything.
func findExecutable(name string) (executable, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return executable{}, fmt.Errorf("look the program up: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return executable{}, fmt.Errorf("follow the program's links: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return executable{}, fmt.Errorf("look the program up: %w", err)
	}
	found := executable{path: path}
	if !within(path, "/usr") {
		found.show = path
		if before, _, ok := strings.Cut(path, "/node_modules/"); ok {
			found.show = before + "/node_modules"
		}
		if err := checkOverlap(found.show); err != nil {
			return executable{}, err
		}
	}
	return found, nil
}

// environment is what an agent gets before the entries of its caller, which go
// over these. Nothing of the service's own environment is taken.
func (r *Room) environment(program executable, env []string) []string {
	path := []string{filepath.Dir(program.path)}
	for _, dir := range r.sandbox.runtime {
		path = append(path, filepath.Join(dir, "bin"))
	}
	path = append(path, "/usr/local/bin", "/usr/bin", "/bin")
	temp := "/tmp"
	if r.sandbox.mode == None {
		temp = os.TempDir()
	}
	return lastOfEach(append([]string{
		"PATH=" + strings.Join(path, ":"),
		"HOME=" + r.Home,
		"TMPDIR=" + temp,
		"LANG=C.UTF-8",
	}, env...))
}

// lastOfEach keeps the last entry of each key: of several, programs take the
// first or the last as they like.
func lastOfEach(env []string) []string {
	at := make(map[string]int, len(env))
	kept := env[:0]
	for _, entry := range env {
		key, _, _ := strings.Cut(entry, "=")
		if i, ok := at[key]; ok {
			kept[i] = entry
			continue
		}
		at[key] = len(kept)
		kept = append(kept, entry)
	}
	return kept
}
