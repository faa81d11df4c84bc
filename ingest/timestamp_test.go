package ingest

import (
	"testing"
	"time"
)

// Timestamps at the rules' edges, each kept or refused.
var timestamps = []struct {
	text string
	ok   bool
}{
	{"2026-03-01T12:00:00Z", true},
	{"2026-03-01T12:00:00.1Z", true},
	{"2026-03-01T12:00:00.123456789Z", true},
	{"2026-03-01T12:00:00.1234567899999999999999999999999Z", true},
	{"2026-03-01T12:00:00.000000000000000000001+01:00", true},
	{"0000-01-01T00:00:00Z", true},
	{"0000-02-29T00:00:00+23:59", true},
	{"1969-12-31T23:59:59.5Z", true},
	{"2000-02-29T23:59:59-23:59", true},
	{"2024-02-29T12:00:00-00:00", true},
	{"9999-12-31T23:59:59.999999999-23:59", true},

	{"", false},
	{"2026-03-01T12:00:00", false},
	{"2026-03-01T12:00:00.", false},
	{"2026-03-01T12:00:00.Z", false},
	{"2026-03-01T12:00:00.5", false},
	{"2026-03-01T12:00:00,5Z", false},
	{"2026-03-01T12:00:00z", false},
	{"2026-03-01t12:00:00Z", false},
	{"2026-03-01 12:00:00Z", false},
	{"2026-03-01T2:00:00Z", false},
	{"2026-03-01T2:00:00.123Z", false},
	{"2026-03-01T24:00:00Z", false},
	{"2026-03-01T23:60:00Z", false},
	{"2026-06-30T23:59:60Z", false}, // a leap second
	{"1900-02-29T12:00:00Z", false},
	{"2026-02-29T12:00:00Z", false},
	{"2026-04-31T12:00:00Z", false},
	{"2026-00-01T12:00:00Z", false},
	{"2026-13-01T12:00:00Z", false},
	{"2026-03-00T12:00:00Z", false},
	{"2026-03-32T12:00:00Z", false},
	{"2026-3-01T12:00:00Z", false},
	{"-026-03-01T12:00:00Z", false},
	{"02026-03-01T12:00:00Z", false},
	{"2026-03-01T12:00:00+24:00", false},
	{"2026-03-01T12:00:00+01:60", false},
	{"2026-03-01T12:00:00+0100", false},
	{"2026-03-01T12:00:00+01", false},
	{"2026-03-01T12:00:00 01:00", false},
	{"2026-03-01T12:00:00*01:00", false},
	{"2026-03-01T12:00:00+01:00Z", false},
	{"2026-03-01T12:00:00ZZ", false},
	{"2026-03-01T12:00:00Z ", false},
	{" 2026-03-01T12:00:00Z", false},
	{"2026-03-01T12:00:00\x00", false},
	{"2026-03-0\xb1T12:00:00Z", false}, // 0xb1 is 1 with the highest bit
	{"\xb2026-03-01T12:00:00Z", false},
	{"２026-03-01T12:00:00Z", false},
}

// checkTimestamp holds parseTimestamp to package time, and to what that takes
// beyond RFC 3339.
func checkTimestamp(t *testing.T, text []byte) (ok bool) {
	t.Helper()
	var want time.Time
	wantOK := want.UnmarshalText(text) == nil && isStrict(text)
	seconds, nanoseconds, ok := parseTimestamp(text)
	if ok != wantOK || ok && !time.Unix(seconds, nanoseconds).Equal(want) {
		t.Errorf("%q is %d.%09d, %v, and to package time %v, %v", text, seconds, nanoseconds, ok, want, wantOK)
	}
	if ok && (nanoseconds < 0 || nanoseconds >= 1e9) {
		t.Errorf("%q has %d nanoseconds", text, nanoseconds)
	}
	return ok
}

// isStrict refuses what package time takes beyond RFC 3339 (go.dev/issue/54580).
// The text is one that it has taken.
func isStrict(text []byte) bool {
	const hour, fraction = len("2006-01-02T15"), len("2006-01-02T15:04:05")
	if len(text) <= fraction || text[hour] != ':' || text[fraction] == ',' {
		return false
	}
	if text[len(text)-1] == 'Z' {
		return true
	}
	offset := string(text[len(text)-len("07:00"):])
	return offset[:2] < "24" && offset[3:] < "60"
}

func TestTimestampsAreThoseOfPackageTime(t *testing.T) {
	for _, test := range timestamps {
		if ok := checkTimestamp(t, []byte(test.text)); ok != test.ok {
			t.Errorf("%q: %v, want %v", test.text, ok, test.ok)
		}
	}
	// One byte of a timestamp at a time is every byte.
	for _, good := range []string{"2024-02-29T23:59:58.05+09:30", "2026-11-01T00:00:00Z"} {
		text := []byte(good)
		for i := range text {
			for c := range 256 {
				text[i] = byte(c)
				checkTimestamp(t, text)
			}
			text[i] = good[i]
		}
	}
}

// Each day of 800 years, and those around.
func TestTimestampsOfAllDays(t *testing.T) {
	from := time.Date(1599, time.December, 30, 23, 59, 59, 0, time.UTC)
	var text []byte
	for day := range 801 * 366 {
		text = from.AddDate(0, 0, day).AppendFormat(text[:0], time.RFC3339)
		if !checkTimestamp(t, text) {
			t.Fatalf("%q is refused", text)
		}
	}
}

func FuzzTimestamp(f *testing.F) {
	for _, seed := range timestamps {
		f.Add([]byte(seed.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkTimestamp(t, text) })
}

func BenchmarkTimestamp(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"seconds", "2026-03-01T12:00:00Z"},
		{"milliseconds", "2026-03-01T12:00:00.123Z"},
		{"nanoseconds and offset", "2026-03-01T12:00:00.123456789+01:00"},
	} {
		text := []byte(bench.text)
		b.Run(bench.name+"/parseTimestamp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok := parseTimestamp(text); !ok {
					b.Fatal("refused")
				}
			}
		})
		b.Run(bench.name+"/package time", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var t time.Time
				if err := t.UnmarshalText(text); err != nil || !isStrict(text) {
					b.Fatal("refused")
				}
			}
		})
	}
}
