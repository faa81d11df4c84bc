package checkout

import (
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

// Remove deletes everything that the checkout put into its directory. The directory
// itself stays.
func (c *Checkout) Remove() error {
	if _, err := os.Lstat(c.options.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, dir := range []string{c.Tree(), c.gitDir()} {
		if err := discard(dir, c.trash()); err != nil {
			return fmt.Errorf("remove checkout: %w", err)
		}
	}
	return nil
}
