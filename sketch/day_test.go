package sketch_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"footfall/sketch"
)

func TestDayIsCountedFrom1970(t *testing.T) {
	tests := []struct {
		text string
		day  sketch.Day
	}{
		{"0000-01-01", -719528},
		{"0000-02-29", -719469},
		{"1582-10-15", -141427},
		{"1900-02-28", -25509},
		{"1900-03-01", -25508}, // 1900 is no leap year
		{"1969-12-31", -1},
		{"1970-01-01", 0},
		{"1970-01-02", 1},
		{"2000-01-01", sketch.FirstDay},
		{"2000-02-28", 11015},
		{"2000-02-29", 11016}, // 2000 is one
		{"2000-03-01", 11017},
		{"2024-02-29", 19782},
		{"2038-01-19", 24855}, // where 32-bit seconds end
		{"2100-03-01", 47541},
		{"9999-12-31", sketch.LastDay},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			day, err := sketch.ParseDay(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if day != test.day {
				t.Errorf("ParseDay is %d, expected %d", day, test.day)
			}
			if got := test.day.String(); got != test.text {
				t.Errorf("Day(%d) is written %s", test.day, got)
			}
		})
	}
}

func TestDayOfUnixRoundsDown(t *testing.T) {
	tests := []struct {
		seconds int64
		day     sketch.Day
	}{
		{0, 0},
		{86399, 0},
		{86400, 1},
		{-1, -1},
		{-86399, -1},
		{-86400, -1},
		{-86401, -2},
		{-62167219200, -719528},        // 0000-01-01T00:00:00Z
		{253402300799, sketch.LastDay}, // 9999-12-31T23:59:59Z
		{946684800, sketch.FirstDay},   // 2000-01-01T00:00:00Z
		{946684799, sketch.FirstDay - 1},
	}
	for _, test := range tests {
		if got := sketch.DayOfUnix(test.seconds); got != test.day {
			t.Errorf("DayOfUnix(%d) is %d, expected %d", test.seconds, got, test.day)
		}
	}
}

func TestDayOfIsTheUTCDay(t *testing.T) {
	tests := []struct {
		instant string
		day     string
	}{
		{"2024-03-01T00:30:00+02:00", "2024-02-29"},
		{"2024-02-28T23:30:00-01:00", "2024-02-29"},
		{"2024-02-29T23:59:59.999999999Z", "2024-02-29"},
		{"1970-01-01T00:00:00+00:01", "1969-12-31"},
		{"1969-12-31T23:59:59.5Z", "1969-12-31"},
	}
	for _, test := range tests {
		instant, err := time.Parse(time.RFC3339Nano, test.instant)
		if err != nil {
			t.Fatal(err)
		}
		if got := sketch.DayOf(instant).String(); got != test.day {
			t.Errorf("%s falls in %s, expected %s", test.instant, got, test.day)
		}
	}
}

func TestParseDayRefusesWhatIsNoCalendarDay(t *testing.T) {
	for _, text := range []string{
		"", " ", "today", "2024", "2024-02", "2024-2-9", "24-02-09", "2024-02-9",
		"2023-02-29", "1900-02-29", "2024-02-30", "2024-04-31", "2024-00-10", "2024-13-01", "2024-01-00", "2024-01-32",
		"2024/02/29", "20240229", "29-02-2024", "2024-02-29T00:00:00Z", "2024-02-29 ", " 2024-02-29", "2024-02-29\n",
		"-2024-02-29", "+2024-02-29", "10000-01-01", "2024-02--9", "2024-+2-09", "２０２４-02-29",
	} {
		if day, err := sketch.ParseDay(text); err == nil {
			t.Errorf("ParseDay(%q) is %v, expected an error", text, day)
		}
	}
}

// The calendar has its own, second implementation in the time package: noon of
// a civil date, without a division by the length of a day.
func TestDayAgreesWithTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := sketch.Day(rapid.Int32Range(-719528, int32(sketch.LastDay)).Draw(t, "day"))
		second := rapid.IntRange(0, 86399).Draw(t, "second")

		start := time.Date(1970, 1, 1+int(day), 0, 0, 0, 0, time.UTC)
		if !day.Start().Equal(start) || day.Start().Location() != time.UTC {
			t.Fatalf("day %d starts at %v, expected %v", day, day.Start(), start)
		}
		if got := sketch.DayOf(start.Add(time.Duration(second) * time.Second)); got != day {
			t.Fatalf("second %d of day %d falls in day %d", second, day, got)
		}
		if got, err := sketch.ParseDay(day.String()); err != nil || got != day {
			t.Fatalf("day %d is written %v and read as %d, %v", day, day, got, err)
		}
	})
}
