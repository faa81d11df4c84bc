package checkout_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// An agent that enters each directory that it makes is not held by the length of paths.
func TestDirectoriesBeyondAnyPath(t *testing.T) {
	_, c := started(t, page)
	fd, err := unix.Open(c.Tree(), unix.O_DIRECTORY, 0)
	ok(t, err)
	for range 5000 {
		ok(t, unix.Mkdirat(fd, "d", 0o700))
		next, err := unix.Openat(fd, "d", unix.O_DIRECTORY, 0)
		ok(t, err)
		ok(t, unix.Close(fd))
		fd = next
	}
	ok(t, unix.Mkdirat(fd, ".git", 0o700))
	ok(t, unix.Close(fd))
	if _, err := c.Commit(t.Context(), "m"); err == nil {
		t.Error("it was committed")
	}
	prepare(t, c)
	entries, err := os.ReadDir(c.Tree())
	ok(t, err)
	if len(entries) != 2 {
		t.Errorf("the next tree holds %v", entries)
	}
}

func TestDirectoriesWithoutPermissions(t *testing.T) {
	_, c := started(t, map[string]string{".gitignore": "cache/\n"})
	write(t, c, "cache/a/b/c", "x")
	for _, name := range []string{"cache/a/b", "cache/a", "cache"} {
		ok(t, os.Chmod(filepath.Join(c.Tree(), name), 0o500))
	}
	commit(t, c) // as caches of packages are
	ok(t, os.Chmod(filepath.Join(c.Tree(), "cache"), 0))
	ok(t, os.Chmod(c.Tree(), 0))
	prepare(t, c)
	if exists(filepath.Join(c.Tree(), "cache")) {
		t.Error("the cache is still there")
	}
	ok(t, os.Chmod(c.Tree(), 0))
	ok(t, c.DiscardTree())
}

// Removing goes along no link.
func TestRemovingFollowsNoLink(t *testing.T) {
	_, c := started(t, page)
	outside := t.TempDir()
	put(t, filepath.Join(outside, "kept"), "x", 0o644)
	link(t, c, "d/out", outside)
	prepare(t, c)
	// The tree itself is the service's, but what holds it could be anything.
	ok(t, os.RemoveAll(c.Tree()))
	ok(t, os.Symlink(outside, c.Tree()))
	prepare(t, c)
	if !exists(filepath.Join(outside, "kept")) || !exists(filepath.Join(c.Tree(), "README.md")) {
		t.Error("what a link pointed to was removed")
	}
}
