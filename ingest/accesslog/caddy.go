package accesslog

import "bytes"

// caddyLine is what an access log of Caddy 2 in JSON says of a request
// (https://caddyserver.com/docs/logging#structured-logs; the keys are those of
// LoggableHTTPRequest in modules/caddyhttp/marshalers.go):
//
//	logger                             "http.log.access", or that and a site's name
//	ts                                 required
//	request.client_ip, else remote_ip, else remote_addr, which has a port
//	request.method, request.uri        required
//	request.headers.User-Agent, request.headers.X-Forwarded-For
//	status                             required
//
// client_ip, since Caddy 2.7, is the client behind proxies that Caddy trusts, and
// remote_ip where it trusts none; before Caddy 2.5 there was remote_addr alone.
// ts is in any time_format of Caddy's encoders that names an instant: not wall
// and its kin, which have no zone. Lines of other loggers are messages of Caddy's.
type caddyLine struct {
	logger, message                []byte
	time                           scalar
	hasRequest                     bool
	clientIP, remoteIP, remoteAddr []byte
	method, uri                    []byte
	hasHeaders                     bool
	userAgent, forwardedFor        []byte // without escapes
}

// read reads the value of key, or reports that it does not know the key.
func (c *caddyLine) read(p *Parser, s *scanner, key []byte) (known bool) {
	switch string(key) {
	case "ts":
		c.time = s.scalar()
	case "logger":
		c.logger = s.scalar().text
	case "msg":
		c.message = s.scalar().text
	case "request":
		if s.peek() != '{' {
			return false
		}
		c.readRequest(p, s)
	default:
		return false
	}
	return true
}

func (c *caddyLine) readRequest(p *Parser, s *scanner) {
	c.hasRequest = true
	for more := s.enter('{'); more; more = s.next('}') {
		switch key := s.key(); string(key) {
		case "client_ip":
			c.clientIP = s.text(FieldHost)
		case "remote_ip":
			c.remoteIP = s.text(FieldHost)
		case "remote_addr":
			c.remoteAddr = s.text(FieldHost)
		case "method":
			c.method = s.text(FieldRequest)
		case "uri":
			c.uri = s.text(FieldRequest)
		case "headers":
			c.readHeaders(p, s)
		default:
			s.skip()
		}
	}
}

func (c *caddyLine) readHeaders(p *Parser, s *scanner) {
	c.hasHeaders = true
	for more := s.enter('{'); more; more = s.next('}') {
		switch key := s.key(); string(key) {
		case "User-Agent":
			c.userAgent = p.readHeader(s, FieldUserAgent)
		case "X-Forwarded-For":
			c.forwardedFor = p.readHeader(s, FieldForwardedFor)
		default:
			s.skip()
		}
	}
}

// readHeader reads the values of a header, an array of strings, as one value:
// separated by commas, as RFC 9110 section 5.3 has it.
func (p *Parser) readHeader(s *scanner, field string) []byte {
	start := len(p.unescaped)
	for more := s.enter('['); more; more = s.next(']') {
		if len(p.unescaped) > start {
			p.unescaped = append(p.unescaped, ", "...)
		}
		p.unescaped = appendUnquoted(p.unescaped, s.text(field))
	}
	return p.unescaped[start:]
}

// isMessage reports whether the line is one of Caddy's, but not of its access log.
// Every line has a time and a message; those of the root logger have no logger.
func (c *caddyLine) isMessage() bool {
	if c.message == nil || c.time.text == nil {
		return false
	}
	if c.logger == nil {
		return !c.hasRequest
	}
	name, isAccess := bytes.CutPrefix(c.logger, []byte("http.log.access"))
	return !isAccess || len(name) > 0 && name[0] != '.'
}

// fill makes an entry of the line, or names the field that is missing.
func (c *caddyLine) fill(p *Parser, e *Entry) (missing string) {
	host := c.clientIP
	if len(host) == 0 {
		host = c.remoteIP
	}
	if len(host) == 0 {
		host = withoutPort(c.remoteAddr)
	}
	switch {
	case len(host) == 0:
		return FieldHost
	case c.method == nil || c.uri == nil:
		return FieldRequest
	}
	e.Host = p.unquote(host)
	e.setRequest(p.unquote(c.method), p.unquote(c.uri))
	e.UserAgent = c.userAgent
	e.HasUserAgent = c.hasHeaders
	e.ForwardedFor = present(c.forwardedFor)
	return ""
}
