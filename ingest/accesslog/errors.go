package accesslog

import "fmt"

// The fields of a line, as a SyntaxError names them.
const (
	FieldHost      = "host"
	FieldUser      = "user" // ident and user, which cannot be told apart
	FieldTime      = "time"
	FieldRequest   = "request"
	FieldStatus    = "status"
	FieldBytes     = "bytes"
	FieldReferer   = "referer"
	FieldUserAgent = "user agent"
)

// SyntaxError says why a line is in neither format. It never holds a part of
// the line, which names a visitor's address: it may be logged and shown.
type SyntaxError struct {
	Field  string // one of the Field constants
	Offset int    // where reading it failed, in bytes from the line's start
	Reason string // what was expected
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("malformed access log line: %s at byte %d: %s", e.Field, e.Offset, e.Reason)
}

func malformed(field string, offset int, reason string) error {
	return &SyntaxError{Field: field, Offset: offset, Reason: reason}
}
