package sketch

import (
	"crypto/sha256"
	"errors"
)

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
	// ErrUnavailable: the store was closed, or a write failed and nothing more
	// is acknowledged until a restart. Whether the batch was kept is not known
	// before that.
	ErrUnavailable = errors.New("the store takes no more page views")
)

// Position is the sequence number of a batch in the log. The first batch is 1;
// 0 stands before every batch.
type Position uint64

// ProjectNumber identifies a project inside the store. Unlike a project's ID,
// which may be deleted and created again, a number is never given twice: what
// the log still holds of a deleted project can not reach its successor.
type ProjectNumber uint64

// Hash is a visitor: a 64-bit hash of an identity, keyed with a secret of the
// project. Sets and registers are built from hashes alone.
type Hash uint64

// Visit is one page view after every decision was taken.
type Visit struct {
	Path    string // normalised
	Visitor Hash
	Day     Day
	Traffic Traffic
}

// Source names an access log by how it begins, not by its file name: the SHA-256
// of its first Length uncompressed bytes.
type Source struct {
	Length uint16
	Sum    [32]byte
}

// SourceHead is how many bytes of a log's beginning name it, at most. A shorter
// log is named by all of it, and keeps that name when it grows.
const SourceHead = 4096

// SourceOf names the log that begins with head. Bytes after the first
// SourceHead do not count.
func SourceOf(head []byte) Source {
	head = head[:min(len(head), SourceHead)]
	return Source{Length: uint16(len(head)), Sum: sha256.Sum256(head)}
}

// Mark says where a batch came from, and commits with it. The zero Mark is a
// batch that came over HTTP and has no source. Offsets are in uncompressed
// bytes.
type Mark struct {
	Source Source
	From   int64 // where in the source the batch begins
	To     int64 // where the next batch begins
	Lines  int64 // lines of the source before To
	// Tail is the SHA-256 of the bytes from TailStart to To. Two logs that begin
	// alike are told apart where one is continued.
	Tail [32]byte
}

// tailSize bounds how many bytes before its end a mark remembers.
const tailSize = 1024

// TailStart is where the bytes begin that Tail is the checksum of: the last 1,024
// of the batch, or all of it where it is shorter.
func (m Mark) TailStart() int64 { return max(m.From, m.To-tailSize) }

// IsZero reports whether the batch has no source.
func (m Mark) IsZero() bool { return m.Source.Length == 0 }

// Batch is what one commit makes durable.
type Batch struct {
	Project ProjectNumber
	Visits  []Visit
	Mark    Mark
}
