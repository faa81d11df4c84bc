package checkout

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Start is what the tree was made from.
type Start struct {
	Commit  string // that the tree holds
	Existed bool   // the remote has the branch, and Commit is its tip
	Base    string // the tip of the base
}

// Where fetched commits are kept. They have names that no pushed branch has.
const (
	branchRef = "refs/checkout/branch"
	baseRef   = "refs/checkout/base"
)

// Prepare makes the tree anew, from the tip of the branch where the remote has it, else
// from the tip of the base. Nothing of an earlier tree is left, in ignored files neither,
// nor is a commit that was not pushed. It fetches without history.
//
// Errors: ErrName, ErrNotFound (the repository, or the base in it), ErrUnauthorized,
// ErrRedirected, ErrUnreachable, ErrTooMuch, ErrTimeout.
func (c *Checkout) Prepare(ctx context.Context, branch, base string) (Start, error) {
	start, err := c.prepare(ctx, branch, base)
	if err != nil {
		return Start{}, fmt.Errorf("prepare %s: %w", branch, err)
	}
	return start, nil
}

func (c *Checkout) prepare(ctx context.Context, branch, base string) (Start, error) {
	for _, name := range []string{branch, base} {
		if err := CheckBranch(name); err != nil {
			return Start{}, err
		}
	}
	if err := c.initialise(ctx); err != nil {
		return Start{}, err
	}
	existed, err := c.fetch(ctx, branch, base)
	if err != nil {
		return Start{}, err
	}
	start := Start{Existed: existed}
	if start.Base, err = c.commitOf(ctx, baseRef); err != nil {
		return Start{}, err
	}
	start.Commit = start.Base
	if existed {
		if start.Commit, err = c.commitOf(ctx, branchRef); err != nil {
			return Start{}, err
		}
	}
	return start, c.populate(ctx, start.Commit)
}

// initialise creates the git directory, or makes the one of an earlier run usable.
func (c *Checkout) initialise(ctx context.Context) error {
	if err := os.MkdirAll(c.gitDir(), 0o700); err != nil {
		return err
	}
	if err := c.unlock(); err != nil {
		return fmt.Errorf("remove what a run that was cut short left: %w", err)
	}
	// On one that exists this only adds what is missing.
	if _, err := c.run(ctx, command{args: []string{"init", "--bare", "--quiet", "--template="}}); err != nil {
		return err
	}
	info := filepath.Join(c.gitDir(), "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes), 0o600)
}

// attributes go before those in the tree: no file of the tree names a filter, hides
// itself from a diff, or is another one in a commit than in the tree. So what the agent
// sees and writes is what is looked over and pushed, byte by byte, line ends included;
// an encoding that a file does not have would else fail the commit.
const attributes = "* !filter !diff !merge !text !eol !crlf !ident !working-tree-encoding\n"

// packsInProgress is where git keeps the pack that is being fetched. The file stays
// where git is killed.
func (c *Checkout) packsInProgress() string {
	return filepath.Join(c.gitDir(), "objects", "pack", "tmp_*")
}

// tooLarge reports whether the fetch that just failed came to Limits.FetchBytes. The
// kernel ends the process that writes the pack there; git says only that it ended.
func (c *Checkout) tooLarge() bool {
	names, _ := filepath.Glob(c.packsInProgress()) // the pattern is valid
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Size() >= c.options.Limits.FetchBytes {
			return true
		}
	}
	return false
}

// unlock removes what a killed git leaves behind: lock files, and packs that are not
// whole. A lock is a file beside the one that it protects, and no ref can have such a
// name.
func (c *Checkout) unlock() error {
	packs, _ := filepath.Glob(c.packsInProgress())
	for _, pack := range packs {
		if err := os.Remove(pack); err != nil {
			return err
		}
	}
	return filepath.WalkDir(c.gitDir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "objects" {
			return fs.SkipDir
		}
		if !entry.IsDir() && strings.HasSuffix(entry.Name(), ".lock") {
			return os.Remove(path)
		}
		return nil
	})
}

// fetch brings the base, and the branch where the remote has it.
func (c *Checkout) fetch(ctx context.Context, branch, base string) (existed bool, err error) {
	tips, err := c.tips(ctx, branch, base)
	if err != nil {
		return false, err
	}
	if !tips[base] {
		return false, fmt.Errorf("%s: branch %q: %w", c.options.Remote, base, ErrNotFound)
	}
	args := []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
		"--", c.options.Remote, "+refs/heads/" + base + ":" + baseRef}
	if tips[branch] {
		args = append(args, "+refs/heads/"+branch+":"+branchRef)
	}
	if _, err := c.run(ctx, command{args: args, onRemote: true}); err != nil {
		if c.tooLarge() {
			err = fmt.Errorf("%s: a file of more than %d bytes: %w", c.options.Remote, c.options.Limits.FetchBytes, ErrTooMuch)
		}
		return false, c.explain(ctx, reading, err)
	}
	return tips[branch], nil
}

// tips returns which of the branches the remote has.
func (c *Checkout) tips(ctx context.Context, branches ...string) (map[string]bool, error) {
	args := []string{"ls-remote", "--refs", "--", c.options.Remote}
	for _, branch := range branches {
		args = append(args, "refs/heads/"+branch)
	}
	listing, err := c.run(ctx, command{args: args, onRemote: true})
	if err != nil {
		return nil, c.explain(ctx, reading, err)
	}
	tips := make(map[string]bool)
	for line := range strings.Lines(string(listing)) {
		_, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		// A pattern matches the end of a name, so refs/heads/x/refs/heads/main comes too.
		for _, branch := range branches {
			if ref == "refs/heads/"+branch {
				tips[branch] = true
			}
		}
	}
	return tips, nil
}

// commitOf returns the id of the commit that a revision names.
func (c *Checkout) commitOf(ctx context.Context, revision string) (string, error) {
	return c.id(ctx, revision+"^{commit}")
}

func (c *Checkout) id(ctx context.Context, object string) (string, error) {
	id, err := c.run(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", object}})
	return strings.TrimSpace(string(id)), err
}

// populate makes the tree anew.
func (c *Checkout) populate(ctx context.Context, commit string) error {
	if err := Discard(c.Tree(), c.trash()); err != nil {
		return err
	}
	if err := os.Mkdir(c.Tree(), 0o700); err != nil {
		return err
	}
	// The index of an earlier tree has nothing to say of this one.
	if err := os.RemoveAll(filepath.Join(c.gitDir(), "index")); err != nil {
		return err
	}
	if _, err := c.run(ctx, command{args: []string{"update-ref", "--no-deref", "HEAD", commit}}); err != nil {
		return err
	}
	_, err := c.run(ctx, command{args: []string{"read-tree", "--reset", "-u", commit}, onTree: true})
	return err
}
