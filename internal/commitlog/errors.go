package commitlog

import (
	"errors"
	"fmt"

	"footfall/sketch"
)

var (
	// ErrDamaged is matched by the error of Open when a record that was synced is
	// missing or does not check. The error is a *DamageError and names the place.
	ErrDamaged = errors.New("log is damaged")

	// ErrVersion is matched by the error of Open when a segment has a format that
	// this version does not read.
	ErrVersion = errors.New("log segment has an unknown format version")

	// ErrFailed is matched by every error of a changing method from the first
	// failed write or sync on, that one included; the error wraps the first
	// failure's cause. Whether the records of the failed Append survive is known
	// only after the log is opened again.
	ErrFailed = errors.New("log refuses changes after a failed write or sync")

	// ErrTooLarge is matched by the error of Append for a payload over MaxPayload.
	// Nothing of the call was written.
	ErrTooLarge = errors.New("payload is too large for the log")

	// ErrEmpty is matched by the error of Append for a payload of no bytes.
	// Nothing of the call was written.
	ErrEmpty = errors.New("payload is empty")
)

// DamageError names the place where the log is damaged. It matches ErrDamaged.
type DamageError struct {
	File     string          // the segment, or the directory where a segment is missing
	Offset   int64           // byte offset in File
	Position sketch.Position // of the first record that is lost, or may be
	Reason   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("log is damaged: %s at byte %d, record %d: %s", e.File, e.Offset, e.Position, e.Reason)
}

// Is makes errors.Is(err, ErrDamaged) hold.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }
