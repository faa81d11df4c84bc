package commitlog

import (
	"fmt"
	"path/filepath"

	"footfall/sketch"
)

// A segment gets its name only when its header and its size are on disk, so no
// crash leaves a named segment without them. Until then it has this name; what a
// crash leaves under it holds no record, and the next segment overwrites it.
const unnamedSegment = "new.tmp"

type segment struct {
	first sketch.Position
	size  int64 // bytes written; of the active one, see Log.offset
}

// roll goes on in a new segment of that capacity. It seals the active one, which
// is synced. Where the active one holds no record, the new one has the same name
// and takes its place.
func (l *Log) roll(capacity int64) error {
	file, err := l.createSegment(l.synced+1, capacity)
	if err != nil {
		return err
	}
	left := l.active
	if l.offset > segmentHeaderSize {
		l.segments[len(l.segments)-1].size = l.offset
		l.segments = append(l.segments, segment{first: l.synced + 1})
		l.size.Add(segmentHeaderSize)
	}
	l.activate(file, capacity)
	return left.Close()
}

func (l *Log) activate(file File, capacity int64) {
	l.active, l.offset, l.capacity = file, segmentHeaderSize, capacity
}

// createSegment creates an empty segment, durable with its size and its directory
// entry. It replaces one of the same name, which can hold nothing but a torn first
// record.
func (l *Log) createSegment(first sketch.Position, capacity int64) (File, error) {
	unnamed := filepath.Join(l.dir, unnamedSegment)
	file, err := l.fs.Create(unnamed)
	if err != nil {
		return nil, fmt.Errorf("create log segment: %w", err)
	}
	err = func() error {
		if err := file.Preallocate(capacity); err != nil {
			return err
		}
		size, err := file.Size() // what a file system did not extend can not be cut either
		if err != nil {
			return err
		}
		if _, err := file.WriteAt(encodeSegmentHeader(first, size), 0); err != nil {
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
		// The first error is the one to report. A disk that is full gets its space back.
		_ = file.Close()
		_ = l.fs.Remove(unnamed)
		return nil, fmt.Errorf("create log segment for record %d: %w", first, err)
	}
	return file, nil
}
