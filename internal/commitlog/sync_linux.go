package commitlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes what was written to f durable. fdatasync(2) leaves out the
// times but not the size or the allocation, without which the data is not found.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
