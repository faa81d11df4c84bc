package accesslog

import "bytes"

// parseCombined reads a line in the common or the combined format into e.
func (p *Parser) parseCombined(e *Entry, line []byte) error {
	at, err := e.readClient(line)
	if err != nil {
		return err
	}

	request, at, err := quoted(line, at, FieldRequest)
	if err != nil {
		return err
	}
	e.Method, e.Target = splitRequest(request)
	e.Target = p.unescape(e.Target)

	if e.Status, at, err = readStatus(line, at); err != nil {
		return err
	}
	if at, err = skipBytes(line, at); err != nil {
		return err
	}
	if at == len(line) {
		return nil
	}

	if _, at, err = quoted(line, at, FieldReferer); err != nil {
		return err
	}
	userAgent, at, err := quoted(line, at, FieldUserAgent)
	if err != nil {
		return err
	}
	if at < len(line) && line[at] != ' ' {
		return malformed(FieldUserAgent, at, "want a space or the line's end after it")
	}
	e.UserAgent = p.unescape(userAgent)
	e.HasUserAgent = true
	if bytes.HasPrefix(line[at:], []byte(` "`)) {
		e.ForwardedFor = readForwardedFor(line, at)
	}
	return nil
}

// readForwardedFor returns the field at line[at:], after the user agent, where
// it is what nginx's packaged nginx.conf puts there: "$http_x_forwarded_for".
// The field has no name in the line, so it is taken only where it can be little
// else, a quoted list of addresses. An upstream's address has a port.
func readForwardedFor(line []byte, at int) []byte {
	value, end, err := quoted(line, at, FieldForwardedFor)
	if err != nil || end < len(line) && line[end] != ' ' || !isAddressList(value) {
		return nil
	}
	return value
}

// readClient reads host, ident, user and time. It returns where the time ends.
func (e *Entry) readClient(line []byte) (int, error) {
	hostEnd := 0
	for hostEnd < len(line) && line[hostEnd] > ' ' && line[hostEnd] <= '~' {
		hostEnd++
	}
	if hostEnd == 0 || hostEnd == len(line) || line[hostEnd] != ' ' {
		return 0, malformed(FieldHost, 0, "want a client address or name, then a space")
	}
	e.Host = line[:hostEnd]
	if hasPort(e.Host) {
		// Apache's vhost_combined puts the site's own name and port first. Taken
		// for the client, it would make one visitor of them all.
		return 0, malformed(FieldHost, 0, "want a client without a port; formats that put the virtual host first are not read")
	}

	// A user's name may hold spaces and brackets, so the first "[" need not start
	// the time. But servers escape quotes within fields: the first `] "` is the
	// time's end, and the time has a fixed width.
	userStart := hostEnd + 1
	closing := bytes.Index(line[userStart:], []byte(`] "`))
	if closing < 0 {
		return 0, malformed(FieldTime, userStart, "want a time in brackets, then a quoted request")
	}
	closing += userStart
	opening := closing - timeLength - 1
	if opening <= userStart || line[opening] != '[' || line[opening-1] != ' ' {
		return 0, malformed(FieldTime, closing, timeReason)
	}
	if bytes.IndexByte(line[userStart:opening-1], ' ') < 0 {
		return 0, malformed(FieldUser, userStart, "want ident and user before the time")
	}
	var ok bool
	if e.Time, ok = parseTime((*[timeLength]byte)(line[opening+1 : closing])); !ok {
		return 0, malformed(FieldTime, opening, timeReason)
	}
	return closing + 1, nil
}

// hasPort reports whether host is a name or IPv4 address with a port. An IPv6
// address has more colons than one.
func hasPort(host []byte) bool {
	colon := bytes.IndexByte(host, ':')
	if colon < 0 || colon == len(host)-1 {
		return false
	}
	for _, c := range host[colon+1:] {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// readStatus reads a space and a status at line[at:], and returns where it ends.
func readStatus(line []byte, at int) (status, end int, err error) {
	rest := line[at:]
	switch {
	case len(rest) >= 5 && rest[0] == ' ' && isDigit(rest[1]) && isDigit(rest[2]) && isDigit(rest[3]) && rest[4] == ' ':
		return int(rest[1]-'0')*100 + int(rest[2]-'0')*10 + int(rest[3]-'0'), at + 4, nil
	case bytes.HasPrefix(rest, []byte(" - ")):
		return 0, at + 2, nil
	}
	return 0, 0, malformed(FieldStatus, at, "want three digits or -, then a space")
}

// skipBytes passes a space and a number of bytes sent at line[at:], and returns
// where it ends: at a space or at the line's end.
func skipBytes(line []byte, at int) (end int, err error) {
	start := at + 1 // readStatus saw the space
	end = start
	if end < len(line) && line[end] == '-' {
		end++
	} else {
		for end < len(line) && isDigit(line[end]) {
			end++
		}
	}
	if end == start || end < len(line) && line[end] != ' ' {
		return 0, malformed(FieldBytes, start, "want digits or -")
	}
	return end, nil
}
