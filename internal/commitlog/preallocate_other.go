//go:build !linux

package commitlog

import "os"

// preallocate extends the file, which is shorter, without its space.
func preallocate(f *os.File, size int64) error { return f.Truncate(size) }
