package accesslog

import "bytes"

// nginxLine is what an nginx log in JSON says of a request. The operator makes up
// such a format with log_format and escape=json, keys and all
// (https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format), so a key
// is known where it is the name of its variable:
//
//	remote_addr                              client, required
//	time_local, time_iso8601, msec           time, one of them required
//	request                                  method and target; or
//	request_method, request_uri or uri       these
//	status                                   required
//	http_user_agent                          without it, the line has no user agent
//	http_x_forwarded_for
//
// Each stands in the object itself, not in one within it. Numbers may be quoted
// or not; a time may have any name of the three. Other keys are ignored. A
// variable without a value is an empty string. What nginx writes without quotes
// for one, nothing, or 000 for a status, is no JSON: such a line is malformed.
type nginxLine struct {
	remoteAddr              []byte
	time                    scalar
	request                 []byte
	method, requestURI, uri []byte
	userAgent, forwardedFor []byte
}

// read reads the value of key, or reports that it does not know the key.
func (n *nginxLine) read(s *scanner, key []byte) (known bool) {
	switch string(key) {
	case "remote_addr":
		n.remoteAddr = s.text(FieldHost)
	case "time_local", "time_iso8601", "msec":
		n.time = s.scalar()
	case "request":
		n.request = s.text(FieldRequest)
	case "request_method":
		n.method = s.text(FieldRequest)
	case "request_uri":
		n.requestURI = s.text(FieldRequest)
	case "uri":
		n.uri = s.text(FieldRequest)
	case "http_user_agent":
		n.userAgent = s.text(FieldUserAgent)
	case "http_x_forwarded_for":
		n.forwardedFor = s.text(FieldForwardedFor)
	default:
		return false
	}
	return true
}

// fill makes an entry of the line, or names the field that is missing.
func (n *nginxLine) fill(p *Parser, e *Entry) (missing string) {
	hasPair := n.method != nil && (n.requestURI != nil || n.uri != nil)
	switch {
	case len(n.remoteAddr) == 0:
		return FieldHost
	case n.request == nil && !hasPair:
		return FieldRequest
	}
	e.Host = p.unquote(n.remoteAddr)
	e.Method, e.Target = splitRequest(p.unquote(n.request))
	if len(e.Method) == 0 && hasPair {
		e.setRequest(p.unquote(n.method), n.target(p))
	}
	e.UserAgent = p.unquote(n.userAgent)
	e.HasUserAgent = n.userAgent != nil
	e.ForwardedFor = present(p.unquote(n.forwardedFor))
	return ""
}

// target returns $request_uri, the target as it was sent, or else what stands for
// it as $uri: the path without its percent-encoding, after internal redirects. A
// character that would mean something else in a target is encoded again.
func (n *nginxLine) target(p *Parser) []byte {
	if n.requestURI != nil {
		return p.unquote(n.requestURI)
	}
	path := p.unquote(n.uri)
	if !bytes.ContainsAny(path, "%?#") {
		return path
	}
	start := len(p.unescaped)
	for _, c := range path {
		switch c {
		case '%':
			p.unescaped = append(p.unescaped, "%25"...)
		case '?':
			p.unescaped = append(p.unescaped, "%3F"...)
		case '#':
			p.unescaped = append(p.unescaped, "%23"...)
		default:
			p.unescaped = append(p.unescaped, c)
		}
	}
	return p.unescaped[start:]
}
