package commitlog

import "io"

// FS is what the log needs of a file system. Tests put one in that discards what
// was not synced, or that fails; see package faultfs.
type FS interface {
	// Mkdir creates a directory in a parent that exists. It is no error if the
	// directory exists.
	Mkdir(dir string) error
	// List returns the names of the files in dir, in any order.
	List(dir string) ([]string, error)
	// Create creates a file, or empties the one that is there.
	Create(name string) (File, error)
	// Open opens a file that exists for reading and writing.
	Open(name string) (File, error)
	// Rename gives a file another name in the same directory. A file that had the
	// name is replaced.
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes the directory's entries durable.
	SyncDir(dir string) error
}

// File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size returns the file's size in bytes.
	Size() (int64, error)
	// Preallocate extends a file that is shorter to size, which reads as zeros, and
	// reserves the space where the file system can. One that can do neither leaves
	// the file as it is: then no cut of it is found.
	Preallocate(size int64) error
	// Sync makes what was written, and the size, durable.
	Sync() error
}
