package accesslog_test

import (
	"errors"
	"strings"
	"testing"

	"footfall/ingest/accesslog"
)

// caddyLine is the example of Caddy's documentation on structured logs, on one
// line and without the comma after its last request header.
const caddyLine = `{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request",` +
	`"request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/",` +
	`"headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"],"Accept-Encoding":["gzip, deflate, br"]},` +
	`"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"example.com"}},` +
	`"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200,` +
	`"resp_headers":{"Server":["Caddy"],"Content-Encoding":["gzip"],"Content-Type":["text/html; charset=utf-8"],"Vary":["Accept-Encoding"]}}`

func TestParseCaddy(t *testing.T) {
	const docsTime = 1646861401
	docs := fields{"127.0.0.1", docsTime, "GET", "/", 200, "curl/7.82.0", true, ""}
	with := func(change func(*fields)) fields {
		f := docs
		change(&f)
		return f
	}
	line := func(changes ...string) string {
		for i := 0; i < len(changes); i += 2 {
			if !strings.Contains(caddyLine, changes[i]) {
				t.Fatalf("no %s in the example", changes[i])
			}
		}
		return strings.NewReplacer(changes...).Replace(caddyLine)
	}
	const agents = `"User-Agent":["curl/7.82.0"]`
	runParse(t, map[string]parseTest{
		"Caddy's example":            {caddyLine, docs},
		"a site's logger":            {line(`"http.log.access"`, `"http.log.access.log0"`), docs},
		"no logger":                  {line(`"logger":"http.log.access",`, ``), docs},
		"client behind a proxy":      {line(`"client_ip":"127.0.0.1"`, `"client_ip":"2001:db8::1"`), with(func(f *fields) { f.host = "2001:db8::1" })},
		"before 2.7":                 {line(`"client_ip":"127.0.0.1",`, ``), docs},
		"before 2.5":                 {line(`"client_ip":"127.0.0.1",`, ``, `"remote_ip":"127.0.0.1","remote_port":"41342"`, `"remote_addr":"127.0.0.1:41342"`), docs},
		"before 2.5, IPv6":           {line(`"client_ip":"127.0.0.1",`, ``, `"remote_ip":"127.0.0.1"`, `"remote_addr":"[::1]:41342"`), with(func(f *fields) { f.host = "::1" })},
		"unix_milli_float":           {line(`1646861401.5241024`, `1646861401524.1024`), docs},
		"unix_nano":                  {line(`1646861401.5241024`, `1646861401524102400`), docs},
		"iso8601":                    {line(`1646861401.5241024`, `"2022-03-09T21:30:01.524Z"`), docs},
		"iso8601, another zone":      {line(`1646861401.5241024`, `"2022-03-09T16:30:01.524-0500"`), docs},
		"rfc3339":                    {line(`1646861401.5241024`, `"2022-03-09T21:30:01Z"`), docs},
		"rfc3339_nano, another zone": {line(`1646861401.5241024`, `"2022-03-10T03:00:01.5241024+05:30"`), docs},
		"common_log":                 {line(`1646861401.5241024`, `"09/Mar/2022:21:30:01 +0000"`), docs},
		"no user agent sent":         {line(agents+`,`, ``), with(func(f *fields) { f.userAgent = "" })},
		"headers filtered out":       {line(`"headers":`, `"other":`), with(func(f *fields) { f.userAgent, f.hasUserAgent = "", false })},
		"X-Forwarded-For":            {line(agents, agents+`,"X-Forwarded-For":["198.51.100.1, 10.0.0.1"]`), with(func(f *fields) { f.forwardedFor = "198.51.100.1, 10.0.0.1" })},
		"X-Forwarded-For twice":      {line(agents, `"X-Forwarded-For":["198.51.100.1","10.0.0.1"],`+agents), with(func(f *fields) { f.forwardedFor = "198.51.100.1, 10.0.0.1" })},
		"X-Forwarded-For, empty":     {line(agents, agents+`,"X-Forwarded-For":[""]`), docs},
		"X-Forwarded-For, no values": {line(agents, agents+`,"X-Forwarded-For":[]`), docs},
		"escapes":                    {line(`curl/7.82.0`, `\"a\" \\ \ufffd`, `"uri":"/"`, `"uri":"/\"\u0026%20"`), with(func(f *fields) { f.userAgent, f.target = "\"a\" \\ \uFFFD", "/\"&%20" })},
		"no status written":          {line(`"status":200`, `"status":0`), with(func(f *fields) { f.status = 0 })},
		"authority":                  {line(`"GET"`, `"CONNECT"`, `"uri":"/"`, `"uri":"a.example:443"`), with(func(f *fields) { f.method, f.target = "CONNECT", "a.example:443" })},
		"no target":                  {line(`"uri":"/"`, `"uri":""`), with(func(f *fields) { f.method, f.target = "", "" })},
	})
	runMalformed(t, map[string]malformedTest{
		"a comma after the last header": {line(`"gzip, deflate, br"]}`, `"gzip, deflate, br"],}`), accesslog.FieldJSON, 332},
		"no client":                     {line(`"client_ip"`, `"a"`, `"remote_ip"`, `"b"`), accesslog.FieldHost, 629},
		"no method":                     {line(`"method"`, `"m"`), accesslog.FieldRequest, 640},
		"no target":                     {line(`"uri"`, `"u"`), accesslog.FieldRequest, 643},
		"no request":                    {line(`"request":`, `"r":`), accesslog.FieldHost, 639},
		"no status":                     {line(`"status"`, `"s"`), accesslog.FieldStatus, 640},
		"no time":                       {line(`"ts"`, `"t"`), accesslog.FieldTime, 644},
		"wall, without a zone":          {line(`1646861401.5241024`, `"2022/03/09 21:30:01"`), accesslog.FieldTime, 21},
		"microseconds":                  {line(`1646861401.5241024`, `1646861401524102`), accesslog.FieldTime, 21},
		"an exponent":                   {line(`1646861401.5241024`, `1.6e9`), accesslog.FieldTime, 21},
		"headers that are no arrays":    {line(agents, `"User-Agent":"curl"`), accesslog.FieldJSON, 259},
		"headers that are no texts":     {line(agents, `"User-Agent":[1]`), accesslog.FieldUserAgent, 260},
	})
}

