package service

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// DiskBytes returns the allocated blocks of all files and directories under a
// directory, in bytes, as du counts them: what was preallocated counts, holes do
// not. Files that go away meanwhile are left out.
func DiskBytes(dir string) (int64, error) {
	const block = 512 // the unit of st_blocks, whatever the file system's blocks are
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				total += info.Sys().(*syscall.Stat_t).Blocks * block
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measuring %s: %w", dir, err)
	}
	return total, nil
}
