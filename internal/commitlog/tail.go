package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"footfall/sketch"
)

// tail is what follows the last record that checks in the active segment.
type tail struct {
	stale  int64           // bytes up to the last that is not zero
	proof  int64           // offset of a header that proves that the record before it was synced; 0 for none
	proven sketch.Position // the position in that header
}

// judgeTail looks at what follows the last good record, where the scanner stopped
// with cause: io.EOF or a *flaw. It returns the bytes of a torn write, which are 0
// after a clean stop, or a *DamageError. The rules are in the package's comment.
func judgeTail(file File, name string, s *scanner, cause error, after sketch.Position) (int64, error) {
	damage := func(format string, args ...any) error {
		return &DamageError{File: name, Offset: s.offset, Position: s.position, Reason: fmt.Sprintf(format, args...)}
	}
	f := &flaw{reason: "there is no record", next: s.offset + recordAlignment}
	switch {
	case errors.As(cause, &f), errors.Is(cause, io.EOF):
	default:
		return 0, fmt.Errorf("read log segment %s at byte %d: %w", name, s.offset, cause)
	}
	if s.position <= after {
		return 0, damage("%s, but records up to %d had been synced and applied", f.reason, after)
	}
	if s.size < s.created {
		return 0, damage("%s, and the file was cut: it has %d bytes of the %d that it was created with", f.reason, s.size, s.created)
	}
	t, err := surveyTail(file, s.offset, f.next, s.size, s.position)
	if err != nil {
		return 0, fmt.Errorf("read the tail of log segment %s: %w", name, err)
	}
	if t.proof > 0 {
		return 0, damage("%s, but record %d at byte %d was written after it had been synced", f.reason, t.proven, t.proof)
	}
	if f.written {
		return 0, damage("%s, and no sector of it is missing, so it was written whole and changed later", f.reason)
	}
	return t.stale, nil
}

// surveyTail looks from offset on for stale bytes, and from next on for a header
// that proves the record expected at offset to have been synced.
func surveyTail(file File, offset, next, size int64, expected sketch.Position) (tail, error) {
	var t tail
	const overlap = recordHeaderSize - recordAlignment // a header may begin in one chunk and end in the next
	step := min(scanBufferSize, (max(0, size-offset)+recordAlignment-1)/recordAlignment*recordAlignment)
	buffer := make([]byte, step+overlap)
	for at := offset; at < size; at += step {
		n, err := file.ReadAt(buffer[:min(int64(len(buffer)), size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return t, err
		}
		clear(buffer[n:])
		for i := 0; i < int(step); i += recordAlignment {
			if binary.LittleEndian.Uint64(buffer[i:]) == 0 { // no header begins with zeros
				continue
			}
			here := at + int64(i)
			t.stale = here + recordAlignment - offset
			if here < next {
				continue
			}
			h, ok := decodeRecordHeader(buffer[i : i+recordHeaderSize])
			if ok && h.position > expected && h.synced >= expected {
				t.proof, t.proven = here, h.position
				return t, nil
			}
		}
	}
	return t, nil
}
