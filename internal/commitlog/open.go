package commitlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"

	"footfall/sketch"
)

// Open opens the log in opts.Dir, or creates an empty one, and calls replay for
// every record after opts.After in order of position. The payload is valid during
// the call only; nil replays nothing. By the time of the first call the whole log
// was checked, and every record that will be replayed is on disk.
//
// The error matches ErrDamaged or ErrVersion where the log can not be trusted;
// Open then has changed nothing and replayed nothing. It wraps replay's error.
func Open(opts Options, replay func(sketch.Position, []byte) error) (*Log, error) {
	l := &Log{fs: opts.FS, dir: opts.Dir, segmentBytes: opts.SegmentBytes, logger: opts.Logger}
	if l.dir == "" {
		return nil, errors.New("open log: no directory is given")
	}
	if l.segmentBytes < 0 {
		return nil, fmt.Errorf("open log: segment size %d is negative", l.segmentBytes)
	}
	if l.segmentBytes == 0 {
		l.segmentBytes = DefaultSegmentBytes
	}
	if l.fs == nil {
		l.fs = osFS{}
	}
	if l.logger == nil {
		l.logger = slog.New(slog.DiscardHandler)
	}
	err := l.open(opts.After, replay)
	if err != nil {
		if l.active != nil {
			_ = l.active.Close() // the first error is the one to report
		}
		return nil, fmt.Errorf("open log: %w", err)
	}
	return l, nil
}

func (l *Log) open(after sketch.Position, replay func(sketch.Position, []byte) error) error {
	if err := l.fs.Mkdir(l.dir); err != nil {
		return err
	}
	// Also where it existed: the process that made it may have died before it synced.
	if err := l.fs.SyncDir(filepath.Dir(l.dir)); err != nil {
		return err
	}
	if err := l.listSegments(); err != nil {
		return err
	}
	if len(l.segments) == 0 {
		return l.create(after)
	}
	begin, err := l.firstToRead(after)
	if err != nil {
		return err
	}
	for i := begin; i < len(l.segments)-1; i++ {
		if err := l.readSealed(i, nil); err != nil {
			return err
		}
	}
	if err := l.recoverActive(after); err != nil {
		return err
	}
	size := l.offset
	for _, sealed := range l.segments[:len(l.segments)-1] {
		size += sealed.size
	}
	l.size.Store(size)
	if replay == nil {
		return nil
	}
	return l.replay(begin, after, replay)
}

func (l *Log) listSegments() error {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if first, ok := parseSegmentName(name); ok {
			l.segments = append(l.segments, segment{first: first})
		}
	}
	slices.SortFunc(l.segments, func(a, b segment) int { return cmp.Compare(a.first, b.first) })
	return nil
}

// create begins a log that holds nothing.
func (l *Log) create(after sketch.Position) error {
	// A log that once had records always has a segment.
	if after > 0 {
		return &DamageError{
			File: l.dir, Position: after + 1,
			Reason: fmt.Sprintf("there is no segment, but records up to %d had been synced and applied", after),
		}
	}
	file, err := l.createSegment(1, segmentHeaderSize)
	if err != nil {
		return err
	}
	l.segments = []segment{{first: 1}}
	l.activate(file, segmentHeaderSize)
	l.size.Store(segmentHeaderSize)
	return nil
}

// firstToRead returns the index of the segment that holds the record after
// after, or would hold it. The segments before it are applied elsewhere: they are
// not read, and damage in them costs nothing.
func (l *Log) firstToRead(after sketch.Position) (int, error) {
	if first := l.segments[0].first; first > after+1 {
		return 0, &DamageError{
			File: l.path(first), Position: after + 1,
			Reason: fmt.Sprintf("this is the oldest segment and begins with record %d: the records before it are missing", first),
		}
	}
	begin := 0
	for begin+1 < len(l.segments) && l.segments[begin+1].first <= after+1 {
		file, size, err := l.openFile(l.segments[begin].first)
		if err != nil {
			return 0, err
		}
		if err := file.Close(); err != nil {
			return 0, err
		}
		l.segments[begin].size = size
		begin++
	}
	return begin, nil
}

// readSealed reads the records of a sealed segment, up to the first of the next
// one and no further: what follows is of a torn write.
func (l *Log) readSealed(i int, visit func(recordHeader, []byte) error) error {
	seg, next := &l.segments[i], l.segments[i+1].first
	name := l.path(seg.first)
	file, s, err := l.openSegment(seg.first)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read from
	for s.position < next {
		h, payload, err := s.next()
		if f := (*flaw)(nil); errors.As(err, &f) || errors.Is(err, io.EOF) {
			reason := "there is no record"
			if f != nil {
				reason = f.reason
			}
			return &DamageError{
				File: name, Offset: s.offset, Position: s.position,
				Reason: fmt.Sprintf("%s, but the next segment begins with record %d", reason, next),
			}
		}
		if err != nil {
			return fmt.Errorf("read log segment %s at byte %d: %w", name, s.offset, err)
		}
		if visit == nil {
			continue
		}
		if err := visit(h, payload); err != nil {
			return err
		}
	}
	seg.size = s.offset
	return nil
}

