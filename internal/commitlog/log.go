package commitlog

import (
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"footfall/sketch"
)

// DefaultSegmentBytes is the size of a segment when Options leaves it out.
const DefaultSegmentBytes = 64 << 20

// A write of more than flushBytes goes to the file in several pieces, so that a
// large Append does not need its size in memory a second time.
const flushBytes = 4 << 20

// Options says where the log is and how it is kept.
type Options struct {
	// Dir holds the segment files. It is created if it is missing; its parent must
	// exist. One Log at a time may use it: the caller holds the lock.
	Dir string
	// FS is the file system; nil is the operating system's.
	FS FS
	// SegmentBytes is the size of a segment that begins from now on; 0 is
	// DefaultSegmentBytes. A record that is larger gets a segment of its own size.
	SegmentBytes int64
	// After is the position up to which records are durable elsewhere and need no
	// replay: the checkpoint. It must not be lower than any p of DropThrough.
	After sketch.Position
	// Logger is told of torn tails; nil discards.
	Logger *slog.Logger
}

// Log is an append-only run of records. Append, DropThrough and Close exclude
// each other; Last and Size may be called at any time.
type Log struct {
	fs           FS
	dir          string
	segmentBytes int64
	logger       *slog.Logger

	mu       sync.Mutex
	segments []segment // oldest first; the last is active
	active   File
	offset   int64           // where the next write begins in the active segment
	capacity int64           // bytes of the active segment: no record goes beyond
	synced   sketch.Position // last position known to be on disk
	buffer   []byte          // records of the write under way, which begin at offset
	failure  error           // wraps ErrFailed and the first cause
	closed   bool

	last atomic.Uint64
	size atomic.Int64
}

// Last returns the position of the last record that is durable, or, in a log
// that holds none, the position before its first.
func (l *Log) Last() sketch.Position { return sketch.Position(l.last.Load()) }

// Size returns the bytes that segments hold, without space preallocated ahead.
func (l *Log) Size() int64 { return l.size.Load() }

// Append writes the payloads as one write, syncs once, and returns the position
// of the last: when it returns, all of them are on disk. Where a write crosses
// into a new segment the full one is synced too. Without payloads it does nothing
// and returns Last.
//
// ErrTooLarge and ErrEmpty leave the log as it was. Any other error latches it:
// see ErrFailed. After Close the error matches fs.ErrClosed.
func (l *Log) Append(payloads ...[]byte) (sketch.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return 0, fmt.Errorf("append to log: %w", err)
	}
	for i, payload := range payloads {
		switch {
		case len(payload) == 0:
			return 0, fmt.Errorf("append payload %d to log: %w", i, ErrEmpty)
		case len(payload) > MaxPayload:
			return 0, fmt.Errorf("append payload %d of %d bytes to log: %w", i, len(payload), ErrTooLarge)
		}
	}
	if len(payloads) == 0 {
		return l.Last(), nil
	}
	if err := l.write(payloads); err != nil {
		return 0, l.latch(fmt.Errorf("append to log: %w", err))
	}
	return l.Last(), nil
}

func (l *Log) write(payloads [][]byte) error {
	position := l.Last()
	for _, payload := range payloads {
		at := l.offset + int64(len(l.buffer))
		if size := recordSize(len(payload)); at+size > l.capacity {
			// A segment that exists proves that the ones before it are synced, so this
			// sync can not be left to the end of the write.
			if position > l.synced {
				if err := l.commit(position); err != nil {
					return err
				}
			}
			if err := l.roll(max(l.segmentBytes, segmentHeaderSize+size)); err != nil {
				return err
			}
			at = l.offset
		}
		position++
		l.buffer = appendRecord(l.buffer, at, position, l.synced, payload)
		if len(l.buffer) >= flushBytes {
			if err := l.flush(); err != nil {
				return err
			}
		}
	}
	return l.commit(position)
}

// commit makes everything up to position durable.
func (l *Log) commit(position sketch.Position) error {
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.active.Sync(); err != nil {
		return err
	}
	l.synced = position
	l.last.Store(uint64(position))
	return nil
}

func (l *Log) flush() error {
	if len(l.buffer) == 0 {
		return nil
	}
	if _, err := l.active.WriteAt(l.buffer, l.offset); err != nil {
		return fmt.Errorf("write %d bytes: %w", len(l.buffer), err)
	}
	l.size.Add(int64(len(l.buffer)))
	l.offset += int64(len(l.buffer))
	l.buffer = l.buffer[:0]
	if cap(l.buffer) > 2*flushBytes {
		l.buffer = nil
	}
	return nil
}

// DropThrough removes the segments that hold no record after p. Where p is Last,
// that is every record: the active segment is replaced by an empty one, and
// nothing of the records remains on disk. Records after p are kept, and so are
// records up to p that share a segment with one after it.
//
// The caller has made records up to p durable elsewhere before: Options.After
// must not be lower than p from now on. An error latches the log, see ErrFailed.
func (l *Log) DropThrough(p sketch.Position) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return fmt.Errorf("drop records through %d: %w", p, err)
	}
	if p > l.Last() {
		return fmt.Errorf("drop records through %d: the last is %d", p, l.Last())
	}
	if err := l.drop(p); err != nil {
		return l.latch(fmt.Errorf("drop records through %d: %w", p, err))
	}
	return nil
}

func (l *Log) drop(p sketch.Position) error {
	// The new segment is durable before the old one goes: it alone remembers which
	// position comes next. It has room for no record, and the first one replaces it:
	// a log that was emptied at shutdown takes no space.
	if p == l.Last() && l.capacity > segmentHeaderSize {
		if err := l.roll(segmentHeaderSize); err != nil {
			return err
		}
	}
	// Oldest first, and each removal synced before the next: otherwise a crash may
	// undo one removal and keep a later one, which leaves a gap.
	for len(l.segments) > 1 && l.segments[1].first <= p+1 {
		oldest := l.segments[0]
		if err := l.fs.Remove(l.path(oldest.first)); err != nil {
			return err
		}
		if err := l.fs.SyncDir(l.dir); err != nil {
			return err
		}
		l.size.Add(-oldest.size)
		l.segments = l.segments[1:]
	}
	return nil
}

// Close waits for a change under way and closes the log. Everything acknowledged
// is on disk already. A second Close does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if err := l.active.Close(); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

func (l *Log) usable() error {
	if l.closed {
		return fs.ErrClosed
	}
	return l.failure
}

func (l *Log) latch(cause error) error {
	l.failure = fmt.Errorf("%w: %w", ErrFailed, cause)
	return l.failure
}

func (l *Log) path(first sketch.Position) string {
	return filepath.Join(l.dir, segmentName(first))
}
