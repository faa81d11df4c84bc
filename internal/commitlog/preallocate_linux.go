package commitlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// preallocate reserves the space by fallocate(2). Where the file system has no
// fallocate, files grow by each write: slower, as every sync then carries a new
// size, but as safe. Writing zeros ahead would double what is written.
func preallocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return nil
		default:
			return err
		}
	}
}
