package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotHidden says that something of the tree can not be hidden from the agent. With Mode
// None nothing can.
var ErrNotHidden = errors.New("it can not be hidden from the agent")

// Hide covers what is in the tree under these names, before Start: the agent finds an
// empty directory, or an empty file, that it can not write. What is not there stays
// away. It is for files that a program runs code from as it starts, before the agent
// was asked anything.
//
// ErrNotHidden says that a name is a link: what to cover then lies elsewhere, where
// the agent works. It is also the answer of Mode None where a name is there.
func (r *Room) Hide(names ...string) error {
	for _, name := range names {
		if name == "." || !filepath.IsLocal(name) || strings.ContainsRune(name, filepath.Separator) {
			return fmt.Errorf("hide %q: not a name at the top of the tree", name)
		}
		info, err := os.Lstat(filepath.Join(r.spec.Tree, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return fmt.Errorf("hide %q: %w", name, err)
		case r.sandbox.mode == None || !info.IsDir() && !info.Mode().IsRegular():
			return fmt.Errorf("hide %q: %w", name, ErrNotHidden)
		}
		r.hidden = append(r.hidden, hidden{path: insideTree + "/" + name, dir: info.IsDir()})
	}
	return nil
}

// hidden is a path inside that is covered.
type hidden struct {
	path string
	dir  bool
}

// arguments are those of bwrap(1) that cover the path, once the tree is bound.
func (h hidden) arguments() []string {
	if h.dir {
		return []string{"--perms", "0555", "--size", "4096", "--tmpfs", h.path, "--remount-ro", h.path}
	}
	return []string{"--ro-bind", "/dev/null", h.path}
}
