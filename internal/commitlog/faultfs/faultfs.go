package faultfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"footfall/internal/commitlog"
)

// Op is an operation that a Hook is asked about.
type Op string

// The operations on the file system and on files.
const (
	OpMkdir       Op = "mkdir"
	OpList        Op = "list"
	OpCreate      Op = "create"
	OpOpen        Op = "open"
	OpRename      Op = "rename"
	OpRemove      Op = "remove"
	OpSyncDir     Op = "syncdir"
	OpRead        Op = "read"
	OpWrite       Op = "write"
	OpPreallocate Op = "preallocate"
	OpSync        Op = "sync"
)

// Changes reports whether the operation changes what a crash would leave.
func (op Op) Changes() bool { return op != OpList && op != OpOpen && op != OpRead }

// Hook is called before every operation with the file or directory it is for. An
// error that it returns is the operation's. It must not use the FS.
type Hook func(op Op, name string) error

// FS implements commitlog.FS. It is safe for concurrent use.
type FS struct {
	mu   sync.Mutex
	root *node
	hook Hook
	open int
}

var _ commitlog.FS = (*FS)(nil)

// node is a directory if children is not nil, otherwise a file.
type node struct {
	children, durableChildren map[string]*node
	content, durable          content
	dirty                     map[int64]struct{} // sectors to be written by the next Sync
}

func newDir() *node {
	return &node{children: map[string]*node{}, durableChildren: map[string]*node{}}
}

func newFile() *node {
	return &node{content: newContent(), durable: newContent(), dirty: map[int64]struct{}{}}
}

// New returns a file system that holds nothing but its root.
func New() *FS { return &FS{root: newDir()} }

// SetHook replaces the hook; nil lets everything pass.
func (f *FS) SetHook(hook Hook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// OpenFiles returns the number of files that were not closed.
func (f *FS) OpenFiles() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// begin locks the file system and asks the hook.
func (f *FS) begin(op Op, name string) error {
	f.mu.Lock()
	if f.hook == nil {
		return nil
	}
	if err := f.hook(op, name); err != nil {
		return &fs.PathError{Op: string(op), Path: name, Err: err}
	}
	return nil
}

func elements(name string) []string {
	path := strings.Trim(filepath.ToSlash(filepath.Clean(name)), "/")
	if path == "" || path == "." {
		return nil
	}
	return strings.Split(path, "/")
}

// find returns the node of that name, or nil.
func (f *FS) find(name string) *node {
	n := f.root
	for _, element := range elements(name) {
		if n = n.children[element]; n == nil {
			return nil
		}
	}
	return n
}

func (f *FS) directory(op Op, name string) (*node, error) {
	if n := f.find(name); n != nil && n.children != nil {
		return n, nil
	}
	return nil, &fs.PathError{Op: string(op), Path: name, Err: fs.ErrNotExist}
}

// Mkdir creates a directory. Parents that are missing are taken to have existed
// all along, durably, so that a test can use any path.
func (f *FS) Mkdir(name string) error {
	err := f.begin(OpMkdir, name)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	f.mkdir(name, false)
	return nil
}

func (f *FS) mkdir(name string, durable bool) {
	n, path := f.root, elements(name)
	for i, element := range path {
		child := n.children[element]
		if child == nil {
			child = newDir()
			n.children[element] = child
			if durable || i < len(path)-1 {
				n.durableChildren[element] = child
			}
		}
		n = child
	}
}

// List returns the names in a directory.
func (f *FS) List(name string) ([]string, error) {
	err := f.begin(OpList, name)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	dir, err := f.directory(OpList, name)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(dir.children)), nil
}

// Create creates a file or replaces the one that is there.
func (f *FS) Create(name string) (commitlog.File, error) {
	err := f.begin(OpCreate, name)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	dir, err := f.directory(OpCreate, filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	n := newFile()
	dir.children[filepath.Base(name)] = n
	f.open++
	return &file{fs: f, node: n, name: name}, nil
}

// Open opens a file that exists.
func (f *FS) Open(name string) (commitlog.File, error) {
	err := f.begin(OpOpen, name)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n := f.find(name)
	if n == nil || n.children != nil {
		return nil, &fs.PathError{Op: string(OpOpen), Path: name, Err: fs.ErrNotExist}
	}
	f.open++
	return &file{fs: f, node: n, name: name}, nil
}

// Rename gives a file another name in the same directory.
func (f *FS) Rename(from, to string) error {
	err := f.begin(OpRename, from)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	if filepath.Dir(from) != filepath.Dir(to) {
		return &fs.PathError{Op: string(OpRename), Path: to, Err: errors.New("is in another directory")}
	}
	dir, err := f.entry(OpRename, from)
	if err != nil {
		return err
	}
	dir.children[filepath.Base(to)] = dir.children[filepath.Base(from)]
	delete(dir.children, filepath.Base(from))
	return nil
}

// Remove removes a file. Open files of it can still be used.
func (f *FS) Remove(name string) error {
	err := f.begin(OpRemove, name)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	dir, err := f.entry(OpRemove, name)
	if err != nil {
		return err
	}
	delete(dir.children, filepath.Base(name))
	return nil
}

// entry returns the directory that holds name.
func (f *FS) entry(op Op, name string) (*node, error) {
	dir, err := f.directory(op, filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if dir.children[filepath.Base(name)] == nil {
		return nil, &fs.PathError{Op: string(op), Path: name, Err: fs.ErrNotExist}
	}
	return dir, nil
}

// SyncDir makes a directory's entries durable.
func (f *FS) SyncDir(name string) error {
	err := f.begin(OpSyncDir, name)
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	dir, err := f.directory(OpSyncDir, name)
	if err != nil {
		return err
	}
	dir.durableChildren = maps.Clone(dir.children)
	return nil
}

// ReadFile returns a file's content as a process sees it. It asks no hook.
func (f *FS) ReadFile(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.find(name)
	if n == nil || n.children != nil {
		return nil, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	data := make([]byte, n.content.size)
	n.content.read(data, 0)
	return data, nil
}

// WriteFile gives a file that content, durably, and creates it with its
// directories where they are missing. It asks no hook.
func (f *FS) WriteFile(name string, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mkdir(filepath.Dir(name), true)
	n := newFile()
	n.content.write(data, 0)
	n.durable = n.content.clone()
	dir := f.find(filepath.Dir(name))
	dir.children[filepath.Base(name)] = n
	dir.durableChildren[filepath.Base(name)] = n
}
