package accesslog_test

import (
	"strings"
	"testing"

	"footfall/ingest/accesslog"
)

// nginxLine is what nginx writes with the variables of its combined format and
// $http_x_forwarded_for, escape=json, a key for each.
const nginxLine = `{"time_local":"17/May/2026:12:05:03 +0200","remote_addr":"203.0.113.195","remote_user":"",` +
	`"request":"GET /docs/getting-started/?a=b HTTP/2.0","status":"200","body_bytes_sent":"20302",` +
	`"http_referer":"https://docs.example.com/docs/","http_user_agent":"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36",` +
	`"http_x_forwarded_for":"198.51.100.1, 10.0.0.1","request_time":"0.005","upstream_response_time":""}`

const nginxTime = 1779012303 // 17/May/2026:10:05:03 +0000

func TestParseNginxJSON(t *testing.T) {
	plain := fields{"1.2.3.4", nginxTime, "GET", "/a", 200, "curl", true, ""}
	with := func(change func(*fields)) fields {
		f := plain
		change(&f)
		return f
	}
	runParse(t, map[string]parseTest{
		"the variables of combined": {
			nginxLine,
			fields{"203.0.113.195", nginxTime, "GET", "/docs/getting-started/?a=b", 200, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36", true, "198.51.100.1, 10.0.0.1"},
		},
		"numbers without quotes, spaces, request in parts": {
			`{ "msec": 1779012303.999, "remote_addr": "1.2.3.4", "request_method": "GET", "request_uri": "/a", "status": 200, "body_bytes_sent": 1, "http_user_agent": "curl", "upstream": [1, {"a": null}], "pipe": true }` + "\r",
			plain,
		},
		"ISO 8601": {
			`{"time_iso8601":"2026-05-17T12:05:03+02:00","remote_addr":"1.2.3.4","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"curl"}`,
			plain,
		},
		"ISO 8601 under another name, as nginx-proxy has it": {
			`{"time_local":"2026-05-17T10:05:03+00:00","remote_addr":"1.2.3.4","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"curl"}`,
			plain,
		},
		"keys of other logs' meaning are ignored": {
			`{"ts":"0.005s","msg":"","logger":{},"level":5,"time":"x","remote_addr":"1.2.3.4","msec":"1779012303.000","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"curl"}`,
			plain,
		},
		"the request line has precedence": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request_method":"HEAD","uri":"/index.html","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"curl"}`,
			plain,
		},
		"request_uri has precedence over uri": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request_method":"GET","request_uri":"/a","uri":"/index.html","status":"200","http_user_agent":"curl"}`,
			plain,
		},
		"a request that is no request line": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request_method":"GET","request_uri":"/a","request":"/a","status":"200","http_user_agent":"curl"}`,
			plain,
		},
		"uri, decoded": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request_method":"GET","uri":"/100%/a?b#c d\u00e9","status":"200","http_user_agent":"curl"}`,
			with(func(f *fields) { f.target = "/100%25/a%3Fb%23c dé" }),
		},
		"no user agent in the format": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request":"GET /a HTTP/1.1","status":"200"}`,
			with(func(f *fields) { f.userAgent, f.hasUserAgent = "", false }),
		},
		"no user agent sent": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"","http_x_forwarded_for":""}`,
			with(func(f *fields) { f.userAgent = "" }),
		},
		"no user agent sent, a hyphen for it": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"-","http_x_forwarded_for":"-"}`,
			with(func(f *fields) { f.userAgent = "-" }),
		},
		"no request line": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request":"","request_method":"","request_uri":"","status":"400","http_user_agent":"curl"}`,
			with(func(f *fields) { f.method, f.target, f.status = "", "", 400 }),
		},
		"TLS on a plain port": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request":"\u0016\u0003\u0001","status":"400","http_user_agent":"curl"}`,
			with(func(f *fields) { f.method, f.target, f.status = "", "", 400 }),
		},
		"no answer": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request":"GET /a HTTP/1.1","status":"000","http_user_agent":"curl"}`,
			with(func(f *fields) { f.status = 0 }),
		},
		"escapes": {
			`{"remote_addr":"2001:db8::1","msec":"1779012303.000","request":"GET /\"a\\b\u001F HTTP/1.1","status":"200","http_user_agent":"\n\r\t\b\f\/\"\\\u0000 \u00e9 \ud83d\ude00 \ud83d","http_x_forwarded_for":"\"a\""}`,
			fields{"2001:db8::1", nginxTime, "GET", "/\"a\\b\x1f", 200, "\n\r\t\b\f/\"\\\x00 é 😀 \uFFFD", true, `"a"`},
		},
		"what the client sent need not be UTF-8": {
			`{"remote_addr":"1.2.3.4","msec":"1779012303.000","request":"GET /a` + "\xff" + ` HTTP/1.1","status":"200","http_user_agent":"` + "caf\xe9" + `"}`,
			with(func(f *fields) { f.target, f.userAgent = "/a\xff", "caf\xe9" }),
		},
	})
}

func TestParseNginxJSONMalformed(t *testing.T) {
	const whole = `{"remote_addr":"1.2.3.4","msec":"1779012303.000","request":"GET /a HTTP/1.1","status":"200"}`
	without := func(old, replacement string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("no %s in %s", old, whole)
		}
		return strings.Replace(whole, old, replacement, 1)
	}
	runMalformed(t, map[string]malformedTest{
		"no client":               {without(`"remote_addr":"1.2.3.4",`, ``), accesslog.FieldHost, 68},
		"empty client":            {without(`1.2.3.4`, ``), accesslog.FieldHost, 85},
		"client that is no text":  {without(`"1.2.3.4"`, `1234`), accesslog.FieldHost, 15},
		"no time":                 {without(`"msec":"1779012303.000",`, ``), accesslog.FieldTime, 68},
		"time without zone":       {without(`1779012303.000`, `2026-05-17T12:05:03`), accesslog.FieldTime, 32},
		"time that is an object":  {without(`"1779012303.000"`, `{}`), accesslog.FieldTime, 32},
		"no request":              {without(`"request":"GET /a HTTP/1.1",`, ``), accesslog.FieldRequest, 64},
		"method alone":            {without(`"request":"GET /a HTTP/1.1"`, `"request_method":"GET"`), accesslog.FieldRequest, 87},
		"no status":               {without(`,"status":"200"`, ``), accesslog.FieldStatus, 77},
		"status of four digits":   {without(`"200"`, `2000`), accesslog.FieldStatus, 86},
		"negative status":         {without(`"200"`, `-20`), accesslog.FieldStatus, 86},
		"status with an exponent": {without(`"200"`, `2e2`), accesslog.FieldStatus, 86},
		"empty status":            {without(`"200"`, `""`), accesslog.FieldStatus, 86},
		"status null":             {without(`"200"`, `null`), accesslog.FieldStatus, 86},
		"zeros without quotes":    {without(`"200"`, `000`), accesslog.FieldJSON, 86},
		"nothing without quotes":  {without(`"200"`, `200,"upstream_response_time":`), accesslog.FieldJSON, 115},
		"two without quotes":      {without(`"200"`, `200,"upstream_response_time":0.001, 0.002`), accesslog.FieldJSON, 122},
		"escape=default":          {without(`/a`, `/\x22`), accesslog.FieldJSON, 65},
		"two lines in one":        {whole + whole, accesslog.FieldJSON, 92},
		"nothing in it":           {`{}`, accesslog.FieldHost, 2},
		"an event of another log": {`{"eventType":"view","payload":{}}`, accesslog.FieldHost, 33},
		"Caddy's request as well": {without(`"GET /a HTTP/1.1"`, `{"uri":"/a","method":"GET"}`), accesslog.FieldRequest, 102},
		"zero byte at the end":    {whole + "\x00", accesslog.FieldJSON, 92},
	})
}
