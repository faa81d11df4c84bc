package workload

import (
	"bytes"
	"net/netip"
	"strconv"

	"footfall/sketch"
)

// client is who asks: in an access log, a visitor is the pair of address and
// user agent.
type client struct {
	address   netip.Addr
	userAgent string
	reader    reader
}

// reader is what a client is.
type reader uint8

const (
	human reader = iota
	aiAgent
	crawler  // neither human nor AI
	nameless // sends no user agent
)

// request is one line of the log before it is written.
type request struct {
	at      int64 // seconds from the start of the first day
	client  client
	method  string
	target  string
	page    int // of the site, or noPage
	status  int
	size    int // of the answer, in bytes
	referer string
	damage  damage
}

const noPage = -1

// damage is what is wrong with a line that cannot be read.
type damage uint8

const (
	undamaged      damage = iota
	cutInUserAgent        // as by a full disk
	cutInRequest
	foreignLine // of the error log
	withoutTime
	damages
)

// outcome is what a line is to an import.
type outcome uint8

const (
	viewed outcome = iota
	malformedLine
	notView
	notPage
	noUserAgent
	otherCrawler
)

// outcome follows from what the request was made to be; where several reasons
// hold, the first one counts.
func (r *request) outcome() outcome {
	switch {
	case r.damage != undamaged:
		return malformedLine
	case r.method != "GET" || r.status != 200 && r.status != 304:
		return notView
	case r.page == noPage:
		return notPage
	case r.client.reader == nameless:
		return noUserAgent
	case r.client.reader == crawler:
		return otherCrawler
	}
	return viewed
}

func (r *request) traffic() sketch.Traffic {
	if r.client.reader == aiAgent {
		return sketch.AI
	}
	return sketch.Human
}

// appendLine writes the request in Apache's combined format
// (https://httpd.apache.org/docs/2.4/logs.html#combined), with a line feed. The
// date is that of the request's day, as the format has it: 02/Jan/2006.
func (r *request) appendLine(dst, date []byte) []byte {
	start := len(dst)
	dst = r.client.address.AppendTo(dst)
	dst = append(dst, " - - ["...)
	dst = append(dst, date...)
	dst = append(dst, ':')
	dst = appendClock(dst, r.at%secondsPerDay)
	dst = append(dst, ` +0000] "`...)
	dst = append(dst, r.method...)
	dst = append(dst, ' ')
	dst = append(dst, r.target...)
	if r.client.reader == human {
		dst = append(dst, ` HTTP/2.0" `...)
	} else {
		dst = append(dst, ` HTTP/1.1" `...)
	}
	dst = strconv.AppendInt(dst, int64(r.status), 10)
	dst = append(dst, ' ')
	if r.status == 304 || r.method == "HEAD" {
		dst = append(dst, '-')
	} else {
		dst = strconv.AppendInt(dst, int64(r.size), 10)
	}
	dst = append(dst, ` "`...)
	dst = append(dst, r.referer...)
	dst = append(dst, `" "`...)
	dst = append(dst, r.client.userAgent...)
	dst = append(dst, '"')
	dst = r.damage.do(dst, start)
	return append(dst, '\n')
}

// do damages the line that starts at dst[start:].
func (d damage) do(dst []byte, start int) []byte {
	switch line := dst[start:]; d {
	case cutInUserAgent:
		return dst[:len(dst)-9]
	case cutInRequest:
		return dst[:start+bytes.Index(line, []byte(" HTTP/"))]
	case foreignLine:
		return append(dst[:start], `[core:error] [pid 4711] [client 198.18.0.7:51234] AH00126: Invalid URI in request \x16\x03\x01`...)
	case withoutTime:
		from, to := bytes.IndexByte(line, '['), bytes.IndexByte(line, ']')
		return append(dst[:start+from+1], line[to:]...)
	}
	return dst
}
