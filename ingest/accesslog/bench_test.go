package accesslog_test

import (
	"testing"

	"footfall/ingest/accesslog"
)

const (
	browserLine = `203.0.113.195 - - [17/May/2026:10:05:03 +0000] "GET /docs/getting-started/installation?utm_source=newsletter HTTP/1.1" 200 20302 "https://docs.example.com/docs/getting-started" "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"`
	agentLine   = `2001:db8:85a3::8a2e:370:7334 - - [17/May/2026:12:05:03 +0200] "GET /docs/api/reference.md HTTP/2.0" 304 0 "-" "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"`
	escapedLine = `203.0.113.195 - - [17/May/2026:10:05:03 +0000] "GET /docs/\"quoted\"/caf\xc3\xa9 HTTP/1.1" 200 20302 "-" "Agent \"x\" \\ (like \xe4\xf6\xfc)"`
	commonLine  = `203.0.113.195 - frank [17/May/2026:10:05:03 +0000] "GET /docs/getting-started/ HTTP/1.1" 200 20302`
	cutOffLine  = `203.0.113.195 - - [17/May/2026:10:05:03 +0000] "GET /docs/ HTTP/1.1" 200 20302 "-" "Mozilla/5.0 (Mac`
)

func TestParseAllocatesNothing(t *testing.T) {
	for name, text := range map[string]string{"browser": browserLine, "agent": agentLine, "escaped": escapedLine, "common": commonLine} {
		line := []byte(text)
		var p accesslog.Parser
		// Many lines a run: a buffer that keeps growing allocates ever more rarely.
		allocations := testing.AllocsPerRun(1, func() {
			for range 10000 {
				if _, err := p.Parse(line); err != nil {
					t.Fatal(err)
				}
			}
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations in 10,000 lines", name, allocations)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bench := range []struct {
		name, line string
		malformed  bool
	}{
		{"browser", browserLine, false},
		{"agent", agentLine, false},
		{"escaped", escapedLine, false},
		{"common", commonLine, false},
		{"cut-off", cutOffLine, true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			line := []byte(bench.line)
			var p accesslog.Parser
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Parse(line); (err != nil) != bench.malformed {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseRealLog(b *testing.B) {
	lines := realLog(b)
	size := 0
	for _, line := range lines {
		size += len(line) + 1
	}
	var p accesslog.Parser
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		malformed := 0
		for _, line := range lines {
			if _, err := p.Parse(line); err != nil {
				malformed++
			}
		}
		if malformed != 1 {
			b.Fatalf("%d malformed lines", malformed)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(lines)), "ns/line")
}

func BenchmarkIsPage(b *testing.B) {
	for b.Loop() {
		if !accesslog.IsPage("/docs/getting-started/installation.html") || accesslog.IsPage("/assets/app.3f2a.JS") {
			b.Fatal("a page is one, an asset is none")
		}
	}
}
