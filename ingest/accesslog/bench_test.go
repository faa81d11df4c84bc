package accesslog_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"footfall/ingest/accesslog"
)

const (
	browserLine = `203.0.113.195 - - [17/May/2026:10:05:03 +0000] "GET /docs/getting-started/installation?utm_source=newsletter HTTP/1.1" 200 20302 "https://docs.example.com/docs/getting-started" "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"`
	agentLine   = `2001:db8:85a3::8a2e:370:7334 - - [17/May/2026:12:05:03 +0200] "GET /docs/api/reference.md HTTP/2.0" 304 0 "-" "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"`
	escapedLine = `203.0.113.195 - - [17/May/2026:10:05:03 +0000] "GET /docs/\"quoted\"/caf\xc3\xa9 HTTP/1.1" 200 20302 "-" "Agent \"x\" \\ (like \xe4\xf6\xfc)"`
	commonLine  = `203.0.113.195 - frank [17/May/2026:10:05:03 +0000] "GET /docs/getting-started/ HTTP/1.1" 200 20302`
	// forwardedLine is in the format of nginx's packaged nginx.conf.
	forwardedLine = browserLine + ` "198.51.100.1, 10.0.0.1"`
	cutOffLine    = `203.0.113.195 - - [17/May/2026:10:05:03 +0000] "GET /docs/ HTTP/1.1" 200 20302 "-" "Mozilla/5.0 (Mac`
)

// caddyBrowserLine has the headers that a browser sends and a server answers.
const caddyBrowserLine = `{"level":"info","ts":1779012303.5241024,"logger":"http.log.access.log0","msg":"handled request",` +
	`"request":{"remote_ip":"203.0.113.195","remote_port":"41342","client_ip":"203.0.113.195","proto":"HTTP/2.0","method":"GET","host":"docs.example.com","uri":"/docs/getting-started/installation?utm_source=newsletter",` +
	`"headers":{"Sec-Ch-Ua":["\"Chromium\";v=\"138\", \"Not)A;Brand\";v=\"8\""],"Sec-Ch-Ua-Mobile":["?0"],"Sec-Ch-Ua-Platform":["\"macOS\""],"Upgrade-Insecure-Requests":["1"],` +
	`"User-Agent":["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"],` +
	`"Accept":["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"],"Sec-Fetch-Site":["none"],"Sec-Fetch-Mode":["navigate"],"Sec-Fetch-Dest":["document"],"Accept-Encoding":["gzip, deflate, br, zstd"],"Accept-Language":["en-GB,en;q=0.9"],"X-Forwarded-For":["198.51.100.1"]},` +
	`"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"docs.example.com","ech":false}},` +
	`"bytes_read":0,"user_id":"","duration":0.000929675,"size":20302,"status":200,` +
	`"resp_headers":{"Server":["Caddy"],"Content-Encoding":["gzip"],"Content-Type":["text/html; charset=utf-8"],"Vary":["Accept-Encoding"],"Etag":["\"d5k1x8\""],"Last-Modified":["Fri, 15 May 2026 08:00:00 GMT"]}}`

func TestParseAllocatesNothing(t *testing.T) {
	for name, text := range map[string]string{
		"browser": browserLine, "agent": agentLine, "escaped": escapedLine, "common": commonLine, "forwarded": forwardedLine, "more fields": browserLine + " 0.005 rt=-",
		"nginx JSON": nginxLine, "Caddy": caddyBrowserLine, "CloudFront": cloudFrontLine, "CloudFront with query": cloudFrontWith(map[int]string{11: "a=%2520"}),
		"ALB": albHTTPSLine,
	} {
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
		{"forwarded", forwardedLine, false},
		{"cut-off", cutOffLine, true},
		{"nginx-json", nginxLine, false},
		{"caddy", caddyBrowserLine, false},
		{"cloudfront", cloudFrontLine, false},
		{"alb", albHTTPSLine, false},
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
	page, asset := []byte("/docs/getting-started/installation.html"), []byte("/assets/app.3f2a.JS")
	for b.Loop() {
		if !accesslog.IsPage(page) || accesslog.IsPage(asset) {
			b.Fatal("a page is one, an asset is none")
		}
	}
}

// BenchmarkJSONText walks the JSON lines with the tokenizer that the scanner here
// was chosen over. It reads no values: what it takes is the least one would.
func BenchmarkJSONText(b *testing.B) {
	for name, line := range map[string]string{"nginx-json": nginxLine, "caddy": caddyBrowserLine} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			var decoder jsontext.Decoder
			for b.Loop() {
				decoder.Reset(bytes.NewBufferString(line), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
				for {
					if _, err := decoder.ReadToken(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
