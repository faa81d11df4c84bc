package checkout

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"path"
	"strings"
)

// The modes of entries in git's trees.
const (
	modeNone       = "000000" // there is no entry
	modeFile       = "100644"
	modeExecutable = "100755"
	modeLink       = "120000"
	modeGitlink    = "160000"
)

// entry is one path that differs between two trees.
type entry struct {
	before, after string // modes
	path          string
}

// lookOverChange checks every path that differs between two tree objects.
func (c *Checkout) lookOverChange(ctx context.Context, before, after string) error {
	// Submodules are asked for expressly: a .gitmodules in the tree can have git leave
	// them out. Renames are not looked for, so that both paths are listed.
	listing, err := c.run(ctx, command{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev",
		"--ignore-submodules=none", "--end-of-options", before, after}})
	if err != nil {
		return err
	}
	entries, err := parseRaw(listing)
	if err != nil {
		return err
	}
	links := false
	for _, e := range entries {
		if rule := c.rule(e); rule != "" {
			return &Violation{e.path, rule}
		}
		links = links || e.before == modeLink || e.after == modeLink
	}
	if err := c.lookForRepositories(ctx, entries, after); err != nil || !links {
		return err
	}
	return c.lookOverLinks(ctx, before, after)
}

// rule returns the rule that an entry of a change breaks, or nothing.
func (c *Checkout) rule(e entry) string {
	for element := range strings.SplitSeq(e.path, "/") {
		if isDotGit(element) {
			return "is a repository of its own"
		}
	}
	switch {
	case e.before == modeGitlink || e.after == modeGitlink:
		return "is a submodule, and those stay as they are"
	case foldName(path.Base(e.path)) == ".gitmodules":
		return "says where submodules come from, and stays as it is"
	case isDefinition(e.path):
		return "says what continuous integration runs, and stays as it is"
	case c.options.DocsPath != "" && !strings.HasPrefix(e.path, c.options.DocsPath+"/"):
		return fmt.Sprintf("is not below %q", c.options.DocsPath)
	}
	switch e.after {
	case modeNone, modeFile, modeExecutable, modeLink:
		return ""
	}
	return "is neither a file nor a link"
}

// parseRaw reads the raw format of git-diff-tree(1) with -z: a colon, two modes, two
// ids and a status, separated by spaces; NUL; the path; NUL.
func parseRaw(listing []byte) ([]entry, error) {
	var entries []entry
	for len(listing) > 0 {
		head, rest, ok := bytes.Cut(listing, []byte{0})
		name, rest, ok2 := bytes.Cut(rest, []byte{0})
		columns := strings.Split(string(head), " ")
		if !ok || !ok2 || len(columns) != 5 || len(name) == 0 || len(columns[0]) != 7 || columns[0][0] != ':' || len(columns[1]) != 6 {
			return nil, fmt.Errorf("git diff-tree: entry %.100q is not understood", head)
		}
		entries = append(entries, entry{before: columns[0][1:], after: columns[1], path: string(name)})
		listing = rest
	}
	return entries, nil
}

// fields are the parts of a listing that end with NUL.
func fields(listing []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(listing) > 0 {
			field, rest, _ := bytes.Cut(listing, []byte{0})
			if !yield(string(field)) {
				return
			}
			listing = rest
		}
	}
}
