package commitlog

import (
	"fmt"
	"path/filepath"

	"footfall/sketch"
)

// A segment gets its name only when its header is on disk, so no crash leaves a
// named segment without one. Until then it has this name; what a crash leaves
// under it holds no record, and the next segment overwrites it.
const unnamedSegment = "new.tmp"

type segment struct {
	first sketch.Position
	size  int64 // bytes written; of the active one, see Log.offset
}

// roll seals the active segment, which is synced, and begins the next.
func (l *Log) roll() error {
	file, err := l.createSegment(l.synced + 1)
	if err != nil {
		return err
	}
	sealed := l.active
	l.segments[len(l.segments)-1].size = l.offset
	l.segments = append(l.segments, segment{first: l.synced + 1})
	l.activate(file, segmentHeaderSize, segmentHeaderSize)
	l.size.Add(segmentHeaderSize)
	return sealed.Close()
}

func (l *Log) activate(file File, offset, reserved int64) {
	l.active, l.offset, l.reserved = file, offset, reserved
}

// createSegment creates an empty segment, durable with its directory entry. It
// replaces one of the same name, which can hold nothing but a torn first record.
func (l *Log) createSegment(first sketch.Position) (File, error) {
	unnamed := filepath.Join(l.dir, unnamedSegment)
	file, err := l.fs.Create(unnamed)
	if err != nil {
		return nil, fmt.Errorf("create log segment: %w", err)
	}
	err = func() error {
		if _, err := file.WriteAt(encodeSegmentHeader(first), 0); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
		if err := l.fs.Rename(unnamed, l.path(first)); err != nil {
			return err
		}
		return l.fs.SyncDir(l.dir)
	}()
	if err != nil {
		_ = file.Close() // the first error is the one to report
		return nil, fmt.Errorf("create log segment for record %d: %w", first, err)
	}
	return file, nil
}
