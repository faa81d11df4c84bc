package accesslog

// Entry is one request as a log line tells it. Its byte slices point into the
// line or into memory of the Parser: they hold until the next Parse, and only
// while the line is left as it is.
type Entry struct {
	// Host is the client as written, without a port: an IPv4 or IPv6 address, a
	// name where the server looks names up, or "-".
	Host []byte
	// Time is when the request came (Apache) or was logged or answered (all
	// others), in Unix seconds.
	Time int64
	// Method and Target are the request line's, without the log's escapes; the
	// target still has its percent-encoding. Both are empty where the client
	// sent no request line: "-", nothing, or a TLS handshake on a plain port.
	Method []byte
	Target []byte
	// Status is the HTTP status, as written: nginx and CloudFront write 000 for a
	// request that got no answer. It is 0 for the "-" that others write then.
	Status int
	// UserAgent is without the log's escapes. It is "-" or empty where the client
	// sent none.
	UserAgent []byte
	// HasUserAgent is false for a line that has no such field: one in the common
	// format, or a JSON line without it.
	HasUserAgent bool
	// ForwardedFor is the value of X-Forwarded-For, without the log's escapes: a
	// list of what each proxy on the way took for its client, the nearest last.
	// Its beginning is up to the client. Several such headers are one list. It is
	// nil where the line has none, or "-".
	ForwardedFor []byte
}
