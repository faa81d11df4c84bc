package accesslog

const (
	timeLength = len("17/May/2015:10:05:03 +0000")
	timeReason = "want a calendar time written as [dd/Mon/yyyy:hh:mm:ss +hhmm]"
)

// parseTime reads the time of the Common Log Format, without its brackets, as
// Unix seconds. It reports false unless b names a real second of the Gregorian
// calendar. A leap second is none: Unix time cannot name it.
//
// time.Parse takes 100 ns or more for it, a good part of what a line may cost,
// and accepts months in any case and offsets of more than a day.
func parseTime(b *[timeLength]byte) (seconds int64, ok bool) {
	if b[2] != '/' || b[6] != '/' || b[11] != ':' || b[14] != ':' || b[17] != ':' || b[20] != ' ' {
		return 0, false
	}
	month := parseMonth(b[3], b[4], b[5])
	day := twoDigits(b[0], b[1])
	century, yearOfCentury := twoDigits(b[7], b[8]), twoDigits(b[9], b[10])
	hour, minute, second := twoDigits(b[12], b[13]), twoDigits(b[15], b[16]), twoDigits(b[18], b[19])
	offsetHour, offsetMinute := twoDigits(b[22], b[23]), twoDigits(b[24], b[25])
	// A pair that is no number is notDigits, which exceeds every bound here.
	if month == 0 || century > 99 || yearOfCentury > 99 || hour > 23 || minute > 59 || second > 59 ||
		offsetHour > 23 || offsetMinute > 59 {
		return 0, false
	}
	year := century*100 + yearOfCentury
	if day < 1 || day > daysIn(month, year) {
		return 0, false
	}
	offset := offsetHour*3600 + offsetMinute*60
	switch b[21] {
	case '+':
	case '-':
		offset = -offset
	default:
		return 0, false
	}
	return int64(daysSince1970(year, month, day))*86400 + int64(hour*3600+minute*60+second-offset), true
}

// notDigits is more than any two digits can say.
const notDigits = 1000

func twoDigits(tens, ones byte) int {
	if !isDigit(tens) || !isDigit(ones) {
		return notDigits
	}
	return int(tens-'0')*10 + int(ones-'0')
}

// parseMonth returns 1 to 12, or 0 for what is no month. Apache and nginx write
// English abbreviations whatever their locale.
func parseMonth(a, b, c byte) int {
	switch uint32(a)<<16 | uint32(b)<<8 | uint32(c) {
	case 'J'<<16 | 'a'<<8 | 'n':
		return 1
	case 'F'<<16 | 'e'<<8 | 'b':
		return 2
	case 'M'<<16 | 'a'<<8 | 'r':
		return 3
	case 'A'<<16 | 'p'<<8 | 'r':
		return 4
	case 'M'<<16 | 'a'<<8 | 'y':
		return 5
	case 'J'<<16 | 'u'<<8 | 'n':
		return 6
	case 'J'<<16 | 'u'<<8 | 'l':
		return 7
	case 'A'<<16 | 'u'<<8 | 'g':
		return 8
	case 'S'<<16 | 'e'<<8 | 'p':
		return 9
	case 'O'<<16 | 'c'<<8 | 't':
		return 10
	case 'N'<<16 | 'o'<<8 | 'v':
		return 11
	case 'D'<<16 | 'e'<<8 | 'c':
		return 12
	}
	return 0
}

func daysIn(month, year int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSince1970 counts the days to a date of the Gregorian calendar, by Howard
// Hinnant's days_from_civil (https://howardhinnant.github.io/date_algorithms.html).
// Its year starts in March, so that a leap day is the last of one. year is not
// negative.
func daysSince1970(year, month, day int) int {
	const daysTo1970 = 719468 // from 0000-03-01
	month -= 3
	if month < 0 {
		month += 12
		year--
	}
	// January of year 0 lies in year -1: one era of 400 years is added, and its
	// days taken off again.
	year += 400
	return year*365 + year/4 - year/100 + year/400 + (153*month+2)/5 + day - 1 - 146097 - daysTo1970
}
