package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/netip"
	"time"

	"footfall/ingest/accesslog"
	"footfall/internal/access"
	"footfall/internal/forwarded"
	"footfall/sketch"
)

// Chunk is a part of an access log: lines, and where in the log they stand.
type Chunk struct {
	Source sketch.Source
	From   int64 // offset of Data in the log, in uncompressed bytes
	Lines  int64 // lines of the log before Data
	Data   []byte
	// Inside says that Data begins with the rest of a line that was counted.
	Inside bool
	// End says that the log ends with Data, as far as is known now.
	End bool
	// Traffic is what a line counts as whose format has no user agent. nil means
	// that such lines are ignored: nothing tells people from agents in them.
	Traffic *sketch.Traffic
	// Trusted are the proxies whose X-Forwarded-For is believed, where the log
	// holds it.
	Trusted forwarded.Trusted
}

// Reasons why a line is ignored.
const (
	IgnoredNotView           = "not a GET that was answered with 200-299 or 304"
	IgnoredNotPage           = "not a page"
	IgnoredNoUserAgent       = "no user agent"
	IgnoredNoFormatUserAgent = "a format without user agents"
	IgnoredCrawler           = "crawler that is neither human nor AI"
	IgnoredPath              = "path is not valid"
	IgnoredTime              = "time is before 2000 or more than 24 hours ahead"
	IgnoredNotViewOrCrawler  = "event that is no page view, or of a crawler"
)

// Report says what became of the lines of a chunk, or of many.
type Report struct {
	Lines     int64            `json:"lines"`
	Human     int64            `json:"human"` // views
	AI        int64            `json:"ai"`    // views
	Ignored   map[string]int64 `json:"ignored"`
	Malformed int64            `json:"malformed"`
	// MalformedLines are the numbers, from 1, of the first malformed lines.
	MalformedLines []int64 `json:"malformedLines"`
	// Mark is where the source's next chunk begins.
	Mark sketch.Mark `json:"mark"`
}

// maxMalformedLines bounds the line numbers that a report lists.
const maxMalformedLines = 20

// Add counts the lines of another report, of what follows, to r.
func (r *Report) Add(other Report) {
	r.Lines += other.Lines
	r.Human += other.Human
	r.AI += other.AI
	r.Malformed += other.Malformed
	for reason, n := range other.Ignored {
		r.ignore(reason, n)
	}
	for _, line := range other.MalformedLines {
		if len(r.MalformedLines) < maxMalformedLines {
			r.MalformedLines = append(r.MalformedLines, line)
		}
	}
	r.Mark = other.Mark
}

func (r *Report) ignore(reason string, n int64) {
	if r.Ignored == nil {
		r.Ignored = make(map[string]int64)
	}
	r.Ignored[reason] += n
}

