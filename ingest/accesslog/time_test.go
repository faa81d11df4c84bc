package accesslog_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"footfall/ingest/accesslog"
)

const timeLayout = "02/Jan/2006:15:04:05 -0700"

// parseTime reads a time by way of a line that holds it.
func parseTime(written string) (int64, error) {
	var p accesslog.Parser
	e, err := p.Parse(fmt.Appendf(nil, `1.2.3.4 - - [%s] "GET / HTTP/1.1" 200 1`, written))
	return e.Time, err
}

func TestTime(t *testing.T) {
	tests := map[string]int64{
		"01/Jan/1970:00:00:00 +0000": 0,
		"31/Dec/1969:23:59:59 +0000": -1,
		"17/May/2015:10:05:03 +0000": 1431857103,
		"17/May/2015:12:05:03 +0200": 1431857103,
		"17/May/2015:15:35:03 +0530": 1431857103,
		"16/May/2015:22:05:03 -1200": 1431857103,
		"18/May/2015:00:05:03 +1400": 1431857103,
		"17/May/2015:10:05:03 -0000": 1431857103,
		"29/Feb/2000:00:00:00 +0000": 951782400,
		"29/Feb/2024:23:59:59 +0000": 1709251199,
		"01/Mar/2100:00:00:00 +0000": 4107542400,
		"31/Dec/9999:23:59:59 +0000": 253402300799,
		"01/Jan/0000:00:00:00 +0000": -62167219200,
	}
	for written, want := range tests {
		if got, err := parseTime(written); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", written, got, err, want)
		}
	}
}

func TestTimeMalformed(t *testing.T) {
	for _, written := range []string{
		"00/May/2015:10:05:03 +0000",
		"32/May/2015:10:05:03 +0000",
		"31/Apr/2015:10:05:03 +0000",
		"29/Feb/2015:10:05:03 +0000",
		"29/Feb/1900:10:05:03 +0000",
		"30/Feb/2000:10:05:03 +0000",
		"17/Mai/2015:10:05:03 +0000",
		"17/MAY/2015:10:05:03 +0000",
		"17/may/2015:10:05:03 +0000",
		"17/May/2015:24:00:00 +0000",
		"17/May/2015:10:60:03 +0000",
		"17/May/2015:10:05:60 +0000",
		"17/May/2015:10:05:03 +2400",
		"17/May/2015:10:05:03 +0060",
		"17/May/2015:10:05:03  0000",
		"17/May/2015:10:05:03 00000",
		"17-May-2015:10:05:03 +0000",
		"17/May-2015:10:05:03 +0000",
		"17/May/2015 10:05:03 +0000",
		"17/May/2015:10.05:03 +0000",
		"17/May/2015:10:05.03 +0000",
		"17/May/2015:10:05:03_+0000",
		" 7/May/2015:10:05:03 +0000",
		"17/May/-015:10:05:03 +0000",
		"17/May/20 5:10:05:03 +0000",
		"17/May/2015:1O:05:03 +0000",
		"17/May/2015:10:05:03 +000a",
		"7/May/2015:10:05:03 +0000",
		"17/May/2015:10:05:03 +00000",
		"2015-05-17T10:05:03+00:00 ",
		"",
	} {
		if got, err := parseTime(written); err == nil {
			t.Errorf("%q: %d, want an error", written, got)
		}
	}
}

// Every day of an era of the Gregorian calendar, and one more at either end.
func TestTimeEveryDay(t *testing.T) {
	last := time.Date(2401, 1, 2, 0, 0, 0, 0, time.UTC)
	for day := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC); day.Before(last); day = day.AddDate(0, 0, 1) {
		if got, err := parseTime(day.Format(timeLayout)); err != nil || got != day.Unix() {
			t.Fatalf("%s: %d, %v, want %d", day.Format(timeLayout), got, err, day.Unix())
		}
	}
}

// What time.Parse reads, and writes again in the same way, is read alike; with
// any other time, the line is malformed.
func TestTimeAgreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offset := rapid.IntRange(-24*60, 24*60).Draw(t, "offset in minutes") * 60
		first := time.Date(0, 1, 3, 0, 0, 0, 0, time.UTC).Unix()
		last := time.Date(9999, 12, 29, 0, 0, 0, 0, time.UTC).Unix()
		seconds := rapid.Int64Range(first, last).Draw(t, "seconds")
		written := []byte(time.Unix(seconds, 0).In(time.FixedZone("", offset)).Format(timeLayout))
		if rapid.Bool().Draw(t, "changed") {
			at := rapid.IntRange(0, len(written)-1).Draw(t, "at")
			written[at] = rapid.SampledFrom([]byte("0123456789+-/: JanFebMry")).Draw(t, "byte")
		}

		got, err := parseTime(string(written))
		want, wantErr := time.Parse(timeLayout, string(written))
		canonical := want.Format(timeLayout) == string(written) || string(written[21:]) == "-0000"
		_, offset = want.Zone()
		valid := wantErr == nil && canonical && -24*3600 < offset && offset < 24*3600
		if valid != (err == nil) {
			t.Fatalf("%q: error %v, want valid = %t", written, err, valid)
		}
		if valid && got != want.Unix() {
			t.Fatalf("%q: %d, want %d", written, got, want.Unix())
		}
	})
}
