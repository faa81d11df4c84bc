package checkout

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxTarget bounds a link's target in bytes: PATH_MAX of Linux.
	maxTarget = 4096

	// maxHops is how many links one name may lead through, as on Linux
	// (path_resolution(7)).
	maxHops = 40
)

// linkSet is every link of a tree object: its path, and what it points to.
//
// Whether a link leaves the tree is a question to all of them: a -> b/.. stays or
// leaves by what b is. It is answered from this set alone. Asking the disk, even step by
// step as os.Root does, would also see what is not committed: a link through an
// ignored directory may stay here and leave elsewhere.
type linkSet map[string]string

// leaves reports whether a link leads out of the tree or into its .git at any step.
// A name that the set does not have counts as a directory, whatever it is. A link that
// leads through too many others counts as one that leaves.
func (s linkSet) leaves(link string) bool {
	at := elements(path.Dir(link))
	if strings.HasPrefix(s[link], "/") {
		return true
	}
	todo := elements(s[link])
	for hops := 1; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			if len(at) == 0 {
				return true
			}
			at = at[:len(at)-1]
			continue
		case isDotGit(name):
			return true
		}
		here := append(slices.Clone(at), name)
		target, isLink := s[strings.Join(here, "/")]
		if !isLink {
			at = here
			continue
		}
		if hops++; hops > maxHops || strings.HasPrefix(target, "/") {
			return true
		}
		todo = append(elements(target), todo...)
	}
	return false
}

func elements(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// lookOverLinks refuses links that leave the tree, except those that did so before and
// are the same still. All are looked at: a link that did not change leads elsewhere when
// another did.
func (c *Checkout) lookOverLinks(ctx context.Context, before, after string) error {
	old, err := c.links(ctx, before)
	if err != nil {
		return err
	}
	links, err := c.links(ctx, after)
	if err != nil {
		return err
	}
	for _, link := range slices.Sorted(maps.Keys(links)) {
		target := links[link]
		if !links.leaves(link) {
			continue
		}
		if was, existed := old[link]; existed && was == target && old.leaves(link) {
			continue
		}
		return &Violation{link, "is a link that leaves the repository"}
	}
	return nil
}

// links reads all links of a tree object.
func (c *Checkout) links(ctx context.Context, tree string) (linkSet, error) {
	listing, err := c.run(ctx, command{args: []string{"ls-tree", "-r", "-z", "--full-tree", tree}})
	if err != nil {
		return nil, err
	}
	var paths []string
	var ids strings.Builder
	for line := range fields(listing) {
		head, name, _ := strings.Cut(line, "\t")
		columns := strings.Split(head, " ") // mode, kind, id
		if len(columns) == 3 && columns[0] == modeLink {
			paths = append(paths, name)
			ids.WriteString(columns[2] + "\n")
		}
	}
	blobs, err := c.run(ctx, command{args: []string{"cat-file", "--batch"}, stdin: strings.NewReader(ids.String())})
	if err != nil {
		return nil, err
	}
	targets, err := parseBatch(blobs)
	if err != nil {
		return nil, err
	}
	if len(targets) != len(paths) {
		return nil, fmt.Errorf("git cat-file: %d answers to %d questions", len(targets), len(paths))
	}
	links := make(linkSet, len(paths))
	for i, name := range paths {
		if len(targets[i]) > maxTarget {
			return nil, &Violation{name, "is a link with a target that is too long"}
		}
		links[name] = targets[i]
	}
	return links, nil
}

// parseBatch reads the blobs that git-cat-file(1) prints with --batch: id, kind and
// size on a line, the content, a line end.
func parseBatch(blobs []byte) ([]string, error) {
	var contents []string
	for len(blobs) > 0 {
		head, rest, _ := bytes.Cut(blobs, []byte("\n"))
		columns := strings.Split(string(head), " ")
		if len(columns) != 3 || columns[1] != "blob" {
			return nil, fmt.Errorf("git cat-file: %.100q is not understood", head)
		}
		size, err := strconv.Atoi(columns[2])
		if err != nil || size < 0 || size >= len(rest) || rest[size] != '\n' {
			return nil, fmt.Errorf("git cat-file: the size of %.100q is not understood", head)
		}
		contents = append(contents, string(rest[:size]))
		blobs = rest[size+1:]
	}
	return contents, nil
}
