// Package accesslog reads the access logs of Apache and nginx, one line at a
// time, in the common and the combined format. It does no I/O and knows nothing
// of visitors, traffic or storage.
//
// The nouns, each in the file of its name:
//
//   - Parser turns one line into an Entry, the request that the line tells of,
//     or into a SyntaxError that names the field and the place.
//   - The time is fixed in width, [dd/Mon/yyyy:hh:mm:ss +hhmm], and becomes Unix
//     seconds.
//   - Quoted fields carry the server's escapes; they are taken back.
//   - A view is a request that was answered with content; a page is a path that
//     a person reads, not an asset of one.
//
// The formats, as Apache's mod_log_config and nginx's ngx_http_log_module
// document them (https://httpd.apache.org/docs/2.4/mod/mod_log_config.html,
// https://nginx.org/en/docs/http/ngx_http_log_module.html):
//
//	common    host ident user [time] "request" status bytes
//	combined  host ident user [time] "request" status bytes "referer" "user agent"
//
// Each line says for itself which one it is, so a log may mix them. Fields that
// a site added after the user agent are ignored. Formats with anything else in
// between are malformed: a guess would read one field as another. So are those
// that put the virtual host and its port first; a virtual host without a port
// cannot be told from a client's name.
package accesslog
