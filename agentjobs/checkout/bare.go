package checkout

import (
	"cmp"
	"context"
	"path"
	"strings"
)

// maxCandidates is how many directories of a change are looked at for what a
// repository has.
const maxCandidates = 2000

// lookForRepositories refuses a change that makes a directory a repository without a
// .git: git takes one with HEAD, objects and refs for that (is_git_directory in its
// setup.c), and runs what its configuration names, when somebody who looks at the
// change goes there (safe.bareRepository, git-config(1)). One that was there before
// and is not touched may stay.
func (c *Checkout) lookForRepositories(ctx context.Context, entries []entry, after string) error {
	candidates := make(map[string]bool)
	for _, e := range entries {
		if e.after == modeNone {
			continue
		}
		elements := strings.Split(e.path, "/")
		for i, element := range elements {
			switch foldName(element) {
			case "head", "objects", "refs", "config", "commondir":
				candidates[path.Join(elements[:i]...)] = true
			}
		}
		if len(candidates) > maxCandidates {
			return &Violation{e.path, "is one of too many names that repositories have"}
		}
	}
	for dir := range candidates {
		// Names that begin with what means something else are not taken for that.
		listing, err := c.run(ctx, command{args: []string{"ls-tree", "-z", "--name-only", "--end-of-options", after + ":" + dir}})
		if err != nil {
			return err
		}
		has := make(map[string]bool)
		for name := range fields(listing) {
			has[foldName(name)] = true
		}
		if has["head"] && has["objects"] && has["refs"] {
			return &Violation{cmp.Or(dir, "."), "is a repository of its own"}
		}
	}
	return nil
}
