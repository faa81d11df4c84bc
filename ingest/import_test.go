package ingest_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/ingest"
	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/sketch"
)

// project is whose logs are imported.
var project = access.Project{ID: "docs", Number: 7, Secret: [16]byte{1, 2, 3}}

const logTime = "28/Feb/2026:23:59:59 +0000"

// combined is a line of a log, without its end.
func combined(host, request string, status int, userAgent string) string {
	return fmt.Sprintf(`%s - - [%s] "%s" %d 512 "-" "%s"`, host, logTime, request, status, userAgent)
}

// view is a line that counts.
func view(host, path string) string {
	return combined(host, "GET "+path+" HTTP/1.1", 200, browser)
}

// common is a line in the format without a user agent.
func common(host, path string) string {
	return fmt.Sprintf(`%s - - [%s] "GET %s HTTP/1.1" 200 512`, host, logTime, path)
}

// chunkOf is a whole log in one chunk.
func chunkOf(log string) ingest.Chunk {
	return ingest.Chunk{Source: sketch.SourceOf([]byte(log)), Data: []byte(log), End: true}
}

func importChunk(t *testing.T, p *ingest.Pipeline, chunk ingest.Chunk) ingest.Report {
	t.Helper()
	report, err := p.Import(t.Context(), project, chunk)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestWhatBecomesOfALine(t *testing.T) {
	committed := new(batches)
	p := newPipeline(t, committed)
	at := func(time string) string { return strings.Replace(view("192.0.2.1", "/a"), logTime, time, 1) }
	get := func(target string) string { return combined("192.0.2.1", "GET "+target+" HTTP/1.1", 200, browser) }
	const human, ai, malformed, blank = "human", "ai", "malformed", "blank"
	tests := []struct {
		line string
		want string // human, ai, malformed, blank, or the reason why it is ignored
		path string
	}{
		{view("192.0.2.1", "/a"), human, "/a"},
		{view("192.0.2.1", "/a") + "\r", human, "/a"},
		{view("2001:db8::1", "/a"), human, "/a"},
		{view("client.example", "/a"), human, "/a"},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 200, agent), ai, "/a"},
		{combined("192.0.2.1", "GET /a HTTP/2.0", 206, browser), human, "/a"},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 299, browser), human, "/a"},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 304, browser), human, "/a"},
		{get("/a/?q=1#x"), human, "/a"},
		{get("http://example.org/a"), human, "/a"},
		{get("/%67uide//x/"), human, "/guide/x"},
		{get("/style.css?v=1/"), ingest.IgnoredNotPage, ""},

		{combined("192.0.2.1", "POST /a HTTP/1.1", 200, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "HEAD /a HTTP/1.1", 200, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "get /a HTTP/1.1", 200, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 199, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 301, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 303, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 404, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 500, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "-", 400, browser), ingest.IgnoredNotView, ""},
		{combined("192.0.2.1", "-", 200, browser), ingest.IgnoredNotView, ""},

		{get("/style.css"), ingest.IgnoredNotPage, ""},
		{get("/STYLE.CSS"), ingest.IgnoredNotPage, ""},
		{get("/style%2Ecss"), ingest.IgnoredNotPage, ""},
		{get("/feed.xml"), ingest.IgnoredNotPage, ""},
		{get("/robots.txt"), ingest.IgnoredNotPage, ""},
		{get("//robots.txt?x"), ingest.IgnoredNotPage, ""},
		{get("/docs/robots.txt"), human, "/docs/robots.txt"},
		{get("/llms.txt"), human, "/llms.txt"},
		{get("/guide.md"), human, "/guide.md"},
		{get("/guide.html"), human, "/guide.html"},
		{get("/v1.2/guide"), human, "/v1.2/guide"},

		{get("/" + strings.Repeat("x", 1024)), ingest.IgnoredPath, ""},
		{get("/a%00"), ingest.IgnoredPath, ""},
		{get("/a%0ab"), ingest.IgnoredPath, ""},
		{get(`/a\x00`), ingest.IgnoredPath, ""},
		{get(`/a\xffb`), ingest.IgnoredPath, ""},
		{get("/a\xffb"), ingest.IgnoredPath, ""},
		{get(`/\xc3\xb6`), human, "/ö"},

		{at("01/Jan/2000:00:00:00 +0000"), human, "/a"},
		{at("31/Dec/1999:23:59:59 +0000"), ingest.IgnoredTime, ""},
		{at("01/Jan/2000:00:59:59 +0100"), ingest.IgnoredTime, ""},
		{at("02/Mar/2026:12:00:00 +0000"), human, "/a"},
		{at("02/Mar/2026:12:00:01 +0000"), ingest.IgnoredTime, ""},

		{combined("192.0.2.1", "GET /a HTTP/1.1", 200, ""), ingest.IgnoredNoUserAgent, ""},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 200, "-"), ingest.IgnoredNoUserAgent, ""},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 200, crawler), ingest.IgnoredCrawler, ""},
		{common("192.0.2.1", "/a"), ingest.IgnoredNoFormatUserAgent, ""},
		{common("192.0.2.1", "/a.css"), ingest.IgnoredNotPage, ""},

		{"nonsense", malformed, ""},
		{at("30/Feb/2026:12:00:00 +0000"), malformed, ""},
		{view("192.0.2.1", "/a")[:60], malformed, ""},
		{"\x1f\x8b\x00", malformed, ""},

		{"", blank, ""},
		{" \t ", blank, ""},
		{"\r", blank, ""},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			report := importChunk(t, p, chunkOf(test.line+"\n"))
			visits := committed.visits()
			want := ingest.Report{Lines: 1, Mark: report.Mark}
			switch test.want {
			case human:
				want.Human = 1
			case ai:
				want.AI = 1
			case malformed:
				want.Malformed, want.MalformedLines = 1, []int64{1}
			case blank:
				want.Lines = 0
			default:
				want.Ignored = map[string]int64{test.want: 1}
			}
			if !reflect.DeepEqual(report, want) {
				t.Errorf("report %+v, want %+v", report, want)
			}
			lines, to := int64(1), int64(len(test.line)+1)
			if test.want == blank {
				lines, to = 0, 0 // Nothing names the log yet.
			}
			if report.Mark.Lines != lines || report.Mark.To != to {
				t.Errorf("mark %+v", report.Mark)
			}
			if counted := want.Human+want.AI == 1; len(visits) != int(want.Human+want.AI) || counted && visits[0].Path != test.path {
				t.Errorf("committed %+v, want path %q", visits, test.path)
			}
			if len(visits) == 1 && visits[0].Traffic != map[string]sketch.Traffic{human: sketch.Human, ai: sketch.AI}[test.want] {
				t.Errorf("traffic %v", visits[0].Traffic)
			}
		})
	}
}

