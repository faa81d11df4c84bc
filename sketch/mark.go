package sketch

import "crypto/sha256"

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