func TestParseNoRequest(t *testing.T) {
	for name, line := range map[string]string{
		"CloudFront's version": "#Version: 1.0",
		"CloudFront's fields":  "#Fields: date time x-edge-location sc-bytes c-ip cs-method\r",
		"comment alone":        "#",
		"Caddy's server":       `{"level":"info","ts":1646861401.5,"logger":"http","msg":"enabling automatic TLS certificate management","domains":["example.com"]}`,
		"Caddy's root logger":  `{"level":"info","ts":1646861401.5,"msg":"shutting down","signal":"SIGTERM"}`,
		"Caddy's error log":    `{"level":"error","ts":"2022-03-09T21:30:01Z","logger":"http.log.error","msg":"no upstreams","request":{"remote_ip":"127.0.0.1","method":"GET","uri":"/","headers":{}},"duration":0.1,"status":503}`,
		"a logger's namesake":  `{"level":"info","ts":1,"logger":"http.log.accessory","msg":"","request":{},"status":"valid"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var p accesslog.Parser
			if e, err := p.Parse([]byte(line)); !errors.Is(err, accesslog.ErrNoRequest) {
				t.Errorf("Parse(%q) = %+v, %v, want ErrNoRequest", line, fieldsOf(e), err)
			}
			if line[0] == '#' {
				return
			}
			for length := range len(line) {
				if _, err := p.Parse([]byte(line[:length])); err == nil || errors.Is(err, accesslog.ErrNoRequest) {
					t.Errorf("Parse(%q): %v, want it malformed", line[:length], err)
				}
			}
		})
	}
}
