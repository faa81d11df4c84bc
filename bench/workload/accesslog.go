package workload

import (
	"bufio"
	"cmp"
	"io"
	"slices"

	"footfall/sketch"
)

// AccessLogConfig says what log to make up. Days and Lines take their default
// where they are zero.
type AccessLogConfig struct {
	Seed  uint64
	From  sketch.Day // the first day
	Days  int        // default 60
	Lines int        // about how many lines; the truth tells exactly; default 100,000
}

// AccessLog is the log of a documentation site, in Apache's combined format and
// in order of time: people in sessions, by day and week, some of whom return; AI
// agents; crawlers that are neither; assets, errors and broken lines; and paths
// in many writings. All times are in UTC.
//
// Everything is computed again each time it is asked for. AccessLog is safe for
// concurrent use.
type AccessLog struct {
	config AccessLogConfig
	site   *site
}

// AccessLogTruth is the truth of an access log. A visitor is a pair of address
// and user agent.
type AccessLogTruth struct {
	*Truth
	Lines   int     // all of them
	Bytes   int64   // of all lines
	Views   [2]int  // page views, by sketch.Traffic
	Ignored Ignored // lines that are no view by a person or an AI agent
	// MalformedLines are the numbers, from 1, of those that cannot be read.
	MalformedLines []int
}

// Ignored counts lines by the reason why they do not count. Where several hold,
// the first one does.
type Ignored struct {
	NotView     int // not a GET, or not answered with 200-299 or 304
	NotPage     int // an asset, a feed or /robots.txt
	NoUserAgent int // sent by no one who says who
	Crawler     int // neither human nor AI
}

// NewAccessLog prepares a log. A configuration that breaks a rule is an
// ErrConfig.
func NewAccessLog(config AccessLogConfig) (*AccessLog, error) {
	config.Days = cmp.Or(config.Days, 60)
	config.Lines = cmp.Or(config.Lines, 100_000)
	for _, err := range []error{
		checkDays(config.From, config.Days),
		// Each line may be by another visitor.
		checkLimit("Lines", config.Lines, MaxVisitors/2),
	} {
		if err != nil {
			return nil, err
		}
	}
	return &AccessLog{config: config, site: newSite()}, nil
}

// Write writes the log and returns its truth. The error is w's, and then the
// truth is nil.
func (l *AccessLog) Write(w io.Writer) (*AccessLogTruth, error) {
	buffered := bufio.NewWriterSize(w, 64<<10)
	truth := &AccessLogTruth{Truth: &Truth{
		paths: l.site.paths,
		days:  sketch.Range{From: l.config.From, To: l.config.From + sketch.Day(l.config.Days)},
	}}
	var (
		crowd    = newCrowd(l.config, l.site)
		budget   = l.budget()
		visitors = make(map[client]int)
		line     []byte
		date     []byte
	)
	for day, lines := range budget {
		date = (l.config.From + sketch.Day(day)).Start().AppendFormat(date[:0], "02/Jan/2006")
		for _, r := range crowd.day(day, lines) {
			line = r.appendLine(line[:0], date)
			if _, err := buffered.Write(line); err != nil {
				return nil, err
			}
			truth.Bytes += int64(len(line))
			truth.add(&r, sketch.Day(day), visitors)
		}
	}
	if err := buffered.Flush(); err != nil {
		return nil, err
	}
	truth.visitors = len(visitors)
	slices.Sort(truth.views)
	return truth, nil
}

// budget returns about how many lines each day has: the week's rhythm.
func (l *AccessLog) budget() []int {
	// Day 0, 1970-01-01, was a Thursday, the fourth day from Sunday.
	share := func(day int) int64 { return weekdays[(int(l.config.From)+day+4)%7] }
	var all, before int64
	for day := range l.config.Days {
		all += share(day)
	}
	budget := make([]int, l.config.Days)
	lines := int64(l.config.Lines)
	for day := range budget {
		after := before + share(day)
		// The difference of two roundings, so that nothing is lost over the days.
		budget[day] = int(lines*after/all - lines*before/all)
		before = after
	}
	return budget
}

// add counts a request that was written as the next line.
func (t *AccessLogTruth) add(r *request, day sketch.Day, visitors map[client]int) {
	t.Lines++
	switch r.outcome() {
	case viewed:
		visitor, known := visitors[r.client]
		if !known {
			visitor = len(visitors)
			visitors[r.client] = visitor
		}
		t.Views[r.traffic()]++
		t.views = append(t.views, newView(r.page, visitor, r.traffic(), day))
	case malformedLine:
		t.MalformedLines = append(t.MalformedLines, t.Lines)
	case notView:
		t.Ignored.NotView++
	case notPage:
		t.Ignored.NotPage++
	case noUserAgent:
		t.Ignored.NoUserAgent++
	case otherCrawler:
		t.Ignored.Crawler++
	}
}
