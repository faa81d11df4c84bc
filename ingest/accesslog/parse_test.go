package accesslog_test

import (
	"errors"
	"strings"
	"testing"

	"footfall/ingest/accesslog"
)

// When the examples of Apache's documentation were logged, in Unix seconds.
const docsTime = 971211336 // 10/Oct/2000:13:55:36 -0700

// fields is an Entry as text, which compares and prints.
type fields struct {
	host           string
	time           int64
	method, target string
	status         int
	userAgent      string
	hasUserAgent   bool
	forwardedFor   string
}

func fieldsOf(e accesslog.Entry) fields {
	return fields{string(e.Host), e.Time, string(e.Method), string(e.Target), e.Status, string(e.UserAgent), e.HasUserAgent, string(e.ForwardedFor)}
}

func TestParse(t *testing.T) {
	const prefix = `127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] `
	tests := map[string]parseTest{
		"common, Apache's example": {
			`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`,
			fields{"127.0.0.1", docsTime, "GET", "/apache_pb.gif", 200, "", false, ""},
		},
		"combined, Apache's example": {
			`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"`,
			fields{"127.0.0.1", docsTime, "GET", "/apache_pb.gif", 200, "Mozilla/4.08 [en] (Win98; I ;Nav)", true, ""},
		},
		"combined, nginx": {
			`203.0.113.7 - - [10/Oct/2000:20:55:36 +0000] "GET /docs/?q=1 HTTP/2.0" 304 0 "-" "curl/8.5.0"`,
			fields{"203.0.113.7", docsTime, "GET", "/docs/?q=1", 304, "curl/8.5.0", true, ""},
		},
		"no user agent sent": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "-"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "-", true, ""},
		},
		"empty user agent": {
			prefix + `"GET / HTTP/1.1" 200 1 "" ""`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "", true, ""},
		},
		"no bytes": {
			prefix + `"HEAD / HTTP/1.1" 204 -`,
			fields{"127.0.0.1", docsTime, "HEAD", "/", 204, "", false, ""},
		},
		"no bytes, combined": {
			prefix + `"HEAD / HTTP/1.1" 204 - "-" "a"`,
			fields{"127.0.0.1", docsTime, "HEAD", "/", 204, "a", true, ""},
		},
		"no status, Apache": {
			prefix + `"GET / HTTP/1.1" - - "-" "a"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 0, "a", true, ""},
		},
		"no status, nginx": {
			prefix + `"GET / HTTP/1.1" 000 0 "-" "a"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 0, "a", true, ""},
		},
		"carriage return, common": {
			prefix + `"GET / HTTP/1.1" 200 1` + "\r",
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "", false, ""},
		},
		"carriage return, combined": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a"` + "\r",
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"more fields, as nginx's packaged main format": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" "198.51.100.1, 10.0.0.1"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, "198.51.100.1, 10.0.0.1"},
		},
		"X-Forwarded-For and more": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" "2001:db8::1,::ffff:198.51.100.1" 0.005`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, "2001:db8::1,::ffff:198.51.100.1"},
		},
		"no X-Forwarded-For": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" "-"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"no list of addresses, but a name": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" "198.51.100.1, unknown"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"no list of addresses, but an upstream": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" "10.0.0.1:8080"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"no list of addresses, but a duration": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" "0.005"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"no list of addresses, but a version": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" "138.0.0.1000"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"a list of addresses without quotes": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" 198.51.100.1`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"a list of addresses that was cut off": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" "198.51.100.1`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"a list of addresses that is not next": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" 0.005 "198.51.100.1"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},
		"more fields, any": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "a" 0.005 rt=- "unclosed`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "a", true, ""},
		},

		"IPv6": {
			`2001:db8::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"2001:db8::1", docsTime, "GET", "/", 200, "", false, ""},
		},
		"IPv6 with digits last": {
			`::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"::1", docsTime, "GET", "/", 200, "", false, ""},
		},
		"IPv4 in IPv6": {
			`::ffff:192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"::ffff:192.0.2.1", docsTime, "GET", "/", 200, "", false, ""},
		},
		"host name": {
			`crawl-1.example.com - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"crawl-1.example.com", docsTime, "GET", "/", 200, "", false, ""},
		},
		"no host": {
			`- - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"-", docsTime, "GET", "/", 200, "", false, ""},
		},
		"unix socket, nginx": {
			`unix: - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"unix:", docsTime, "GET", "/", 200, "", false, ""},
		},
		"user with spaces": {
			`127.0.0.1 - Frank the Tank [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "", false, ""},
		},
		"user with brackets": {
			`127.0.0.1 - f [x] [y] [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "", false, ""},
		},
		"user that is a time": {
			`127.0.0.1 - x [01/Jan/2020:00:00:00 +0000] [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "", false, ""},
		},
		"user that forges a line": {
			`127.0.0.1 - x [01/Jan/2020:00:00:00 +0000] \"GET /forged HTTP/1.1\" 200 1 [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, "", false, ""},
		},
		"empty user, Apache": {
			`127.0.0.1 - "" [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 401 1`,
			fields{"127.0.0.1", docsTime, "GET", "/", 401, "", false, ""},
		},
		"empty user": {
			`127.0.0.1 -  [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 401 1`,
			fields{"127.0.0.1", docsTime, "GET", "/", 401, "", false, ""},
		},

		"escapes, Apache": {
			prefix + `"GET /\"a\\b\xe4 HTTP/1.1" 200 1 "\\" "\b\n\r\t\v\x00\x7f\"\\"`,
			fields{"127.0.0.1", docsTime, "GET", "/\"a\\b\xe4", 200, "\b\n\r\t\v\x00\x7f\"\\", true, ""},
		},
		"escapes, nginx": {
			prefix + `"GET /\x22a\x5Cb\xE4 HTTP/1.1" 200 1 "\x22" "caf\xC3\xA9 \x22x\x22\x5C"`,
			fields{"127.0.0.1", docsTime, "GET", "/\"a\\b\xe4", 200, "café \"x\"\\", true, ""},
		},
		"an escape is not read twice": {
			prefix + `"GET / HTTP/1.1" 200 1 "-" "\\x41 \x5Cx41 \\n"`,
			fields{"127.0.0.1", docsTime, "GET", "/", 200, `\x41 \x41 \n`, true, ""},
		},
		"escaped backslash before the closing quote": {
			prefix + `"GET /\\" 400 1 "-\\" "a\\"`,
			fields{"127.0.0.1", docsTime, "GET", `/\`, 400, `a\`, true, ""},
		},
		"escaped quotes that look like the end of a field": {
			prefix + `"GET /\" 200 1 HTTP/1.1" 404 1 "\" \"b" "a"`,
			fields{"127.0.0.1", docsTime, "GET", `/" 200 1`, 404, "a", true, ""},
		},
		"no escapes of theirs": {
			prefix + `"GET /\q\xZZ\x4 HTTP/1.1" 200 1 "-" "C:\Dir\x"`,
			fields{"127.0.0.1", docsTime, "GET", `/\q\xZZ\x4`, 200, `C:\Dir\x`, true, ""},
		},
		"not escaped, as older servers": {
			prefix + `"GET /é HTTP/1.1" 200 1 "-" "é"`,
			fields{"127.0.0.1", docsTime, "GET", "/é", 200, "é", true, ""},
		},

		"no request line":      {prefix + `"-" 408 -`, fields{"127.0.0.1", docsTime, "", "", 408, "", false, ""}},
		"empty request line":   {prefix + `"" 400 0 "-" "-"`, fields{"127.0.0.1", docsTime, "", "", 400, "-", true, ""}},
		"TLS on a plain port":  {prefix + `"\x16\x03\x01" 400 226`, fields{"127.0.0.1", docsTime, "", "", 400, "", false, ""}},
		"TLS with spaces":      {prefix + `"\x16\x03\x01 \x00 a HTTP/1.1" 400 226`, fields{"127.0.0.1", docsTime, "", "", 400, "", false, ""}},
		"a hyphen as method":   {prefix + `"- / HTTP/1.1" 400 226`, fields{"127.0.0.1", docsTime, "", "", 400, "", false, ""}},
		"method alone":         {prefix + `"GET" 400 226`, fields{"127.0.0.1", docsTime, "", "", 400, "", false, ""}},
		"method and space":     {prefix + `"GET " 400 226`, fields{"127.0.0.1", docsTime, "", "", 400, "", false, ""}},
		"no target":            {prefix + `"GET HTTP/1.1" 400 226`, fields{"127.0.0.1", docsTime, "", "", 400, "", false, ""}},
		"no target but spaces": {prefix + `"GET   HTTP/1.1" 400 226`, fields{"127.0.0.1", docsTime, "", "", 400, "", false, ""}},
		"no method":            {prefix + `" / HTTP/1.1" 400 226`, fields{"127.0.0.1", docsTime, "", "", 400, "", false, ""}},
		"HTTP/0.9":             {prefix + `"GET /" 200 226`, fields{"127.0.0.1", docsTime, "GET", "/", 200, "", false, ""}},
		"HTTP/2 without minor": {prefix + `"GET / HTTP/2" 200 226`, fields{"127.0.0.1", docsTime, "GET", "/", 200, "", false, ""}},
		"HTTP/3":               {prefix + `"GET / HTTP/3.0" 200 226`, fields{"127.0.0.1", docsTime, "GET", "/", 200, "", false, ""}},
		"target with spaces":   {prefix + `"GET /a b  c HTTP/1.1" 200 226`, fields{"127.0.0.1", docsTime, "GET", "/a b  c", 200, "", false, ""}},
		"spaces around target": {prefix + `"GET  /a   HTTP/1.1 " 200 226`, fields{"127.0.0.1", docsTime, "GET", "/a", 200, "", false, ""}},
		"two versions":         {prefix + `"GET /a HTTP/1.0 HTTP/1.1" 400 226`, fields{"127.0.0.1", docsTime, "GET", "/a HTTP/1.0", 400, "", false, ""}},
		"version that is none": {prefix + `"GET /a HTTP/x.1" 400 226`, fields{"127.0.0.1", docsTime, "GET", "/a HTTP/x.1", 400, "", false, ""}},
		"full URL":             {prefix + `"GET http://a.example/b HTTP/1.1" 200 226`, fields{"127.0.0.1", docsTime, "GET", "http://a.example/b", 200, "", false, ""}},
		"authority":            {prefix + `"CONNECT a.example:443 HTTP/1.1" 405 226`, fields{"127.0.0.1", docsTime, "CONNECT", "a.example:443", 405, "", false, ""}},
		"asterisk":             {prefix + `"OPTIONS * HTTP/1.0" 200 126`, fields{"127.0.0.1", docsTime, "OPTIONS", "*", 200, "", false, ""}},
		"HTTP/2 preface":       {prefix + `"PRI * HTTP/2.0" 400 150`, fields{"127.0.0.1", docsTime, "PRI", "*", 400, "", false, ""}},
		"own method":           {prefix + `"M-SEARCH * HTTP/1.1" 400 150`, fields{"127.0.0.1", docsTime, "M-SEARCH", "*", 400, "", false, ""}},
	}
	runParse(t, tests)
}

