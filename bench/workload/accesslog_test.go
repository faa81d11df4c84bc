package workload_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/bench/workload"
	"footfall/sketch"
)

func writeLog(t testing.TB, config workload.AccessLogConfig) (string, *workload.AccessLogTruth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := newAccessLog(t, config).Write(&b)
	if err != nil {
		t.Fatalf("Write: %v", err)
	}
	return b.String(), truth
}

func TestAccessLogIsAFunctionOfItsConfig(t *testing.T) {
	config := workload.AccessLogConfig{Seed: 1, From: firstDay, Days: 10, Lines: 2_000}
	first, truth := writeLog(t, config)
	again, truthAgain := writeLog(t, config)
	if first != again {
		t.Error("the same configuration wrote another log")
	}
	if truth.Lines != truthAgain.Lines || truth.Views != truthAgain.Views || truth.Ignored != truthAgain.Ignored {
		t.Error("the same configuration has another truth")
	}
	config.Seed = 2
	if other, _ := writeLog(t, config); other == first {
		t.Error("another seed wrote the same log")
	}
}

// logLine is the combined format, as the test reads it.
var logLine = regexp.MustCompile(`^(\S+) - - \[([^\]]{26})\] "([A-Z]+) (\S+) HTTP/[12]\.[01]" (\d{3}) (?:\d+|-) "[^"]*" "([^"]*)"$`)

var (
	asset      = regexp.MustCompile(`(?i)\.(css|js|mjs|map|png|jpg|webp|svg|ico|woff2|mp4|json|xml|atom)$`)
	logEscape  = regexp.MustCompile(`\\x[0-9a-f]{2}`)
	aiMark     = regexp.MustCompile(`GPTBot|ChatGPT-User|OAI-SearchBot|Claude|Perplexity|Mistral|DuckAssist|Gemini|opencode|meta-ext|Bytespider|Amazonbot|CCBot`)
	otherMarks = regexp.MustCompile(`(?i)bot|spider|crawl|facebook|slack|curl|python|go-http`)
)

// logCounts is what the test finds in a log.
type logCounts struct {
	lines     int
	views     [2]int
	ignored   workload.Ignored
	malformed []int
	visits    []visit
}

// readLog reads a log by the rules of an import, in the plainest way.
func readLog(t *testing.T, log string) logCounts {
	t.Helper()
	var found logCounts
	for line := range strings.Lines(log) {
		found.lines++
		fields := logLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if fields == nil {
			found.malformed = append(found.malformed, found.lines)
			continue
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", fields[2])
		if err != nil {
			t.Fatalf("line %d: %v", found.lines, err)
		}
		status, _ := strconv.Atoi(fields[5]) // three digits
		page := normalise(t, fields[4])
		traffic := sketch.Human
		switch userAgent := fields[6]; {
		case fields[3] != "GET" || status/100 != 2 && status != 304:
			found.ignored.NotView++
			continue
		case page == "/robots.txt" || asset.MatchString(page):
			found.ignored.NotPage++
			continue
		case userAgent == "" || userAgent == "-":
			found.ignored.NoUserAgent++
			continue
		case aiMark.MatchString(userAgent):
			traffic = sketch.AI
		case otherMarks.MatchString(userAgent):
			found.ignored.Crawler++
			continue
		}
		found.views[traffic]++
		found.visits = append(found.visits, visit{page, fields[1] + " " + fields[6], traffic, sketch.DayOf(at)})
	}
	return found
}

// normalise takes a target to the path it means, for the targets of this log.
func normalise(t *testing.T, target string) string {
	t.Helper()
	target = logEscape.ReplaceAllStringFunc(target, func(escape string) string { return "%" + escape[2:] })
	if end := strings.IndexAny(target, "?#"); end >= 0 {
		target = target[:end]
	}
	decoded, err := url.PathUnescape(target)
	if err != nil {
		t.Fatalf("target %q: %v", target, err)
	}
	// What must stay escaped in this site is a space and a plus.
	return strings.NewReplacer(" ", "%20", "+", "%2B").Replace(path.Clean(decoded))
}

func TestAccessLogTruth(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			log, truth := writeLog(t, workload.AccessLogConfig{Seed: seed, From: firstDay, Days: 17, Lines: 2_500})
			found := readLog(t, log)
			if truth.Lines != found.lines || truth.Bytes != int64(len(log)) {
				t.Errorf("truth has %d lines of %d bytes, the log %d of %d", truth.Lines, truth.Bytes, found.lines, len(log))
			}
			if truth.Views != found.views {
				t.Errorf("truth has views %v, the log %v", truth.Views, found.views)
			}
			if truth.Ignored != found.ignored {
				t.Errorf("truth has ignored %+v, the log %+v", truth.Ignored, found.ignored)
			}
			if !slices.Equal(truth.MalformedLines, found.malformed) {
				t.Errorf("truth has malformed lines %v, the log %v", truth.MalformedLines, found.malformed)
			}
			checkRecount(t, truth.Truth, found.visits)
		})
	}
}

