package database

import (
	"fmt"
	"sync/atomic"
	"time"

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
	if checkRoom(db.dir, db.reserve.Load()+bytes) == nil {
		return nil
	}
	db.updateReserve() // A compaction may have ended since.
	return checkRoom(db.dir, db.reserve.Load()+bytes)
}

// roomInterval is how long Room remembers that there is room. What is written in
// that time is a small part of the reserve.
const roomInterval = 10 * time.Millisecond

// Room returns a CheckRoom for so many bytes that remembers for a moment that there
// is room: asking the system costs more than deciding about a small batch. That
// there is none is never remembered.
func (db *DB) Room(bytes uint64) func() error {
	var asked atomic.Int64 // when there was room, in Unix nanoseconds
	return func() error {
		now := time.Now().UnixNano()
		if since := time.Duration(now - asked.Load()); since >= 0 && since < roomInterval {
			return nil
		}
		if err := db.CheckRoom(bytes); err != nil {
			return err
		}
		asked.Store(now)
		return nil
	}
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
