package checkout

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode"
)

// Change is what a commit changed.
type Change struct {
	Commit  string // the new commit, or the start where nothing changed
	Stat    Stat
	Changed bool
}

// Commit looks over the tree, stages it, looks over the change, and commits it on top
// of the start. Where nothing differs there is no commit, and Changed is false. Files
// that the repository ignores are not part of the change.
//
// Errors: *Violation, ErrMessage, ErrTimeout, ErrTooMuch.
func (c *Checkout) Commit(ctx context.Context, message string) (Change, error) {
	change, err := c.commit(ctx, message)
	if err != nil {
		return Change{}, fmt.Errorf("commit: %w", err)
	}
	return change, nil
}

func (c *Checkout) commit(ctx context.Context, message string) (Change, error) {
	message, err := cleanMessage(message)
	if err != nil {
		return Change{}, err
	}
	if err := c.lookOverTree(ctx); err != nil {
		return Change{}, err
	}
	tree, err := c.stage(ctx)
	if err != nil {
		return Change{}, err
	}
	head, err := c.commitOf(ctx, "HEAD")
	if err != nil {
		return Change{}, err
	}
	before, err := c.id(ctx, head+"^{tree}")
	if err != nil {
		return Change{}, err
	}
	if before == tree {
		return Change{Commit: head}, nil
	}
	if err := c.lookOverChange(ctx, before, tree); err != nil {
		return Change{}, err
	}
	stat, err := c.stat(ctx, before, tree)
	if err != nil {
		return Change{}, err
	}
	commit, err := c.record(ctx, head, tree, message)
	if err != nil {
		return Change{}, err
	}
	return Change{Commit: commit, Stat: stat, Changed: true}, nil
}

// stage writes the tree's state as a tree object, and returns its id.
func (c *Checkout) stage(ctx context.Context) (string, error) {
	if err := c.measure(ctx); err != nil {
		return "", err
	}
	if _, err := c.run(ctx, command{args: []string{"add", "--all"}, onTree: true}); err != nil {
		return "", err
	}
	id, err := c.run(ctx, command{args: []string{"write-tree"}})
	return strings.TrimSpace(string(id)), err
}

// measure looks at the sizes of the files that are about to be staged, before git
// reads them: a file of a terabyte costs an agent nothing, but a copy of it would
// cost us.
func (c *Checkout) measure(ctx context.Context) error {
	listing, err := c.run(ctx, command{
		args:   []string{"ls-files", "-z", "--modified", "--others", "--exclude-standard"},
		onTree: true,
	})
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Tree())
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was read-only
	var total int64
	for name := range fields(listing) {
		// A directory in the name may be a link by now, and what it points to is nobody's
		// to ask for.
		info, err := root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue // removed, or nothing that has a size
		}
		total += info.Size()
		switch {
		case info.Size() > c.options.Limits.FileBytes:
			return &Violation{name, fmt.Sprintf("is larger than %d bytes", c.options.Limits.FileBytes)}
		case total > c.options.Limits.ChangeBytes:
			return &Violation{name, fmt.Sprintf("makes the change larger than %d bytes", c.options.Limits.ChangeBytes)}
		case info.Mode().Perm()&0o400 == 0:
			return &Violation{name, "may not be read"}
		}
	}
	return nil
}

// record makes the commit and moves HEAD. These commands look at no file of the tree
// and run no hook; "git commit" would do both.
func (c *Checkout) record(ctx context.Context, parent, tree, message string) (string, error) {
	author := c.options.Author
	date := fmt.Sprintf("@%d +0000", c.options.Now().Unix())
	id, err := c.run(ctx, command{
		args:  []string{"commit-tree", "-p", parent, tree},
		stdin: strings.NewReader(message),
		env: []string{
			"GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Email, "GIT_AUTHOR_DATE=" + date,
			"GIT_COMMITTER_NAME=" + author.Name, "GIT_COMMITTER_EMAIL=" + author.Email, "GIT_COMMITTER_DATE=" + date,
		},
	})
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(id))
	_, err = c.run(ctx, command{args: []string{"update-ref", "--no-deref", "HEAD", commit, parent}})
	return commit, err
}

// cleanMessage does what git does to a message that someone typed, except that a line
// with a leading # stays: valid UTF-8, no control characters but line ends and tabs, no
// white space at the end of a line, no blank lines around.
func cleanMessage(message string) (string, error) {
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "\uFFFD"), "\r\n", "\n")
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, message)
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	message = strings.Trim(strings.Join(lines, "\n"), "\n")
	if strings.TrimSpace(message) == "" {
		return "", ErrMessage
	}
	return message + "\n", nil
}
