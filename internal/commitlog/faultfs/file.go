package faultfs

import (
	"io"
	"io/fs"
)

type file struct {
	fs     *FS
	node   *node
	name   string
	closed bool
}

// begin locks the file system, asks the hook, and refuses a closed file.
func (f *file) begin(op Op) error {
	err := f.fs.begin(op, f.name)
	if f.closed {
		return &fs.PathError{Op: string(op), Path: f.name, Err: fs.ErrClosed}
	}
	return err
}

func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	err := f.begin(OpRead)
	defer f.fs.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n := f.node.content.read(p, offset)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	err := f.begin(OpWrite)
	defer f.fs.mu.Unlock()
	if f.closed {
		return 0, err
	}
	if err != nil {
		half := (offset + int64(len(p))/2) / sectorSize * sectorSize
		p = p[:max(0, half-offset)]
	}
	for _, i := range f.node.content.write(p, offset) {
		f.node.dirty[i] = struct{}{}
	}
	return len(p), err
}

func (f *file) Preallocate(size int64) error {
	err := f.begin(OpPreallocate)
	defer f.fs.mu.Unlock()
	if err != nil {
		return err
	}
	f.node.content.size = max(f.node.content.size, size)
	return nil
}

func (f *file) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.node.content.size, nil
}

func (f *file) Sync() error {
	err := f.begin(OpSync)
	defer f.fs.mu.Unlock()
	if f.closed {
		return err
	}
	if err == nil {
		for i := range f.node.dirty {
			f.node.durable.copySector(i, f.node.content)
		}
		f.node.durable.size = f.node.content.size
	}
	clear(f.node.dirty)
	return err
}

func (f *file) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	f.fs.open--
	return nil
}
