package accesslog

import "bytes"

// Parser reads log lines. It keeps one buffer, for fields that do not stand in
// the line as they are, so that usual lines allocate nothing. The zero value is
// ready; a Parser is not for concurrent use.
type Parser struct {
	unescaped []byte
}

// Parse reads one line, given without its line feed; a carriage return before
// that is ignored. The error is ErrNoRequest, or a *SyntaxError. Parse takes time
// in proportion to the line and keeps at most a few times as many bytes: bounding
// its length is up to the caller. (Apache and nginx by default refuse a request
// line or header of more than 8 KiB, and an escape makes up to six bytes of one.)
//
// A combined line that was cut off in its bytes field, or right after it, looks
// like a whole one in the common format, and is taken for it.
func (p *Parser) Parse(line []byte) (e Entry, err error) {
	p.unescaped = p.unescaped[:0]
	line = bytes.TrimSuffix(line, []byte("\r"))
	// What a format begins with, none of the others can.
	switch {
	case len(line) == 0:
		err = p.parseCombined(&e, line)
	case line[0] == '{':
		err = p.parseJSON(&e, line)
	case line[0] == '#':
		err = ErrNoRequest
	case isCloudFront(line):
		err = p.parseCloudFront(&e, line)
	case isALB(line):
		err = p.parseALB(&e, line)
	default:
		err = p.parseCombined(&e, line)
	}
	if err != nil {
		return Entry{}, err
	}
	return e, nil
}

func isDigit(c byte) bool { return c-'0' <= 9 }
