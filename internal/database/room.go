package database

import (
	"fmt"

	"golang.org/x/sys/unix"

	"footfall/sketch"
)

// reserveBytes is the least room that a write asks for: what memtables that wait,
// and the tables made of them, take beside the write itself.
//
// Badger copies memtable logs and tables into memory maps of files with holes:
// where the disk is full, that is no error but a SIGBUS, which ends the process.
const reserveBytes = 128 << 20

// checkRoom returns a sketch.ErrDiskFull where less than so many bytes are left.
func checkRoom(dir string, bytes uint64) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return fmt.Errorf("asking how full the disk of %s is: %w", dir, err)
	}
	if left := stat.Bavail * uint64(stat.Bsize); left < bytes {
		return fmt.Errorf("%w: %d MiB are left where %s lies, %d are needed", sketch.ErrDiskFull, left>>20, dir, bytes>>20)
	}
	return nil
}

// CheckRoom returns a sketch.ErrDiskFull where so many bytes could not be written
// without going below the reserve.
func (db *DB) CheckRoom(bytes uint64) error {
	return checkRoom(db.dir, db.reserve.Load()+bytes)
}

// updateReserve makes the reserve what the database needs now: beside the least,
// what the largest compaction makes before it removes what it was made of, which
// takes all tables of level 0 and all that they meet in the level below.
func (db *DB) updateReserve() {
	compaction := int64(0)
	for _, level := range db.badger.Levels() {
		if level.Level == 0 || level.IsBaseLevel {
			compaction += level.Size
		}
	}
	db.reserve.Store(reserveBytes + uint64(compaction))
}
