package accesslog

import "bytes"

// The fields of a line in CloudFront's standard log that are read, counted from
// 0, and how many there are. A line has them in this order, separated by tabs;
// the file's two comment lines, #Version: 1.0 and #Fields, say the same for each
// (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html).
// Lines from before December 2019, which have fewer, and from before 2015, which
// have no x-forwarded-for, cannot be told from ones that were cut off.
const (
	cloudFrontDate         = 0
	cloudFrontTime         = 1
	cloudFrontClient       = 4  // c-ip
	cloudFrontMethod       = 5  // cs-method
	cloudFrontStem         = 7  // cs-uri-stem
	cloudFrontStatus       = 8  // sc-status
	cloudFrontUserAgent    = 10 // cs(User-Agent)
	cloudFrontQuery        = 11 // cs-uri-query
	cloudFrontForwardedFor = 19 // x-forwarded-for
	cloudFrontFields       = 33
)

// isCloudFront reports whether line begins with a date and a tab.
func isCloudFront(line []byte) bool {
	return len(line) > dateLength && line[dateLength] == '\t' && line[4] == '-'
}

// parseCloudFront reads a line of CloudFront's standard log into e. Fields after
// those that are documented are ignored.
func (p *Parser) parseCloudFront(e *Entry, line []byte) error {
	var start [cloudFrontForwardedFor + 2]int
	for i := 1; i < len(start); i++ {
		length := bytes.IndexByte(line[start[i-1]:], '\t')
		if length < 0 {
			return malformed(FieldOther, len(line), "want 33 fields separated by tabs")
		}
		start[i] = start[i-1] + length + 1
	}
	// The tabs between the fields that follow. The last one must not be empty:
	// its end cannot be told.
	rest := line[start[len(start)-1]:]
	const restTabs = cloudFrontFields - len(start)
	if tabs := bytes.Count(rest, []byte("\t")); tabs < restTabs || tabs == restTabs && rest[len(rest)-1] == '\t' {
		return malformed(FieldOther, len(line), "want 33 fields separated by tabs")
	}
	field := func(i int) []byte { return line[start[i] : start[i+1]-1] }

	date, ok := parseDate(field(cloudFrontDate))
	if !ok {
		return malformed(FieldTime, 0, "want a date written as yyyy-mm-dd")
	}
	clock, ok := parseClock(field(cloudFrontTime))
	if !ok {
		return malformed(FieldTime, start[cloudFrontTime], "want a time written as hh:mm:ss")
	}
	e.Time = date + clock
	if e.Host = field(cloudFrontClient); !isAddress(e.Host) {
		return malformed(FieldHost, start[cloudFrontClient], "want an IP address")
	}
	method, stem := field(cloudFrontMethod), field(cloudFrontStem)
	if !isToken(method) {
		return malformed(FieldRequest, start[cloudFrontMethod], "want a method")
	}
	if len(stem) == 0 {
		return malformed(FieldRequest, start[cloudFrontStem], "want a path")
	}
	e.setRequest(method, p.cloudFrontTarget(stem, field(cloudFrontQuery)))
	status := field(cloudFrontStatus)
	if len(status) != 3 || digitCount(status) != 3 {
		return malformed(FieldStatus, start[cloudFrontStatus], "want three digits")
	}
	e.Status = int(status[0]-'0')*100 + int(status[1]-'0')*10 + int(status[2]-'0')
	e.UserAgent = p.percentDecoded(field(cloudFrontUserAgent))
	e.HasUserAgent = true
	e.ForwardedFor = present(p.percentDecoded(field(cloudFrontForwardedFor)))
	return nil
}

// cloudFrontTarget puts path and query together, "-" being no query. CloudFront
// encodes what a target cannot hold, and the percent signs that a client sent,
// which makes %2520 of %20. Only the percent signs are taken back: all else means
// the same encoded, while taking back %23 or %3F would end the path there.
func (p *Parser) cloudFrontTarget(stem, query []byte) []byte {
	if string(query) == "-" {
		query = nil
	}
	if query == nil && bytes.IndexByte(stem, '%') < 0 {
		return stem
	}
	start := len(p.unescaped)
	p.unescaped = appendPercentSigns(p.unescaped, stem)
	if query != nil {
		p.unescaped = append(p.unescaped, '?')
		p.unescaped = appendPercentSigns(p.unescaped, query)
	}
	return p.unescaped[start:]
}

// appendPercentSigns appends field, with %25 as a percent sign.
func appendPercentSigns(dst, field []byte) []byte {
	for {
		before, after, found := bytes.Cut(field, []byte("%25"))
		dst = append(dst, before...)
		if !found {
			return dst
		}
		dst = append(dst, '%')
		field = after
	}
}

// percentDecoded takes back the percent-encoding of a header, which clients do
// not encode themselves. AWS documents one; logs of some years have two, with
// %2520 for a space. In those, every percent sign was encoded: where a header was
// encoded once, that is so only if it has percent signs of its own, but no space.
func (p *Parser) percentDecoded(field []byte) []byte {
	signs := bytes.Count(field, []byte("%"))
	if signs == 0 {
		return field
	}
	twice := bytes.Count(field, []byte("%25")) == signs
	start := len(p.unescaped)
	p.unescaped = appendDecoded(p.unescaped, field)
	if twice { // In place: what is decoded is never longer.
		p.unescaped = appendDecoded(p.unescaped[:start], p.unescaped[start:])
	}
	return p.unescaped[start:]
}

// appendDecoded appends field without its percent-encoding. A percent sign that
// begins no escape stays.
func appendDecoded(dst, field []byte) []byte {
	for {
		sign := bytes.IndexByte(field, '%')
		if sign < 0 {
			return append(dst, field...)
		}
		dst = append(dst, field[:sign]...)
		field = field[sign:]
		if len(field) > 2 {
			if high, low := hexDigit(field[1]), hexDigit(field[2]); high <= 15 && low <= 15 {
				dst = append(dst, high<<4|low)
				field = field[3:]
				continue
			}
		}
		dst = append(dst, '%')
		field = field[1:]
	}
}
