package checkout

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// maxDepth is how deep directories may nest. Git and others recurse.
const maxDepth = 200

// lookOverTree reads the names and kinds of everything in the tree, before git does.
// It follows no link and opens no file.
func (c *Checkout) lookOverTree(ctx context.Context) error {
	w := walk{ctx: ctx, tree: c.Tree(), left: c.options.Limits.Files}
	return w.directory("", 0)
}

type walk struct {
	ctx  context.Context
	tree string
	left int // entries that may still come
}

func (w *walk) directory(dir string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return context.Cause(w.ctx)
	}
	if depth > maxDepth {
		return &Violation{dir, "is nested too deeply"}
	}
	f, err := os.Open(filepath.Join(w.tree, dir))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &Violation{dir, "may not be read"}
	case errors.Is(err, syscall.ENAMETOOLONG):
		return &Violation{dir, "has a path that is too long"}
	case err != nil:
		return err
	}
	directories, err := w.entries(f, dir)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	// Closed before the next level is opened: depth costs no files.
	for _, name := range directories {
		if err := w.directory(name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// entries looks over what one directory holds, and returns the directories in it.
func (w *walk) entries(f *os.File, dir string) (directories []string, err error) {
	for {
		entries, err := f.ReadDir(discardBatch)
		if errors.Is(err, io.EOF) {
			return directories, nil
		}
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			if w.left--; w.left < 0 {
				return nil, &Violation{name, "is one file too many"}
			}
			if isDotGit(entry.Name()) {
				return nil, &Violation{name, "is a repository of its own"}
			}
			switch kind := entry.Type(); {
			case kind == fs.ModeSymlink && foldName(entry.Name()) == ".gitmodules":
				// Git reads this file, and through a link any other.
				return nil, &Violation{name, "says where submodules come from, and is no link"}
			case kind.IsDir():
				directories = append(directories, name)
			case !kind.IsRegular() && kind != fs.ModeSymlink:
				return nil, &Violation{name, "is neither a file nor a directory nor a link"}
			}
		}
	}
}
