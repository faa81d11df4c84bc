package database

import (
	"fmt"

	"golang.org/x/sys/unix"

	"footfall/sketch"
)

// reserveBytes is the room that a write asks for. Badger copies memtable logs and
// tables into memory maps of files with holes: where the disk is full, that is no
// error but a SIGBUS, which ends the process. The reserve is what memtables that
// wait, the tables made of them and compactions take beside the write itself.
const reserveBytes = 128 << 20

// checkRoom returns a sketch.ErrDiskFull where less than the reserve and so many bytes are
// left.
func checkRoom(dir string, bytes uint64) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return fmt.Errorf("asking how full the disk of %s is: %w", dir, err)
	}
	if left := stat.Bavail * uint64(stat.Bsize); left < reserveBytes+bytes {
		return fmt.Errorf("%w: %d MiB are left where %s lies, %d are needed", sketch.ErrDiskFull, left>>20, dir, (reserveBytes+bytes)>>20)
	}
	return nil
}

// CheckRoom returns a sketch.ErrDiskFull where so many bytes could not be written without
// going below the reserve.
func (db *DB) CheckRoom(bytes uint64) error { return checkRoom(db.dir, bytes) }