type parseTest struct {
	line string
	want fields
}

func runParse(t *testing.T, tests map[string]parseTest) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var p accesslog.Parser
			e, err := p.Parse([]byte(test.line))
			if err != nil {
				t.Fatalf("Parse(%q): %v", test.line, err)
			}
			if got := fieldsOf(e); got != test.want {
				t.Errorf("Parse(%q)\n got %+v\nwant %+v", test.line, got, test.want)
			}
			if e.ForwardedFor != nil && len(e.ForwardedFor) == 0 {
				t.Error("ForwardedFor is empty, want nil")
			}
		})
	}
}

func TestParseMalformed(t *testing.T) {
	const (
		prefix = `1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] `
		whole  = prefix + `"GET / HTTP/1.1" 200 1 "-" "a"`
	)
	tests := map[string]malformedTest{
		"empty":                       {"", accesslog.FieldHost, 0},
		"carriage return alone":       {"\r", accesslog.FieldHost, 0},
		"host alone":                  {"1.2.3.4", accesslog.FieldHost, 0},
		"no host":                     {" " + whole, accesslog.FieldHost, 0},
		"zero bytes after a crash":    {"\x00\x00\x00" + whole, accesslog.FieldHost, 0},
		"zero bytes within the host":  {"1.2\x00" + whole, accesslog.FieldHost, 0},
		"byte order mark":             {"\uFEFF" + whole, accesslog.FieldHost, 0},
		"tab after the host":          {strings.Replace(whole, " ", "\t", 1), accesslog.FieldHost, 0},
		"virtual host first":          {`www.example.com:443 ` + whole, accesslog.FieldHost, 0},
		"client with a port":          {`1.2.3.4:5678` + whole[len("1.2.3.4"):], accesslog.FieldHost, 0},
		"prose":                       {"server started", accesslog.FieldTime, 7},
		"no user":                     {`1.2.3.4 - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`, accesslog.FieldUser, 8},
		"no ident and no user":        {`1.2.3.4 [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`, accesslog.FieldTime, 35},
		"no space before the time":    {`1.2.3.4 - -[10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`, accesslog.FieldTime, 38},
		"no brackets":                 {`1.2.3.4 - - 10/Oct/2000:13:55:36 -0700 "GET / HTTP/1.1" 200 1`, accesslog.FieldTime, 8},
		"time without zone":           {`1.2.3.4 - - [10/Oct/2000:13:55:36] "GET / HTTP/1.1" 200 1`, accesslog.FieldTime, 33},
		"no such day":                 {`1.2.3.4 - - [31/Jun/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`, accesslog.FieldTime, 12},
		"no request":                  {prefix + `200 1`, accesslog.FieldTime, 8},
		"unclosed request":            {prefix + `"GET / HTTP/1.1`, accesslog.FieldRequest, 41},
		"request ends in a backslash": {prefix + `"GET / HTTP/1.1\`, accesslog.FieldRequest, 41},
		"escaped closing quote":       {prefix + `"GET / HTTP/1.1\" 200 1`, accesslog.FieldRequest, 41},
		"no status":                   {prefix + `"GET / HTTP/1.1"`, accesslog.FieldStatus, 57},
		"text after the request":      {prefix + `"GET / HTTP/1.1"x 200 1`, accesslog.FieldStatus, 57},
		"two digits of status":        {prefix + `"GET / HTTP/1.1" 20 1`, accesslog.FieldStatus, 57},
		"four digits of status":       {prefix + `"GET / HTTP/1.1" 2000 1`, accesslog.FieldStatus, 57},
		"signed status":               {prefix + `"GET / HTTP/1.1" +20 1`, accesslog.FieldStatus, 57},
		"status at the end":           {prefix + `"GET / HTTP/1.1" 200`, accesslog.FieldStatus, 57},
		"no bytes":                    {prefix + `"GET / HTTP/1.1" 200 `, accesslog.FieldBytes, 62},
		"bytes that are no number":    {prefix + `"GET / HTTP/1.1" 200 1k`, accesslog.FieldBytes, 62},
		"negative bytes":              {prefix + `"GET / HTTP/1.1" 200 -1`, accesslog.FieldBytes, 62},
		"line feed":                   {prefix + `"GET / HTTP/1.1" 200 1` + "\n", accesslog.FieldBytes, 62},
		"two spaces":                  {prefix + `"GET / HTTP/1.1" 200 1  "-" "a"`, accesslog.FieldReferer, 63},
		"cut off before the referer":  {prefix + `"GET / HTTP/1.1" 200 1 `, accesslog.FieldReferer, 63},
		"another field in between":    {prefix + `"GET / HTTP/1.1" 200 1 0.005 "-" "a"`, accesslog.FieldReferer, 63},
		"unclosed referer":            {prefix + `"GET / HTTP/1.1" 200 1 "http:`, accesslog.FieldReferer, 64},
		"referer alone":               {prefix + `"GET / HTTP/1.1" 200 1 "-"`, accesslog.FieldUserAgent, 67},
		"no user agent":               {prefix + `"GET / HTTP/1.1" 200 1 "-" `, accesslog.FieldUserAgent, 67},
		"unclosed user agent":         {prefix + `"GET / HTTP/1.1" 200 1 "-" "a`, accesslog.FieldUserAgent, 68},
		"cut off within an escape":    {prefix + `"GET / HTTP/1.1" 200 1 "-" "a\`, accesslog.FieldUserAgent, 68},
		"two lines in one":            {whole + whole, accesslog.FieldUserAgent, 71},
	}
	runMalformed(t, tests)
}

type malformedTest struct {
	line   string
	field  string
	offset int
}

func runMalformed(t *testing.T, tests map[string]malformedTest) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var p accesslog.Parser
			e, err := p.Parse([]byte(test.line))
			var syntax *accesslog.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("Parse(%q) = %+v, %v, want a SyntaxError", test.line, fieldsOf(e), err)
			}
			if syntax.Field != test.field || syntax.Offset != test.offset {
				t.Errorf("Parse(%q): %s at %d (%s), want %s at %d", test.line, syntax.Field, syntax.Offset, syntax.Reason, test.field, test.offset)
			}
			if strings.Contains(err.Error(), "1.2.3.4") {
				t.Errorf("the error names the client: %v", err)
			}
		})
	}
}

// A whole combined line, cut off anywhere, is malformed, except where what is
// left is a whole line in the common format.
func TestParseCutOff(t *testing.T) {
	const line = `1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /\"\\ HTTP/1.1" 200 123 "http://a.example/\"" "Mozilla \\ \"x\""`
	common := strings.Index(line, "123")
	var p accesslog.Parser
	for length := range len(line) {
		e, err := p.Parse([]byte(line[:length]))
		isCommon := common < length && length <= common+3
		if isCommon != (err == nil) {
			t.Errorf("Parse(%q): error %v", line[:length], err)
		}
		if err == nil && e.HasUserAgent {
			t.Errorf("Parse(%q) has a user agent", line[:length])
		}
	}
	if _, err := p.Parse([]byte(line)); err != nil {
		t.Error(err)
	}
}

func TestParserIsReusable(t *testing.T) {
	var p accesslog.Parser
	escaped := `1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /\"` + strings.Repeat("a", 1000) + ` HTTP/1.1" 200 1 "-" "\"` + strings.Repeat("b", 5000) + `"`
	for range 3 {
		e, err := p.Parse([]byte(escaped))
		if err != nil {
			t.Fatal(err)
		}
		if want := `/"` + strings.Repeat("a", 1000); string(e.Target) != want {
			t.Fatalf("target %.20q of %d bytes", e.Target, len(e.Target))
		}
		if want := `"` + strings.Repeat("b", 5000); string(e.UserAgent) != want {
			t.Fatalf("user agent %.20q of %d bytes", e.UserAgent, len(e.UserAgent))
		}
		if _, err := p.Parse([]byte("cut off")); err == nil {
			t.Fatal("want an error")
		}
		e, err = p.Parse([]byte(`5.6.7.8 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1`))
		if err != nil {
			t.Fatal(err)
		}
		if want := (fields{"5.6.7.8", docsTime, "GET", "/", 200, "", false, ""}); fieldsOf(e) != want {
			t.Fatalf("got %+v, want %+v", fieldsOf(e), want)
		}
	}
}