func TestDaysOfLines(t *testing.T) {
	committed := new(batches)
	p := newPipeline(t, committed)
	for time, want := range map[string]string{
		"28/Feb/2026:23:59:59 +0000": "2026-02-28",
		"28/Feb/2026:23:59:59 -0001": "2026-03-01",
		"01/Mar/2026:00:59:59 +0100": "2026-02-28",
		"29/Feb/2024:12:00:00 +0000": "2024-02-29",
	} {
		importChunk(t, p, chunkOf(strings.Replace(view("192.0.2.1", "/a"), logTime, time, 1)+"\n"))
		if visits := committed.visits(); len(visits) != 1 || visits[0].Day.String() != want {
			t.Errorf("%s: %v, want %s", time, visits, want)
		}
	}
}

// A reader is one visitor whichever way their views come in, and no other.
func TestVisitorsOfLogs(t *testing.T) {
	committed := new(batches)
	p := newPipeline(t, committed)
	human := sketch.Human
	hash := func(line string) sketch.Hash {
		t.Helper()
		chunk := chunkOf(line + "\n")
		chunk.Traffic = &human
		importChunk(t, p, chunk)
		visits := committed.visits()
		if len(visits) != 1 {
			t.Fatalf("%s: %v", line, visits)
		}
		return visits[0].Visitor
	}
	groups := [][]string{
		{view("192.0.2.1", "/a"), view("192.0.2.1", "/b"), view("::ffff:192.0.2.1", "/a"), view("::FFFF:c000:201", "/a")},
		{view("192.0.2.2", "/a")},
		{view("2001:db8::1", "/a"), view("2001:0db8:0::1", "/a")},
		{combined("192.0.2.1", "GET /a HTTP/1.1", 200, agent)},
		{view("client.example", "/a"), view("client.example", "/b")},
		{view("client.example2", "/a")},
		{combined("client.example", "GET /a HTTP/1.1", 200, agent)},
		{common("192.0.2.1", "/a"), common("192.0.2.1", "/b"), common("::ffff:192.0.2.1", "/b")},
		{common("client.example", "/a")},
	}
	seen := make(map[sketch.Hash]string)
	for _, group := range groups {
		want := hash(group[0])
		if other, taken := seen[want]; taken {
			t.Errorf("%s is the visitor of %s", group[0], other)
		}
		seen[want] = group[0]
		for _, line := range group {
			if hash(line) != want {
				t.Errorf("%s is another visitor than %s", line, group[0])
			}
		}
	}

	// The same address and user agent as an event, in the same project.
	in := newInlet(t)
	in.post(asJSON, event(map[string]any{"visitorId": nil, "ip": "192.0.2.1", "userAgent": browser}))
	asEvent := in.committed.visits()[0].Visitor
	logs := newPipeline(t, in.committed)
	if _, err := logs.Import(t.Context(), in.project, chunkOf(view("192.0.2.1", "/a")+"\n")); err != nil {
		t.Fatal(err)
	}
	if asLine := in.committed.visits()[0].Visitor; asLine != asEvent {
		t.Error("a reader is one visitor in events and another in logs")
	}
}

