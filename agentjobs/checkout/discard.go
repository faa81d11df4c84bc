package checkout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// discardBatch is how many names of a directory are read at once.
const discardBatch = 1024

// Discard removes a directory that an agent wrote, and what an earlier call left in
// the trash, a directory of the same file system that is gone afterwards. A directory
// that does not exist is removed already.
//
// Every directory is moved to the top of the trash before it is emptied, so neither
// the depth of the agent's directories nor the length of their paths matters.
// os.RemoveAll keeps one file open a level, and an agent could nest until the service
// has none left. It also fails at a directory without write permission, as caches of
// packages have them. Links are removed, never followed.
func Discard(dir, trash string) error {
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return err
	}
	next := 0
	bury := func(dir string) error {
		// Moving a directory writes its "..", so its own permission counts.
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
		for {
			grave := filepath.Join(trash, strconv.Itoa(next))
			next++
			if _, err := os.Lstat(grave); errors.Is(err, fs.ErrNotExist) {
				return os.Rename(dir, grave)
			}
		}
	}
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		if err := bury(dir); err != nil {
			return err
		}
	} else if err == nil {
		if err := os.Remove(dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The trash is a directory whose directories are all emptied by the same rule:
	// what is found in one is moved beside it. So this ends when the trash is empty.
	for {
		graves, err := someEntries(trash)
		if err != nil {
			return err
		}
		if len(graves) == 0 {
			return os.Remove(trash)
		}
		for _, grave := range graves {
			if err := empty(filepath.Join(trash, grave.Name()), bury); err != nil {
				return fmt.Errorf("remove %s: %w", dir, err)
			}
		}
	}
}

// empty removes one directory, and hands each directory within to bury.
func empty(dir string, bury func(string) error) error {
	for {
		entries, err := someEntries(dir)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return os.Remove(dir)
		}
		for _, entry := range entries {
			name := filepath.Join(dir, entry.Name())
			if entry.IsDir() {
				err = bury(name)
			} else {
				err = os.Remove(name)
			}
			if err != nil {
				return err
			}
		}
	}
}

func someEntries(dir string) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(discardBatch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
