package accesslog

const timestampReason = "want a calendar time with its zone (Common Log Format, ISO 8601) or Unix time"

// parseTimestamp reads a time in any of the notations that servers write into
// JSON, told apart by their shape, as Unix seconds. Fractions of a second are cut
// off. Times without a zone are not read: they may be local.
func parseTimestamp(b []byte) (seconds int64, ok bool) {
	switch {
	case len(b) == timeLength && b[2] == '/':
		return parseTime((*[timeLength]byte)(b))
	case len(b) > dateLength && b[4] == '-':
		return parseISOTime(b)
	}
	return parseUnixTime(b)
}

const (
	dateLength  = len("2026-05-17")
	clockLength = len("10:05:03")
)

// parseISOTime reads a time of ISO 8601 with its zone, in the notations of RFC
// 3339 and of zap's ISO8601TimeEncoder: 2026-05-17T10:05:03.123Z, and for the
// zone also +02:00 or +0200.
func parseISOTime(b []byte) (seconds int64, ok bool) {
	const zoneAt = dateLength + 1 + clockLength
	if len(b) <= zoneAt || b[dateLength] != 'T' {
		return 0, false
	}
	date, ok := parseDate(b[:dateLength])
	if !ok {
		return 0, false
	}
	clock, ok := parseClock(b[dateLength+1 : zoneAt])
	if !ok {
		return 0, false
	}
	zone := b[zoneAt:]
	if zone[0] == '.' {
		digits := 1
		for digits < len(zone) && isDigit(zone[digits]) {
			digits++
		}
		if digits == 1 {
			return 0, false
		}
		zone = zone[digits:]
	}
	offset, ok := parseZone(zone)
	return date + clock - offset, ok
}

// parseDate reads a date as the Unix time of its beginning in UTC.
func parseDate(b []byte) (seconds int64, ok bool) {
	if len(b) != dateLength || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	century, yearOfCentury := twoDigits(b[0], b[1]), twoDigits(b[2], b[3])
	month, day := twoDigits(b[5], b[6]), twoDigits(b[8], b[9])
	if century > 99 || yearOfCentury > 99 || month < 1 || month > 12 {
		return 0, false
	}
	year := century*100 + yearOfCentury
	if day < 1 || day > daysIn(month, year) {
		return 0, false
	}
	return int64(daysSince1970(year, month, day)) * 86400, true
}

// parseClock reads a time of day as seconds since midnight.
func parseClock(b []byte) (seconds int64, ok bool) {
	if len(b) != clockLength || b[2] != ':' || b[5] != ':' {
		return 0, false
	}
	hour, minute, second := twoDigits(b[0], b[1]), twoDigits(b[3], b[4]), twoDigits(b[6], b[7])
	if hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	return int64(hour*3600 + minute*60 + second), true
}

// parseZone reads an offset from UTC in seconds: Z, +hh:mm or +hhmm.
func parseZone(b []byte) (seconds int64, ok bool) {
	if string(b) == "Z" {
		return 0, true
	}
	if len(b) == len("+hh:mm") && b[3] == ':' {
		b = []byte{b[0], b[1], b[2], b[4], b[5]}
	}
	if len(b) != len("+hhmm") {
		return 0, false
	}
	hour, minute := twoDigits(b[1], b[2]), twoDigits(b[3], b[4])
	if hour > 23 || minute > 59 {
		return 0, false
	}
	seconds = int64(hour*3600 + minute*60)
	switch b[0] {
	case '+':
		return seconds, true
	case '-':
		return -seconds, true
	}
	return 0, false
}

// parseUnixTime reads Unix time, in seconds, milliseconds or nanoseconds by its
// size: as seconds, 100,000,000,000 is a day in the year 5138; as milliseconds,
// one in 1973.
func parseUnixTime(b []byte) (seconds int64, ok bool) {
	const maxDigits = len("1779012303123456789") // nanoseconds
	var n uint64
	i := 0
	for i < len(b) && i < maxDigits && isDigit(b[i]) {
		n = n*10 + uint64(b[i]-'0')
		i++
	}
	if i == 0 {
		return 0, false
	}
	if fraction := b[i:]; len(fraction) > 0 {
		if fraction[0] != '.' || len(fraction) == 1 {
			return 0, false
		}
		for _, c := range fraction[1:] {
			if !isDigit(c) {
				return 0, false
			}
		}
	}
	switch {
	case n < 1e11:
		return int64(n), true
	case n < 1e14:
		return int64(n / 1e3), true
	case n >= 1e17:
		return int64(n / 1e9), true
	}
	return 0, false
}