// Every reader of a log must be put to the test, so every kind of line must be
// there, in about the proportions of a real site.
func TestAccessLogProportions(t *testing.T) {
	config := workload.AccessLogConfig{Seed: 7, From: firstDay}
	log, truth := writeLog(t, config)
	if truth.Days() != (sketch.Range{From: firstDay, To: firstDay + 60}) {
		t.Errorf("the default log's days are %v", truth.Days())
	}
	share := func(name string, part int, low, high float64) {
		t.Helper()
		if got := float64(part) / float64(truth.Lines); got < low || got > high {
			t.Errorf("%s is %.3f of the lines, want %.3f to %.3f", name, got, low, high)
		}
	}
	if truth.Lines < 98_000 || truth.Lines > 102_000 {
		t.Errorf("%d lines, want about 100,000", truth.Lines)
	}
	share("human views", truth.Views[sketch.Human], 0.25, 0.35)
	share("AI views", truth.Views[sketch.AI], 0.18, 0.28)
	share("not a page", truth.Ignored.NotPage, 0.3, 0.45)
	share("not a view", truth.Ignored.NotView, 0.03, 0.06)
	share("crawlers", truth.Ignored.Crawler, 0.04, 0.08)
	share("no user agent", truth.Ignored.NoUserAgent, 0.004, 0.012)
	if len(truth.MalformedLines) != 15 {
		t.Errorf("%d malformed lines, want 15", len(truth.MalformedLines))
	}
	for _, text := range []string{
		" 304 - ", " 301 ", " 404 ", " 500 ", `"HEAD /`, `"POST /`, "?utm_source=", "#overview", "%2D", "%2d", `caf\xc3\xa9`, "caf%c3%a9", "caf%C3%A9", "//", `"-" ""`,
		"2001:db8:", "/llms.txt", ".md HTTP/",
	} {
		if !strings.Contains(log, text) {
			t.Errorf("the log holds no %q", text)
		}
	}

	totals, rows := truth.Count(sketch.AllDays())
	if len(rows) != 122 {
		t.Errorf("%d paths, want 122", len(rows))
	}
	if rows[0].Path != "/" {
		t.Errorf("the top path is %q", rows[0].Path)
	}
	if most, limit := rows[0].Visitors.Total, sketch.PathPrecision.ExactLimit(); most > uint64(limit) {
		t.Errorf("the top path has %d visitors, a sketch counts %d exactly", most, limit)
	}
	var daily, weekend, weekdays uint64
	for day := firstDay; day < firstDay+56; day++ {
		count, _ := truth.Count(sketch.Range{From: day, To: day + 1})
		daily += count.Visitors.Total
		if weekday := day.Start().Weekday(); weekday == time.Saturday || weekday == time.Sunday {
			weekend += count.Views[sketch.Human]
		} else {
			weekdays += count.Views[sketch.Human]
		}
	}
	if daily < totals.Visitors.Total*3/2 {
		t.Errorf("%d visitors on all days, %d by day: too few return", totals.Visitors.Total, daily)
	}
	if ratio := float64(weekend) / 2 / (float64(weekdays) / 5); ratio < 0.35 || ratio > 0.55 {
		t.Errorf("a day of the weekend has %.2f of the views of another day", ratio)
	}
	night, noon := strings.Count(log, "2026:03:"), strings.Count(log, "2026:14:")
	if night*4 > noon*3 {
		t.Errorf("%d lines at night, %d by day", night, noon)
	}
}

func TestAccessLogOrderAndAddresses(t *testing.T) {
	var allowed []netip.Prefix
	for _, prefix := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15", "10.0.0.0/8", "2001:db8::/32"} {
		allowed = append(allowed, netip.MustParsePrefix(prefix))
	}
	log, _ := writeLog(t, workload.AccessLogConfig{Seed: 3, From: firstDay, Days: 12, Lines: 20_000})
	var last time.Time
	used := map[netip.Prefix]bool{}
	for line := range strings.Lines(log) {
		fields := logLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if fields == nil {
			continue
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", fields[2])
		if err != nil {
			t.Fatal(err)
		}
		if at.Before(last) {
			t.Fatalf("%v follows %v", at, last)
		}
		last = at
		address, err := netip.ParseAddr(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(allowed, func(p netip.Prefix) bool { return p.Contains(address) })
		if i < 0 {
			t.Fatalf("%v is someone's address", address)
		}
		used[allowed[i]] = true
	}
	if len(used) != len(allowed) {
		t.Errorf("addresses are only of %v", used)
	}
}

func TestAccessLogOfOneDayAndFewLines(t *testing.T) {
	log, truth := writeLog(t, workload.AccessLogConfig{Seed: 1, From: firstDay, Days: 1, Lines: 1})
	if truth.Lines == 0 || truth.Lines != strings.Count(log, "\n") {
		t.Errorf("%d lines in the truth, %d in the log", truth.Lines, strings.Count(log, "\n"))
	}
}

func TestAccessLogReportsTheWritersError(t *testing.T) {
	r, w := io.Pipe()
	broken := errors.New("disk is full")
	if err := r.CloseWithError(broken); err != nil {
		t.Fatal(err)
	}
	truth, err := newAccessLog(t, workload.AccessLogConfig{From: firstDay, Days: 1, Lines: 10}).Write(w)
	if !errors.Is(err, broken) || truth != nil {
		t.Errorf("Write to a broken writer: %v, %v", truth, err)
	}
}