// recoverActive reads the last segment, judges its tail, and leaves the log ready
// for Append with every record that it found on disk.
func (l *Log) recoverActive(after sketch.Position) error {
	first := l.segments[len(l.segments)-1].first
	file, s, err := l.openSegment(first)
	if err != nil {
		return err
	}
	l.activate(file, s.size)
	lastWrite, synced := s.offset, sketch.Position(0)
	for {
		at := s.offset
		h, _, nextErr := s.next()
		if nextErr != nil {
			err = nextErr
			break
		}
		if h.synced != synced {
			lastWrite, synced = at, h.synced
		}
	}
	torn, err := judgeTail(file, l.path(first), s, err, after)
	if err != nil {
		return err
	}
	l.offset = s.offset
	l.synced = s.position - 1
	l.last.Store(uint64(l.synced))
	if err := rewrite(file, lastWrite, min(s.offset, s.size)); err != nil {
		return fmt.Errorf("write the last records of %s again: %w", l.path(first), err)
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	if torn == 0 {
		return nil
	}
	l.logger.Warn("log ends in a write that a crash cut short and that was never acknowledged; it is left out",
		"file", l.path(first), "offset", s.offset, "bytes", torn, "position", uint64(s.position))
	return l.roll(segmentHeaderSize)
}

// rewrite writes the bytes of [from, to) over themselves. If the sync of the last
// write failed, they may be in memory only and marked as clean: a sync alone
// would do nothing and report success.
func rewrite(file File, from, to int64) error {
	buffer := make([]byte, min(scanBufferSize, to-from))
	for from < to {
		n := min(int64(len(buffer)), to-from)
		if _, err := file.ReadAt(buffer[:n], from); err != nil {
			return err
		}
		if _, err := file.WriteAt(buffer[:n], from); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// replay hands out the records after after. All of them were read before; they
// are checked again, which costs little and catches a disk that changes its mind.
func (l *Log) replay(begin int, after sketch.Position, replay func(sketch.Position, []byte) error) error {
	visit := func(h recordHeader, payload []byte) error {
		if h.position <= after {
			return nil
		}
		if err := replay(h.position, payload); err != nil {
			return fmt.Errorf("replay record %d: %w", h.position, err)
		}
		return nil
	}
	for i := begin; i < len(l.segments)-1; i++ {
		if err := l.readSealed(i, visit); err != nil {
			return err
		}
	}
	first := l.segments[len(l.segments)-1].first
	s := newScanner(l.active, l.offset, first)
	for s.position <= l.Last() {
		h, payload, err := s.next()
		if err != nil {
			return fmt.Errorf("read log segment %s at byte %d again: %w", l.path(first), s.offset, err)
		}
		if err := visit(h, payload); err != nil {
			return err
		}
	}
	return nil
}

// openSegment opens a segment, checks its header and returns a scanner of it.
func (l *Log) openSegment(first sketch.Position) (File, *scanner, error) {
	file, size, err := l.openFile(first)
	if err != nil {
		return nil, nil, err
	}
	header, err := readSegmentHeader(file, l.path(first), first)
	if err != nil {
		_ = file.Close() // the first error is the one to report
		return nil, nil, err
	}
	s := newScanner(file, size, first)
	s.created = header.size
	return file, s, nil
}

func (l *Log) openFile(first sketch.Position) (File, int64, error) {
	file, err := l.fs.Open(l.path(first))
	if err != nil {
		return nil, 0, err
	}
	size, err := file.Size()
	if err != nil {
		_ = file.Close() // the first error is the one to report
		return nil, 0, err
	}
	return file, size, nil
}

func readSegmentHeader(file File, name string, first sketch.Position) (segmentHeader, error) {
	raw := make([]byte, segmentHeaderSize)
	if _, err := file.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return segmentHeader{}, fmt.Errorf("read header of log segment %s: %w", name, err)
	}
	h, ok := decodeSegmentHeader(raw)
	switch {
	case !ok:
		return h, &DamageError{File: name, Position: first, Reason: "this is no segment header, or it does not match its checksum"}
	case h.version != formatVersion:
		return h, fmt.Errorf("%w: %s has %d, this program reads %d", ErrVersion, name, h.version, formatVersion)
	case h.first != first:
		return h, &DamageError{File: name, Position: first, Reason: fmt.Sprintf("the header says that the segment begins with record %d", h.first)}
	}
	return h, nil
}
