package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Checkout is one job's copy of a repository.
type Checkout struct {
	options Options
	git     string // the binary, an absolute path
}

// New returns the checkout in a directory. It writes nothing, and what an earlier
// one left in the directory is used again. It fails where an option is not valid or
// git is not installed.
func New(o Options) (*Checkout, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("checkout: %w", err)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("checkout: find git: %w", err)
	}
	git, err = filepath.Abs(git)
	if err != nil {
		return nil, fmt.Errorf("checkout: find git: %w", err)
	}
	return &Checkout{options: o, git: git}, nil
}

// Tree is the directory that the agent works in. It exists from Prepare on.
func (c *Checkout) Tree() string { return filepath.Join(c.options.Dir, "tree") }

// gitDir is the service's: a bare repository's, with the tree given at each command.
func (c *Checkout) gitDir() string { return filepath.Join(c.options.Dir, "git") }

// trash takes the directories that are being removed.
func (c *Checkout) trash() string { return filepath.Join(c.options.Dir, "trash") }

// DiscardTree removes the work tree. Prepare makes it anew.
func (c *Checkout) DiscardTree() error {
	if _, err := os.Lstat(c.options.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := Discard(c.Tree(), c.trash()); err != nil {
		return fmt.Errorf("remove the work tree: %w", err)
	}
	return nil
}

// At reports whether the last commit here is this one, and there to be pushed.
func (c *Checkout) At(ctx context.Context, commit string) bool {
	if _, err := os.Lstat(c.gitDir()); err != nil {
		return false
	}
	head, err := c.commitOf(ctx, "HEAD")
	return err == nil && head == commit
}
