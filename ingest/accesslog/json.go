package accesslog

// parseJSON reads a line that is a JSON object into e: one of nginx's or of
// Caddy's, told apart by their keys.
func (p *Parser) parseJSON(e *Entry, line []byte) error {
	var (
		s      = scanner{line: line}
		absent = scalar{at: len(line)}
		nginx  = nginxLine{time: absent}
		caddy  = caddyLine{time: absent}
		status = absent
	)
	for more := s.enter('{'); more; more = s.next('}') {
		key := s.key()
		if string(key) == "status" {
			status = s.scalar()
		} else if !caddy.read(p, &s, key) && !nginx.read(&s, key) {
			s.skip()
		}
	}
	s.end()
	if s.err != nil {
		return s.err
	}

	if nginx.remoteAddr == nil && caddy.isMessage() {
		return ErrNoRequest
	}
	missing, written := "", nginx.time
	if nginx.remoteAddr == nil && caddy.hasRequest {
		missing, written = caddy.fill(p, e), caddy.time
	} else {
		missing = nginx.fill(p, e)
	}
	if missing != "" {
		return malformed(missing, len(line), missingReason)
	}
	var err error
	if e.Time, err = written.time(); err != nil {
		return err
	}
	e.Status, err = status.status()
	return err
}

const missingReason = "want a key for it in the object"

// scalar is a string or a number in a line, and where it stands. It is read when
// it is clear whose line it is: the same key may mean something else in others.
type scalar struct {
	text []byte // without quotes; nil where the line has none
	at   int
}

func (v scalar) time() (int64, error) {
	if v.text == nil {
		return 0, malformed(FieldTime, v.at, missingReason)
	}
	seconds, ok := parseTimestamp(v.text)
	if !ok {
		return 0, malformed(FieldTime, v.at, timestampReason)
	}
	return seconds, nil
}

func (v scalar) status() (int, error) {
	if v.text == nil {
		return 0, malformed(FieldStatus, v.at, missingReason)
	}
	if len(v.text) == 0 || len(v.text) > 3 || digitCount(v.text) < len(v.text) {
		return 0, malformed(FieldStatus, v.at, "want up to three digits")
	}
	status := 0
	for _, c := range v.text {
		status = status*10 + int(c-'0')
	}
	return status, nil
}