func TestTrafficOfLinesWithoutUserAgents(t *testing.T) {
	committed := new(batches)
	p := newPipeline(t, committed)
	log := common("192.0.2.1", "/a") + "\n" + common("192.0.2.2", "/b.css") + "\n" + view("192.0.2.3", "/c") + "\n" +
		combined("192.0.2.4", "GET /d HTTP/1.1", 200, crawler) + "\n" + combined("192.0.2.4", "GET /d HTTP/1.1", 200, "-") + "\n"
	ai, human := sketch.AI, sketch.Human
	for _, test := range []struct {
		traffic   *sketch.Traffic
		human, ai int64
	}{{nil, 1, 0}, {&human, 2, 0}, {&ai, 1, 1}} {
		chunk := chunkOf(log)
		chunk.Traffic = test.traffic
		report := importChunk(t, p, chunk)
		ignored := map[string]int64{ingest.IgnoredNotPage: 1, ingest.IgnoredCrawler: 1, ingest.IgnoredNoUserAgent: 1}
		if test.traffic == nil {
			ignored[ingest.IgnoredNoFormatUserAgent] = 1
		}
		if report.Human != test.human || report.AI != test.ai || !reflect.DeepEqual(report.Ignored, ignored) {
			t.Errorf("traffic %v: %+v", test.traffic, report)
		}
		committed.visits()
	}
}

