package ingest

import "encoding/binary"

// parseTimestamp reads a date and time of RFC 3339 as Unix time. It takes what
// package time takes, but for what that takes beyond RFC 3339: an hour of one
// digit, a comma before the fraction, offsets that are no time of day
// (go.dev/issue/54580). So T and Z are upper case, no minute has a leap second,
// and of a fraction nine digits count.
//
// Package time, with those checks after it, takes more than twice as long.
func parseTimestamp(text []byte) (seconds, nanoseconds int64, ok bool) {
	const dateTime = "2006-01-02T15:04:05"
	if len(text) <= len(dateTime) {
		return 0, 0, false
	}
	// Eight bytes at a time. The year's last digit is in the first two.
	years, yearOK := readDigits(text, 0x2d30302d30303030, 0x7f76767f76767676)                       // 0000-00-
	date, dateOK := readDigits(text[3:], 0x5430302d30302d30, 0x7f76767f76767f76)                    // 0-00-00T
	clock, clockOK := readDigits(text[len("2006-01-02T"):], 0x30303a30303a3030, 0x76767f76767f7676) // 00:00:00
	if !yearOK || !dateOK || !clockOK {
		return 0, 0, false
	}
	year, month, day := years.pair(0)*100+years.pair(2), date.pair(2), date.pair(5)
	hour, minute, second := clock.pair(0), clock.pair(3), clock.pair(6)
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, 0, false
	}
	nanoseconds, zone := cutFraction(text[len(dateTime):])
	offset, ok := parseOffset(zone)
	seconds = daysSince1970(year, month, day)*86400 + int64(hour*3600+minute*60+second) - offset
	return seconds, nanoseconds, ok
}

// digits holds the values of eight digits, a byte each; the first is the lowest.
type digits uint64

// readDigits reports whether text begins with pattern, in which 0 stands for any
// digit. slack is for each byte what is left to 0x7f from the greatest value that
// it has once the pattern is taken off: 9 of a digit, 0 of everything else. What is
// greater reaches the highest bit.
func readDigits(text []byte, pattern, slack uint64) (digits, bool) {
	values := binary.LittleEndian.Uint64(text) ^ pattern
	return digits(values), (values+slack|values)&0x8080808080808080 == 0
}

// pair returns the number that the digits at i and i+1 make.
func (d digits) pair(i int) uint64 {
	return uint64(d>>(8*i)&0xff*10 + d>>(8*i+8)&0xff)
}

// cutFraction returns the nanoseconds of the fraction that text begins with, if
// it does, and what follows.
func cutFraction(text []byte) (nanoseconds int64, rest []byte) {
	const most = 9
	if text[0] != '.' {
		return 0, text
	}
	count := 0
	for rest = text[1:]; count < len(rest) && rest[count]-'0' <= 9; count++ {
		if count < most {
			nanoseconds = nanoseconds*10 + int64(rest[count]-'0')
		}
	}
	if count == 0 {
		return 0, text
	}
	units := [most + 1]int64{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1e0}
	return nanoseconds * units[min(count, most)], rest[count:]
}

// parseOffset reads the offset from UTC: Z, +hh:mm or -hh:mm.
func parseOffset(zone []byte) (seconds int64, ok bool) {
	if len(zone) == 1 {
		return 0, zone[0] == 'Z'
	}
	if len(zone) != len("+hh:mm") || zone[3] != ':' {
		return 0, false
	}
	for _, i := range [...]int{1, 2, 4, 5} {
		if zone[i]-'0' > 9 {
			return 0, false
		}
	}
	hour := int64(zone[1]-'0')*10 + int64(zone[2]-'0')
	minute := int64(zone[4]-'0')*10 + int64(zone[5]-'0')
	if hour > 23 || minute > 59 {
		return 0, false
	}
	seconds = hour*3600 + minute*60
	switch zone[0] {
	case '+':
		return seconds, true
	case '-':
		return -seconds, true
	}
	return 0, false
}

// daysIn returns the days of a month of the Gregorian calendar.
func daysIn(year, month uint64) uint64 {
	if month == 2 {
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 30 + (month+month>>3)&1
}

// daysSince1970 counts the days to a date of the Gregorian calendar, by Howard
// Hinnant's days_from_civil (https://howardhinnant.github.io/date_algorithms.html):
// a year that begins in March ends with its leap day.
func daysSince1970(year, month, day uint64) int64 {
	const daysTo1970 = 719468 // from 0000-03-01
	if month < 3 {
		month += 12
		year--
	}
	// January of year 0 lies in year -1: an era of 400 years is added, and its
	// days are taken off.
	year += 400
	return int64(year*365+year/4-year/100+year/400+(153*(month-3)+2)/5+day-1) - 146097 - daysTo1970
}
