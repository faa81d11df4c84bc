package checkout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Stat counts a difference. A renamed file counts as one removed and one added; a
// binary file has no lines.
type Stat struct {
	Files      int `json:"files"`
	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
}

// Stat counts the difference between a commit and the last one here. The commit is one
// that Prepare returned in this directory, in an earlier run too, or was made here;
// for another it is ErrNotFound.
func (c *Checkout) Stat(ctx context.Context, from string) (Stat, error) {
	stat, err := c.statSince(ctx, from)
	if err != nil {
		return Stat{}, fmt.Errorf("count the changes since %.100q: %w", from, err)
	}
	return stat, nil
}

func (c *Checkout) statSince(ctx context.Context, from string) (Stat, error) {
	commit, err := c.commitOf(ctx, from)
	var failed *commandError
	if errors.As(err, &failed) {
		return Stat{}, fmt.Errorf("commit %w", ErrNotFound)
	}
	if err != nil {
		return Stat{}, err
	}
	return c.stat(ctx, commit, "HEAD")
}

func (c *Checkout) stat(ctx context.Context, from, to string) (Stat, error) {
	listing, err := c.run(ctx, command{args: []string{"diff-tree", "-r", "-z", "--numstat", "--no-renames",
		"--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--end-of-options", from, to}})
	if err != nil {
		return Stat{}, err
	}
	return parseStat(listing)
}

// parseStat reads numstat's lines: insertions, deletions and the path, separated by
// tabs; a dash for each number where the file is binary.
func parseStat(listing []byte) (Stat, error) {
	var stat Stat
	for line := range fields(listing) {
		columns := strings.SplitN(line, "\t", 3)
		if len(columns) != 3 {
			return Stat{}, fmt.Errorf("git diff-tree: line %.100q is not understood", line)
		}
		stat.Files++
		if columns[0] == "-" {
			continue
		}
		insertions, err := strconv.Atoi(columns[0])
		if err != nil {
			return Stat{}, fmt.Errorf("git diff-tree: %w", err)
		}
		deletions, err := strconv.Atoi(columns[1])
		if err != nil {
			return Stat{}, fmt.Errorf("git diff-tree: %w", err)
		}
		stat.Insertions += insertions
		stat.Deletions += deletions
	}
	return stat, nil
}

// Diff returns the text of the last commit's change, at most limit bytes of it, as
// valid UTF-8. Without a commit since Prepare it is empty.
func (c *Checkout) Diff(ctx context.Context, limit int) (string, error) {
	if limit <= 0 {
		return "", nil
	}
	text, err := c.run(ctx, command{
		args: []string{"diff-tree", "--patch", "-r", "--no-commit-id", "--no-renames", "--no-color", "--no-ext-diff",
			"--no-textconv", "--ignore-submodules=none", "HEAD"},
		limit: limit + 1, // so that cut sees whether there is more
	})
	if err != nil && !errors.Is(err, ErrTooMuch) {
		return "", fmt.Errorf("text of the change: %w", err)
	}
	// Cutting comes first: the sign for an invalid byte is longer than the byte.
	valid := strings.ToValidUTF8(cut(string(text), limit), "\uFFFD")
	return cut(valid, limit), nil
}
