package accesslog

// Entry is one request as a log line tells it. Its byte slices point into the
// line or into memory of the Parser: they hold until the next Parse, and only
// while the line is left as it is.
type Entry struct {
	// Host is the client as written: an IPv4 or IPv6 address, a name where the
	// server looks names up, or "-".
	Host []byte
	// Time is when the request came (Apache) or was logged (nginx), in Unix
	// seconds.
	Time int64
	// Method and Target are the request line's, without the log's escapes; the
	// target still has its percent-encoding. Both are empty where the client
	// sent no request line: "-", nothing, or a TLS handshake on a plain port.
	Method []byte
	Target []byte
	// Status is the HTTP status, as written: nginx writes 000 for a request that
	// got no answer. It is 0 for the "-" that Apache writes then.
	Status int
	// UserAgent is without the log's escapes. It is "-" where the client sent
	// none.
	UserAgent []byte
	// HasUserAgent is false for a line in the common format, which has no such
	// field.
	HasUserAgent bool
}