// A mark says where the chunk was taken to: offsets, lines, and what stood there.
func TestMarks(t *testing.T) {
	committed := new(batches)
	p := newPipeline(t, committed)
	lines := view("192.0.2.1", "/a") + "\n\nnonsense\r\n" + view("192.0.2.2", "/b") + "\n"
	part := view("192.0.2.3", "/c")
	source := sketch.SourceOf([]byte("how the log begins"))
	long := strings.Repeat(view("192.0.2.1", "/a")+"\n", 20)
	tests := []struct {
		name      string
		chunk     ingest.Chunk
		taken     string
		lines     int64 // of the log before To
		views     int64
		malformed []int64
	}{
		{"first", ingest.Chunk{Data: []byte(lines)}, lines, 4, 2, []int64{3}},
		{"later", ingest.Chunk{From: 5000, Lines: 40, Data: []byte(lines)}, lines, 44, 2, []int64{43}},
		{"longer than a tail", ingest.Chunk{From: 5000, Lines: 40, Data: []byte(long)}, long, 60, 20, nil},
		{"last", ingest.Chunk{From: 5000, Lines: 40, Data: []byte(lines), End: true}, lines, 44, 2, []int64{43}},

		{"ends within a line", ingest.Chunk{Data: []byte(lines + part[:80]), End: true}, lines, 4, 2, []int64{3}},
		{"ends within the user agent", ingest.Chunk{Data: []byte(lines + part[:len(part)-1]), End: true}, lines, 4, 2, []int64{3}},
		{"ends behind a whole line", ingest.Chunk{Data: []byte(lines + part), End: true}, lines + part, 5, 3, []int64{3}},
		{"ends behind a line that may be whole", ingest.Chunk{Data: []byte(lines + common("192.0.2.3", "/c")), End: true}, lines, 4, 2, []int64{3}},
		{"ends within white space", ingest.Chunk{Data: []byte(lines + "  "), End: true}, lines, 4, 2, []int64{3}},
		{"nothing but a part of a line", ingest.Chunk{From: 5000, Lines: 40, Data: []byte(part[:80]), End: true}, "", 40, 0, nil},
		{"nothing but a whole line", ingest.Chunk{From: 5000, Lines: 40, Data: []byte(part), End: true}, part, 41, 1, nil},
		{"empty", ingest.Chunk{From: 5000, Lines: 40, End: true}, "", 40, 0, nil},

		// A part of a line that is longer than a chunk: it is counted where it
		// begins.
		{"not the end, no line end", ingest.Chunk{From: 5000, Lines: 40, Data: []byte("long")}, "long", 41, 0, []int64{41}},
		{"inside, no line end", ingest.Chunk{From: 5000, Lines: 41, Data: []byte(part), Inside: true}, part, 41, 0, nil},
		{"inside, at the end", ingest.Chunk{From: 5000, Lines: 41, Data: []byte(part), Inside: true, End: true}, part, 41, 0, nil},
		{"inside, then lines", ingest.Chunk{From: 5000, Lines: 41, Data: []byte("rest\n" + lines), Inside: true}, "rest\n" + lines, 45, 2, []int64{44}},
		{"inside, the line end alone", ingest.Chunk{From: 5000, Lines: 41, Data: []byte("\n" + lines), Inside: true}, "\n" + lines, 45, 2, []int64{44}},
		{"inside, then a part", ingest.Chunk{From: 5000, Lines: 41, Data: []byte("rest\n" + part[:80]), Inside: true, End: true}, "rest\n", 41, 0, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			committed.taken = nil
			test.chunk.Source = source
			report := importChunk(t, p, test.chunk)
			want := sketch.Mark{
				Source: source,
				From:   test.chunk.From,
				To:     test.chunk.From + int64(len(test.taken)),
				Lines:  test.lines,
				Tail:   sha256.Sum256([]byte(test.taken[max(0, len(test.taken)-1024):])),
			}
			if report.Mark != want {
				t.Errorf("mark %+v\nwant %+v", report.Mark, want)
			}
			if report.Human != test.views || !slices.Equal(report.MalformedLines, test.malformed) {
				t.Errorf("%d views, malformed lines %v; want %d, %v", report.Human, report.MalformedLines, test.views, test.malformed)
			}
			if test.taken == "" {
				if len(committed.taken) > 0 {
					t.Errorf("committed %+v, though nothing was taken", committed.taken)
				}
				return
			}
			// Also where no view is in it: the offset is to be kept.
			if len(committed.taken) != 1 {
				t.Fatalf("%d batches", len(committed.taken))
			}
			batch := committed.taken[0]
			if batch.Mark != want || batch.Project != project.Number || len(batch.Visits) != int(test.views) {
				t.Errorf("committed %+v", batch)
			}
		})
	}
}

