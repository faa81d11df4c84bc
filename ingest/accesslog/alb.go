package accesslog

import "bytes"

// isALB reports whether line begins with a type of request as the load balancer
// knows them, and a year.
func isALB(line []byte) bool {
	switch line[0] { // Most lines are of other formats, and told here.
	case 'h', 'g', 'w':
	default:
		return false
	}
	kind, rest, _ := bytes.Cut(line[:min(len(line), len("https 2018-"))], []byte(" "))
	switch string(kind) {
	case "http", "https", "h2", "grpcs", "ws", "wss":
		return len(rest) > 4 && isDigit(rest[0]) && rest[4] == '-'
	}
	return false
}

// parseALB reads a line of an AWS Application Load Balancer's access log into e
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html#access-log-entry-format):
//
//	type time elb client:port target:port request_processing_time
//	target_processing_time response_processing_time elb_status_code
//	target_status_code received_bytes sent_bytes "request" "user_agent"
//	ssl_cipher ssl_protocol target_group_arn "trace_id" ...
//
// AWS adds fields at the end and asks to ignore those that one does not know;
// these are the ones it began with. A line that was cut off after the trace ID is
// taken: what is read of it is whole. The load balancer escapes quotes as nginx
// does, \x22, and writes the port of an IPv6 client after another colon, without
// brackets; neither is documented. It does not log X-Forwarded-For.
func (p *Parser) parseALB(e *Entry, line []byte) error {
	at := bytes.IndexByte(line, ' ')
	written, at, err := bare(line, at, FieldTime)
	if err != nil {
		return err
	}
	var ok bool
	if e.Time, ok = parseISOTime(written); !ok {
		return malformed(FieldTime, at-len(written), "want a time of ISO 8601")
	}
	if _, at, err = bare(line, at, FieldOther); err != nil { // elb
		return err
	}
	client, at, err := bare(line, at, FieldHost)
	if err != nil {
		return err
	}
	if e.Host = withoutPort(client); !isAddress(e.Host) || len(e.Host) == len(client) {
		return malformed(FieldHost, at-len(client), "want an IP address and a port")
	}
	for range 4 { // target:port and three durations
		if _, at, err = bare(line, at, FieldOther); err != nil {
			return err
		}
	}
	if e.Status, at, err = readStatus(line, at); err != nil {
		return err
	}
	for range 3 { // target_status_code, received_bytes and sent_bytes
		if _, at, err = bare(line, at, FieldOther); err != nil {
			return err
		}
	}
	request, at, err := quoted(line, at, FieldRequest)
	if err != nil {
		return err
	}
	userAgent, at, err := quoted(line, at, FieldUserAgent)
	if err != nil {
		return err
	}
	for range 3 { // ssl_cipher, ssl_protocol and target_group_arn
		if _, at, err = bare(line, at, FieldOther); err != nil {
			return err
		}
	}
	if _, _, err = quoted(line, at, FieldOther); err != nil { // trace_id
		return err
	}
	e.Method, e.Target = splitRequest(request)
	e.Target = p.unescape(e.Target)
	e.UserAgent = p.unescape(userAgent)
	e.HasUserAgent = true
	return nil
}

// bare reads a space and a field without quotes at line[at:]. It returns the
// field and where it ends: at a space.
func bare(line []byte, at int, field string) (value []byte, end int, err error) {
	if at == len(line) || line[at] != ' ' {
		return nil, 0, malformed(field, at, "want a space and a field")
	}
	start := at + 1
	length := bytes.IndexByte(line[start:], ' ')
	if length <= 0 || line[start] == '"' {
		return nil, 0, malformed(field, start, "want a field without quotes, then a space")
	}
	return line[start : start+length], start + length, nil
}
