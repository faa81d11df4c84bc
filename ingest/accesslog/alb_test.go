package accesslog_test

import (
	"strings"
	"testing"

	"footfall/ingest/accesslog"
)

// The examples of AWS's documentation, each on one line.
const (
	albTime = 1530570180 // 2018-07-02T22:23:00Z

	albHTTPLine = `http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 ` +
		`"GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 ` +
		`"Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`
	albHTTPSLine = `https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 ` +
		`"GET https://www.example.com:443/ HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 ` +
		`"Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" ` +
		`1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_123456 "-" "-" "-"`
	albHTTP2Line = `h2 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 10.0.1.252:48160 10.0.0.66:9000 0.000 0.002 0.000 200 200 5 257 ` +
		`"GET https://10.0.2.105:773/ HTTP/2.0" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 ` +
		`"Root=1-58337327-72bd00b0343d75b906739c42" "-" "-" 1 2018-07-02T22:22:48.364000Z "redirect" "https://example.com:80/" "-"`
	albWebSocketLine = `ws 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 10.0.0.140:40914 10.0.1.192:8010 0.001 0.003 0.000 101 101 218 587 ` +
		`"GET http://10.0.0.30:80/ HTTP/1.1" "-" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 ` +
		`"Root=1-58337364-23a8c76965a2ef7629b185e3" "-" "-" 1 2018-07-02T22:22:48.364000Z "forward" "-" "-"`
	albLambdaLine = `http 2018-11-30T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 - 0.000 0.001 0.000 502 - 34 366 ` +
		`"GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 ` +
		`"Root=1-58337364-23a8c76965a2ef7629b185e3" "-" "-" 0 2018-11-30T22:22:48.364000Z "forward" "-" "LambdaInvalidResponse"`
)

func TestParseALB(t *testing.T) {
	const tail = ` - - - "Root=1-5833" "-" "-" 0 2018-07-02T22:22:48.364000Z "-" "-" "-"`
	line := func(client, target, times, status, request, userAgent string) string {
		return `https 2018-07-02T22:23:00.186641Z app/a/5 ` + client + " " + target + " " + times + " " + status + ` - 0 57 "` + request + `" "` + userAgent + `"` + tail
	}
	const (
		times = "0.086 0.048 0.037"
		get   = "GET https://www.example.com:443/a HTTP/1.1"
		url   = "https://www.example.com:443/a"
	)
	runParse(t, map[string]parseTest{
		"AWS's example, HTTP":            {albHTTPLine, fields{"192.168.131.39", albTime, "GET", "http://www.example.com:80/", 200, "curl/7.46.0", true, ""}},
		"AWS's example, HTTPS":           {albHTTPSLine, fields{"192.168.131.39", albTime, "GET", "https://www.example.com:443/", 200, "curl/7.46.0", true, ""}},
		"AWS's example, HTTP/2":          {albHTTP2Line, fields{"10.0.1.252", albTime, "GET", "https://10.0.2.105:773/", 200, "curl/7.46.0", true, ""}},
		"AWS's example, WebSockets":      {albWebSocketLine, fields{"10.0.0.140", albTime, "GET", "http://10.0.0.30:80/", 101, "-", true, ""}},
		"AWS's example, secure":          {"wss" + strings.TrimPrefix(albWebSocketLine, "ws"), fields{"10.0.0.140", albTime, "GET", "http://10.0.0.30:80/", 101, "-", true, ""}},
		"AWS's example, a failed Lambda": {albLambdaLine, fields{"192.168.131.39", 1543616580, "GET", "http://www.example.com:80/", 502, "curl/7.46.0", true, ""}},
		"gRPC":                           {"grpcs" + strings.TrimPrefix(albHTTP2Line, "h2") + "\r", fields{"10.0.1.252", albTime, "GET", "https://10.0.2.105:773/", 200, "curl/7.46.0", true, ""}},
		"IPv6":                           {line("2001:db8:0:1:bcf4:5264:e01c:f215:50718", "10.0.0.1:80", times, "200", get, "a"), fields{"2001:db8:0:1:bcf4:5264:e01c:f215", albTime, "GET", url, 200, "a", true, ""}},
		"IPv6 in brackets":               {line("[2001:db8::1]:50718", "[2001:db8::2]:80", times, "200", get, "a"), fields{"2001:db8::1", albTime, "GET", url, 200, "a", true, ""}},
		"the client sent no request":     {line("1.2.3.4:5", "-", "-1 -1 -1", "400", "- http://www.example.com:80- -", "-"), fields{"1.2.3.4", albTime, "", "", 400, "-", true, ""}},
		"the client went away":           {line("1.2.3.4:5", "-", "-1 -1 -1", "-", get, "a"), fields{"1.2.3.4", albTime, "GET", url, 0, "a", true, ""}},
		"IPv6 in the request":            {line("1.2.3.4:5", "-", "-1 -1 -1", "400", "GET http://[::ffff:a9fe:a9fe]:443/ HTTP/1.1", "a"), fields{"1.2.3.4", albTime, "GET", "http://[::ffff:a9fe:a9fe]:443/", 400, "a", true, ""}},
		"escapes":                        {line("1.2.3.4:5", "10.0.0.1:80", times, "200", `GET https://www.example.com:443/?a=\x22 HTTP/2.0`, `\x22a\x22 200 1`), fields{"1.2.3.4", albTime, "GET", `https://www.example.com:443/?a="`, 200, `"a" 200 1`, true, ""}},
		"a request with spaces":          {line("1.2.3.4:5", "10.0.0.1:80", times, "200", `GET https://www.example.com:443/a b HTTP/2.0`, `a`), fields{"1.2.3.4", albTime, "GET", `https://www.example.com:443/a b`, 200, "a", true, ""}},
		"the fields of 2016":             {line("1.2.3.4:5", "10.0.0.1:80", times, "200", get, "a")[:len(line("1.2.3.4:5", "10.0.0.1:80", times, "200", get, "a"))-len(` "-" "-" 0 2018-07-02T22:22:48.364000Z "-" "-" "-"`)], fields{"1.2.3.4", albTime, "GET", url, 200, "a", true, ""}},
		"a host of such a name":          {`http - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`, fields{"http", docsTime, "GET", "/", 200, "", false, ""}},
	})
	whole := line("1.2.3.4:5", "10.0.0.1:80", times, "200", get, "a")
	runMalformed(t, map[string]malformedTest{
		"type alone":            {"https 2018-", accesslog.FieldTime, 6},
		"time without zone":     {strings.Replace(whole, "641Z", "641", 1), accesslog.FieldTime, 6},
		"client without a port": {line("1.2.3.4", "10.0.0.1:80", times, "200", get, "a"), accesslog.FieldHost, 42},
		"client with a name":    {line("a.example:5", "10.0.0.1:80", times, "200", get, "a"), accesslog.FieldHost, 42},
		"a duration too few":    {line("1.2.3.4:5", "10.0.0.1:80", "0.1 0.2", "200", get, "a"), accesslog.FieldOther, 83},
		"a duration too many":   {line("1.2.3.4:5", "10.0.0.1:80", times+" 0.1", "200", get, "a"), accesslog.FieldStatus, 81},
		"two spaces":            {strings.Replace(whole, " app", "  app", 1), accesslog.FieldOther, 34},
		"no request":            {strings.Replace(whole, ` "`+get+`"`, "", 1), accesslog.FieldUserAgent, 96},
		"another type":          {"tls" + strings.TrimPrefix(whole, "https"), accesslog.FieldTime, 4},
	})
}