// Import commits the views of a chunk together with the offset behind it, so
// that a line counts once however often an import is stopped and begun again.
// sketch.ErrSourceMoved says that the source was not imported up to chunk.From.
//
// A line without an end at the end of the log is taken when it is whole as far
// as can be told: it has a user agent with its closing quote. Else it is left
// for the next import, and the report's mark stands before it.
func (p *Pipeline) Import(ctx context.Context, project access.Project, chunk Chunk) (Report, error) {
	in := p.takeReader(project.Secret)
	defer p.giveBack(in)
	report := Report{Mark: sketch.Mark{Source: chunk.Source, From: chunk.From, Lines: chunk.Lines}}
	l := &lineReader{
		validator: in.validator,
		traffic:   chunk.Traffic,
		trusted:   chunk.Trusted,
		report:    &report,
	}
	rest := chunk.Data
	if chunk.Inside {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	for len(rest) > 0 {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if !ended && chunk.End && !l.whole(line) {
			break
		}
		report.Mark.Lines++
		l.take(line)
		rest = after
	}
	if chunk.From == 0 && chunk.End && report.Lines == 0 {
		// Comments alone would name the log by what every log of its kind begins
		// with.
		rest, report.Mark.Lines = chunk.Data, 0
	}
	taken := chunk.Data[:len(chunk.Data)-len(rest)]
	report.Mark.To = chunk.From + int64(len(taken))
	report.Mark.Tail = sha256.Sum256(taken[report.Mark.TailStart()-chunk.From:])
	if len(taken) == 0 {
		return report, nil
	}
	batch := in.validator.batch(project.Number)
	batch.Mark = report.Mark
	if err := p.store.Commit(ctx, batch); err != nil {
		return Report{}, err
	}
	p.metrics.accept(in.validator.views)
	p.metrics.bytes.Add(float64(len(taken)))
	p.metrics.logLines.Add(float64(report.Lines))
	p.metrics.logFaults.Add(float64(report.Malformed))
	p.metrics.ignored.Add(float64(report.ignored()))
	return report, nil
}

func (r *Report) ignored() (n int64) {
	for _, lines := range r.Ignored {
		n += lines
	}
	return n
}

// lineReader makes visits of the lines of one chunk.
type lineReader struct {
	validator *validator
	traffic   *sketch.Traffic
	trusted   forwarded.Trusted
	report    *Report
	parser    accesslog.Parser
	decoder   *decoder // of events; made for the first one
}

// whole reports whether a line that has no end is not cut off. Where proxies are
// trusted, the client's address may follow the user agent.
func (l *lineReader) whole(line []byte) bool {
	entry, err := l.parser.Parse(line)
	return err == nil && entry.HasUserAgent && (len(l.trusted) == 0 || entry.ForwardedFor != nil)
}

func (l *lineReader) take(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	entry, err := l.parser.Parse(line)
	if errors.Is(err, accesslog.ErrNoRequest) {
		return // A comment, or what a server writes beside its requests.
	}
	l.report.Lines++
	var traffic sketch.Traffic
	var reason string
	switch {
	case err == nil:
		traffic, reason = l.request(&entry)
	case isEvent(line):
		traffic, reason, err = l.event(line)
	}
	switch {
	case err != nil:
		l.report.Malformed++
		if len(l.report.MalformedLines) < maxMalformedLines {
			l.report.MalformedLines = append(l.report.MalformedLines, l.report.Mark.Lines)
		}
	case reason != "":
		l.report.ignore(reason, 1)
	case traffic == sketch.AI:
		l.report.AI++
	default:
		l.report.Human++
	}
}

// isEvent tells the lines of exported events (envelope.go) from those of logs.
func isEvent(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, space), []byte("{")) && bytes.Contains(line, []byte(`"eventType"`))
}

// event takes a line that is an event, or gives the reason to ignore it, or an
// error for one that breaks a rule.
func (l *lineReader) event(line []byte) (traffic sketch.Traffic, reason string, err error) {
	if l.decoder == nil {
		l.decoder = newDecoder(l.validator.pipeline.maxLine)
	}
	e, err := l.decoder.object(bytes.Trim(line, space))
	if err != nil {
		return 0, "", err
	}
	traffic, counted, err := l.validator.event(e)
	if err == nil && !counted {
		reason = IgnoredNotViewOrCrawler
	}
	return traffic, reason, err
}

// request takes the line of a request, or gives the reason to ignore it.
func (l *lineReader) request(entry *accesslog.Entry) (traffic sketch.Traffic, reason string) {
	if !accesslog.IsView(entry.Method, entry.Status) {
		return 0, IgnoredNotView
	}
	path, err := l.validator.paths.normalise(entry.Target)
	if err != nil {
		return 0, IgnoredPath
	}
	if !accesslog.IsPage(path) {
		return 0, IgnoredNotPage
	}
	day, err := l.validator.dayOf(time.Unix(entry.Time, 0))
	if err != nil {
		return 0, IgnoredTime
	}
	switch {
	case entry.HasUserAgent && (len(entry.UserAgent) == 0 || string(entry.UserAgent) == "-"):
		return 0, IgnoredNoUserAgent
	case entry.HasUserAgent:
		counted := false
		if traffic, counted = l.validator.pipeline.classify(string(entry.UserAgent)); !counted {
			return 0, IgnoredCrawler
		}
	case l.traffic == nil:
		return 0, IgnoredNoFormatUserAgent
	default:
		traffic = *l.traffic
	}
	l.validator.add(path, l.visitor(entry), day, traffic)
	return traffic, ""
}

// visitor hashes the client of a request.
func (l *lineReader) visitor(entry *accesslog.Entry) sketch.Hash {
	addr, err := netip.ParseAddr(string(entry.Host))
	if err != nil {
		return l.validator.hasher.host(entry.Host, entry.UserAgent)
	}
	if entry.ForwardedFor != nil {
		addr = l.trusted.Client(addr, entry.ForwardedFor)
	}
	return l.validator.hasher.address(addr, entry.UserAgent)
}
