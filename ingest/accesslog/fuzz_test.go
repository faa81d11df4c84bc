package accesslog_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"footfall/ingest/accesslog"
)

func FuzzParse(f *testing.F) {
	for _, line := range []string{
		`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`,
		`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"`,
		`127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326 "-" "a" "2001:db8::1, 1.2.3.4"`,
		`2001:db8::1 - a b [x] [29/Feb/2000:13:55:36 +0530] "GET /\"\\\xe4 b HTTP/2" 304 - "\\" "\b\n\r\t\v\x00\x7f\"\\" 0.005` + "\r",
		`- - - [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 226 "-" "-"`,
		`- - - [10/Oct/2000:13:55:36 -0700] "GET /" - - "-" "\q\x4"`,
		`unix: - - [10/Oct/2000:13:55:36 -0700] "-" 000 0`,
		`1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1 "-" "Mozilla`,
		nginxLine, `{"remote_addr":"\u0020","msec":1,"request_method":"GET","uri":"/%?#","status":0,"http_x_forwarded_for":"\ud83d"}`,
		caddyLine, `{"ts":"2022-03-09T21:30:01.5+0100","msg":"","request":{"remote_addr":"[::1]:1","method":"GET","uri":"/","headers":{"X-Forwarded-For":["a","b"]}},"status":200}`,
		cloudFrontLine, cloudFrontWith(map[int]string{7: "/a%252520", 10: "%2520%25", 11: "b=%25", 19: "1.2.3.4,%20::1"}), "#Version: 1.0",
		albHTTPLine, albHTTPSLine, albWebSocketLine, albLambdaLine,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var p accesslog.Parser
		before := bytes.Clone(line)
		e, err := p.Parse(line)
		if !bytes.Equal(line, before) {
			t.Fatal("Parse changed the line")
		}
		if errors.Is(err, accesslog.ErrNoRequest) {
			if len(line) == 0 || line[0] != '#' && line[0] != '{' {
				t.Errorf("%q is no comment", line)
			}
			return
		}
		if err != nil {
			var syntax *accesslog.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("%T, want a SyntaxError", err)
			}
			if syntax.Offset < 0 || syntax.Offset > len(line) || syntax.Field == "" || syntax.Reason == "" {
				t.Fatalf("%+v in a line of %d bytes", syntax, len(line))
			}
			return
		}

		got := fieldsOf(e)
		if got.host == "" {
			t.Error("no host")
		}
		if got.status < 0 || got.status > 999 {
			t.Errorf("status %d", got.status)
		}
		if (got.method == "") != (got.target == "") {
			t.Errorf("method %q, target %q: one without the other", got.method, got.target)
		}
		if !got.hasUserAgent && got.userAgent != "" {
			t.Errorf("user agent %q in a line that has none", got.userAgent)
		}
		if e.ForwardedFor != nil && (got.forwardedFor == "" || got.forwardedFor == "-") {
			t.Errorf("X-Forwarded-For %q, want nil", got.forwardedFor)
		}
		again := map[string][]byte{"nginx in JSON": writeNginxJSON(e)}
		if asCombined(got) {
			again["Apache"] = writeLine(e, escapeApache)
			again["nginx"] = writeLine(e, escapeNginx)
		}
		for server, line := range again {
			var other accesslog.Parser
			e, err := other.Parse(line)
			if err != nil {
				t.Fatalf("written again as %s does, %q: %v", server, line, err)
			}
			if fieldsOf(e) != got {
				t.Errorf("written again as %s does, %q:\n got %+v\nwant %+v", server, line, fieldsOf(e), got)
			}
		}
	})
}

// asCombined reports whether the combined format can tell all of f.
func asCombined(f fields) bool {
	return combinedHost.MatchString(f.host) && f.forwardedFor == "" &&
		(f.target == "" || strings.Trim(f.target, " ") == f.target && !endsInVersion.MatchString(f.target))
}

var (
	combinedHost  = regexp.MustCompile(`^[!$-z|}~][!-~]*$`)
	endsInVersion = regexp.MustCompile(`(^| )HTTP/\d(\.\d)?$`)
)

// writeNginxJSON writes e as a line of nginx in JSON.
func writeNginxJSON(e accesslog.Entry) []byte {
	line := fmt.Appendf(nil, `{"remote_addr":"%s","time_local":"%s","request_method":"%s","request_uri":"%s","status":%d,"http_x_forwarded_for":"%s"`,
		escapeJSON(e.Host), writeTime(e.Time), e.Method, escapeJSON(e.Target), e.Status, escapeJSON(e.ForwardedFor))
	if e.HasUserAgent {
		line = fmt.Appendf(line, `,"http_user_agent":"%s"`, escapeJSON(e.UserAgent))
	}
	return append(line, '}')
}

// escapeJSON escapes like ngx_escape_json.
func escapeJSON(field []byte) string {
	var out bytes.Buffer
	for _, c := range field {
		switch {
		case c == '"' || c == '\\':
			out.Write([]byte{'\\', c})
		case c < ' ':
			fmt.Fprintf(&out, `\u%04X`, c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// writeLine writes e as a log line.
func writeLine(e accesslog.Entry, escape func([]byte) string) []byte {
	request := "-"
	if len(e.Method) > 0 {
		// A space at either end of a target would count as a separator.
		request = string(e.Method) + " " + string(bytes.ReplaceAll([]byte(escape(e.Target)), []byte(" "), []byte(`\x20`))) + " HTTP/1.1"
	}
	line := fmt.Appendf(nil, `%s - - [%s] "%s" %03d -`, e.Host, writeTime(e.Time), request, e.Status)
	if e.HasUserAgent {
		line = fmt.Appendf(line, ` "-" "%s"`, escape(e.UserAgent))
	}
	return line
}

// writeTime writes a time of the Common Log Format.
func writeTime(seconds int64) string {
	// A year before 0 or after 9999, which an offset can reach, has no four digits.
	zone := time.UTC
	if first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); seconds < first {
		zone = time.FixedZone("", 23*3600+59*60)
	} else if last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix(); seconds > last {
		zone = time.FixedZone("", -(23*3600 + 59*60))
	}
	return time.Unix(seconds, 0).In(zone).Format(timeLayout)
}

// escapeApache escapes like ap_escape_logitem.
func escapeApache(field []byte) string {
	var out bytes.Buffer
	for _, c := range field {
		switch {
		case c == '"' || c == '\\':
			out.Write([]byte{'\\', c})
		case c == '\b':
			out.WriteString(`\b`)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '\v':
			out.WriteString(`\v`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&out, `\x%02x`, c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// escapeNginx escapes like ngx_http_log_escape.
func escapeNginx(field []byte) string {
	var out bytes.Buffer
	for _, c := range field {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&out, `\x%02X`, c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}
