package accesslog_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"footfall/ingest/accesslog"
)

// parseTimestamp reads a time by way of a JSON line that holds it.
func parseTimestamp(written string) (int64, error) {
	var p accesslog.Parser
	e, err := p.Parse(fmt.Appendf(nil, `{"remote_addr":"1.2.3.4","msec":%q,"request":"","status":"200"}`, written))
	return e.Time, err
}

func TestTimestamp(t *testing.T) {
	for written, want := range map[string]int64{
		"0":                              0,
		"0.999":                          0,
		"1431857103":                     1431857103,
		"1431857103.123":                 1431857103,
		"99999999999":                    99999999999,
		"100000000000":                   100000000,
		"1431857103999.9":                1431857103,
		"1431857103999999999":            1431857103,
		"9223372036854775807":            9223372036,
		"2015-05-17T10:05:03Z":           1431857103,
		"2015-05-17T10:05:03.9Z":         1431857103,
		"2015-05-17T10:05:03.999999999Z": 1431857103,
		"2015-05-17T12:05:03+02:00":      1431857103,
		"2015-05-17T12:05:03.1+0200":     1431857103,
		"2015-05-17T05:35:03-0430":       1431857103,
		"1969-12-31T23:59:59.5Z":         -1,
		"2000-02-29T00:00:00Z":           951782400,
		"17/May/2015:12:05:03 +0200":     1431857103,
	} {
		if got, err := parseTimestamp(written); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", written, got, err, want)
		}
	}
	for _, written := range []string{
		"", "-", "-1", "+1", "1.", ".5", "1.5.", "1e9", "1 ", "0x10",
		"100000000000000", "99999999999999999", "10000000000000000000",
		"2015-05-17", "2015-05-17T10:05:03", "2015-05-17T10:05:03z", "2015-05-17 10:05:03Z",
		"2015-05-17T10:05:03.Z", "2015-05-17T10:05:03,5Z", "2015-05-17T10:05:03ZZ", "2015-05-17T10:05:03.5",
		"2015-05-17T10:05:03+02", "2015-05-17T10:05:03+2:00", "2015-05-17T10:05:03+02-00", "2015-05-17T10:05:03 0200",
		"2015-05-17T10:05:03+24:00", "2015-05-17T10:05:03+02:60", "2015-05-17T10:05Z", "2015-05-17T1:05:03Z0",
		"2015-02-29T10:05:03Z", "2015-13-01T10:05:03Z", "2015-00-01T10:05:03Z", "2015-01-00T10:05:03Z", "2015-04-31T10:05:03Z",
		"2015-05-17T24:00:00Z", "2015-05-17T10:60:00Z", "2015-05-17T10:05:60Z", "2015/05/17 10:05:03",
		"20150517T100503Z", "17/May/2015:10:05:03", "17/May/2015:10:05:60 +0000",
	} {
		if got, err := parseTimestamp(written); err == nil {
			t.Errorf("%q: %d, want an error", written, got)
		}
	}
}

func TestTimestampAgreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom([]string{time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05.000Z0700"}).Draw(t, "layout")
		zone := time.FixedZone("", rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "offset in minutes")*60)
		first := time.Date(0, 1, 3, 0, 0, 0, 0, time.UTC).Unix()
		last := time.Date(9999, 12, 29, 0, 0, 0, 0, time.UTC).Unix()
		want := time.Unix(rapid.Int64Range(first, last).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanoseconds"))
		written := want.In(zone).Format(layout)
		if got, err := parseTimestamp(written); err != nil || got != want.Unix() {
			t.Fatalf("%s: %d, %v, want %d", written, got, err, want.Unix())
		}
	})
}
