package commitlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// preallocate reserves the space by fallocate(2). Where the file system has no
// fallocate, the file is extended without its space: slower, as every sync then
// carries what was allocated, but as safe. Writing zeros ahead would double what
// is written.
func preallocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return f.Truncate(size)
		default:
			return err
		}
	}
}
