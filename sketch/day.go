package sketch

import (
	"fmt"
	"time"
)

const secondsPerDay = 24 * 60 * 60

// Day is a UTC civil day, counted from 1970-01-01, which is day 0. It is a type
// of its own because a bare integer has no unit and a time.Time has a zone.
type Day int32

// The days that Footfall can hold. Events before FirstDay are refused; LastDay
// is the last one that the four-digit years of its API can name.
const (
	FirstDay Day = 10957   // 2000-01-01
	LastDay  Day = 2932896 // 9999-12-31
)

// DayOf returns the UTC day that t falls in.
func DayOf(t time.Time) Day {
	return DayOfUnix(t.Unix())
}

// DayOfUnix returns the UTC day that a Unix time, in seconds, falls in.
func DayOfUnix(seconds int64) Day {
	day := seconds / secondsPerDay
	if seconds%secondsPerDay < 0 {
		day-- // Division truncates toward zero; days round down.
	}
	return Day(day)
}

// ParseDay reads a day written as YYYY-MM-DD. The error names the rule.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a calendar day written as YYYY-MM-DD", s)
	}
	return DayOf(t), nil
}

// Start returns the instant at which d begins, in UTC.
func (d Day) Start() time.Time {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC()
}

// String writes d as YYYY-MM-DD.
func (d Day) String() string {
	return d.Start().Format(time.DateOnly)
}

// Range is a half-open run of days [From, To). It is empty when To is not after
// From.
type Range struct {
	From Day // the first day in the range
	To   Day // the first day after the range
}

// AllDays is the range that holds every day Footfall can hold.
func AllDays() Range {
	return Range{From: FirstDay, To: LastDay + 1}
}

// Empty reports whether r holds no day.
func (r Range) Empty() bool { return r.To <= r.From }

// Contains reports whether d is one of r's days.
func (r Range) Contains(d Day) bool { return r.From <= d && d < r.To }

// String writes r as [YYYY-MM-DD, YYYY-MM-DD).
func (r Range) String() string {
	return fmt.Sprintf("[%s, %s)", r.From, r.To)
}

// Intersect returns the days that are in both ranges.
func (r Range) Intersect(other Range) Range {
	return Range{From: max(r.From, other.From), To: min(r.To, other.To)}
}
