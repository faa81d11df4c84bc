package accesslog

import (
	"errors"
	"fmt"
)

// ErrNoRequest is returned for a line that is whole but tells of no request: a
// comment, which starts with "#" as CloudFront's header lines do, or a message
// of Caddy's own beside its access log. Such a line is not malformed.
var ErrNoRequest = errors.New("log line tells of no request")

// The fields of a line, as a SyntaxError names them.
const (
	FieldHost         = "host"
	FieldUser         = "user" // ident and user, which cannot be told apart
	FieldTime         = "time"
	FieldRequest      = "request"
	FieldStatus       = "status"
	FieldBytes        = "bytes"
	FieldReferer      = "referer"
	FieldUserAgent    = "user agent"
	FieldForwardedFor = "x-forwarded-for"
	FieldOther        = "other" // one that an Entry has no use for
	FieldJSON         = "JSON"  // the text itself, whatever its fields
)

// SyntaxError says why a line is in no format. It never holds a part of the
// line, which names a visitor's address: it may be logged and shown.
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
