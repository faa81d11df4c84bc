// Package accesslog reads the access logs of web servers, content delivery
// networks and load balancers, one line at a time. It does no I/O and knows
// nothing of visitors, traffic or storage.
//
// The nouns, each in the file of its name:
//
//   - Parser turns one line into an Entry, the request that the line tells of,
//     or into a SyntaxError that names the field and the place. ErrNoRequest says
//     that the line is a comment or another message, and not malformed.
//   - The time is fixed in width, [dd/Mon/yyyy:hh:mm:ss +hhmm], and becomes Unix
//     seconds. A timestamp is a time in any notation that JSON logs have.
//   - Quoted fields carry the server's escapes; they are taken back.
//   - A scanner reads a line that is one JSON text, strictly.
//   - A view is a request that was answered with content; a page is a path that
//     a person reads, not an asset of one.
//
// Each line says for itself which format it is in, so a log may mix them, and a
// part of one can be read without what stands before it:
//
//	begins with         format                          file
//	{                   JSON of nginx, or of Caddy      nginx.go, caddy.go
//	#                   a comment                       parse.go
//	a date and a tab    CloudFront's standard log       cloudfront.go
//	http, h2, ...       AWS Application Load Balancer   alb.go
//	anything else       common or combined              combined.go
//
// The files name the vendor's documentation and the fields or keys that are read.
// Common and combined are as Apache's mod_log_config and nginx's
// ngx_http_log_module document them
// (https://httpd.apache.org/docs/2.4/mod/mod_log_config.html,
// https://nginx.org/en/docs/http/ngx_http_log_module.html):
//
//	common    host ident user [time] "request" status bytes
//	combined  host ident user [time] "request" status bytes "referer" "user agent"
//
// Fields that a site added after the user agent are ignored, but for a list of
// addresses in quotes right after it, which is X-Forwarded-For as in nginx's
// packaged configuration. Formats with anything else in between are malformed: a
// guess would read one field as another. So are those that put the virtual host
// and its port first; a virtual host without a port cannot be told from a
// client's name.
package accesslog
