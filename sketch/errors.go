package sketch

import "errors"

// What a commit may answer, whichever store stands behind it. The caller
// decides by errors.Is.
var (
	// ErrOverloaded: the queue before the log is full. Nothing of the batch was
	// kept; the sender may try again.
	ErrOverloaded = errors.New("too many page views are waiting to be written")
	// ErrSourceMoved: the batch does not begin where its source's last one
	// ended, because another import of the same source came in between. Nothing
	// of the batch was kept.
	ErrSourceMoved = errors.New("the source was imported further meanwhile")
	// ErrBatchTooLarge: the batch exceeds what the log takes as one record, and
	// always will. Nothing of it was kept; parts of it may be sent.
	ErrBatchTooLarge = errors.New("too many page views with too long paths at once")
	// ErrProjectDeleted: the project was deleted before the batch was committed.
	ErrProjectDeleted = errors.New("the project was deleted")
	// ErrRepeated: a batch of the same idempotency key was taken before. Nothing of
	// this one was kept; the receipt of the other says what to answer.
	ErrRepeated = errors.New("a batch of the same idempotency key was taken before")
	// ErrTooManyReceipts: the project has as many idempotency keys within their
	// lifetime as are kept. Nothing of the batch was kept; older keys make room as
	// they expire, and a batch without a key is taken.
	ErrTooManyReceipts = errors.New("too many idempotency keys are within their lifetime")
	// ErrDiskFull: the disk has too little room. Nothing of the batch was kept; with
	// more room it is taken.
	ErrDiskFull = errors.New("the disk is nearly full")
	// ErrUnavailable: the store was closed, or a write failed and nothing more
	// is acknowledged until a restart. Whether the batch was kept is not known
	// before that.
	ErrUnavailable = errors.New("the store takes no more page views")
)

// ErrDaysDeleted is the error of a snapshot from before a deletion of days. Another
// one that is taken now succeeds.
var ErrDaysDeleted = errors.New("days were deleted meanwhile")