func TestReportsAdd(t *testing.T) {
	numbers := func(from, n int) (list []int64) {
		for i := range n {
			list = append(list, int64(from+i))
		}
		return list
	}
	var total ingest.Report
	total.Add(ingest.Report{
		Lines: 10, Human: 1, AI: 2, Ignored: map[string]int64{"a": 1}, Malformed: 15, MalformedLines: numbers(1, 15), Mark: sketch.Mark{To: 5},
	})
	total.Add(ingest.Report{Mark: sketch.Mark{To: 6}})
	total.Add(ingest.Report{
		Lines: 5, Human: 3, AI: 4, Ignored: map[string]int64{"a": 2, "b": 3}, Malformed: 15, MalformedLines: numbers(101, 15), Mark: sketch.Mark{To: 7},
	})
	want := ingest.Report{
		Lines: 15, Human: 4, AI: 6, Ignored: map[string]int64{"a": 3, "b": 3}, Malformed: 30,
		MalformedLines: append(numbers(1, 15), numbers(101, 5)...), Mark: sketch.Mark{To: 7},
	}
	if !reflect.DeepEqual(total, want) {
		t.Errorf("%+v, want %+v", total, want)
	}
}

// A malformed line never stops an import, and the list of them is bounded.
func TestMalformedLinesAreListedUpToABound(t *testing.T) {
	committed := new(batches)
	log := strings.Repeat("nonsense\n"+view("192.0.2.1", "/a")+"\n", 500)
	report := importChunk(t, newPipeline(t, committed), chunkOf(log))
	if report.Malformed != 500 || report.Human != 500 || report.Lines != 1000 {
		t.Errorf("%+v", report)
	}
	if len(report.MalformedLines) != 20 || report.MalformedLines[0] != 1 || report.MalformedLines[19] != 39 {
		t.Errorf("malformed lines %v", report.MalformedLines)
	}
}

func TestImportFails(t *testing.T) {
	committed := &batches{err: fmt.Errorf("commit: %w", sketch.ErrSourceMoved)}
	report, err := newPipeline(t, committed).Import(t.Context(), project, chunkOf(view("192.0.2.1", "/a")+"\n"))
	if !errors.Is(err, sketch.ErrSourceMoved) {
		t.Errorf("%v, want ErrSourceMoved", err)
	}
	if !reflect.DeepEqual(report, ingest.Report{}) {
		t.Errorf("a report of what was not kept: %+v", report)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	committed := new(batches)
	p, err := ingest.New(ingest.Options{Store: committed, Now: func() time.Time { return noon }, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	in := newInlet(t)
	in.router = api.NewRouter(in.registry, nil, slog.New(slog.DiscardHandler))
	p.Routes(in.router)
	body := event(nil) + "\n" + event(map[string]any{"traffic": "ai"}) + "\n{}\n" + event(map[string]any{"traffic": nil, "userAgent": crawler})
	log := view("192.0.2.1", "/a") + "\nnonsense\n" + view("192.0.2.1", "/a.css") + "\n"
	importChunk(t, p, chunkOf(log))
	in.post(asLines, body)
	committed.err = errors.New("disk on fire") // Nothing of this is accepted.
	in.post(asJSON, event(nil))
	want := map[string]float64{
		"footfall_events_total accepted ai":     1,
		"footfall_events_total accepted human":  2,
		"footfall_events_total ignored ":        2,
		"footfall_events_total rejected ":       1,
		"footfall_import_lines_total":           3,
		"footfall_import_malformed_lines_total": 1,
		"footfall_ingest_bytes_total":           float64(len(log) + len(body) + len(event(nil))),
		"footfall_bodies_refused_total":         0,
		"footfall_body_bytes":                   0,
		"footfall_repeated_batches_total":       0,
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetCounter().GetValue()
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("metrics %v\nwant    %v", got, want)
	}
}
