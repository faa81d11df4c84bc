package accesslog_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"footfall/ingest/accesslog"
)

func FuzzParse(f *testing.F) {
	for _, line := range []string{
		`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`,
		`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"`,
		`2001:db8::1 - a b [x] [29/Feb/2000:13:55:36 +0530] "GET /\"\\\xe4 b HTTP/2" 304 - "\\" "\b\n\r\t\v\x00\x7f\"\\" 0.005` + "\r",
		`- - - [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 226 "-" "-"`,
		`- - - [10/Oct/2000:13:55:36 -0700] "GET /" - - "-" "\q\x4"`,
		`unix: - - [10/Oct/2000:13:55:36 -0700] "-" 000 0`,
		`1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1 "-" "Mozilla`,
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
		if !bytes.HasPrefix(line, []byte(got.host+" ")) {
			t.Errorf("host %q is not the line's", got.host)
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
		for server, escape := range map[string]func([]byte) string{"Apache": escapeApache, "nginx": escapeNginx} {
			again := writeLine(e, escape)
			var other accesslog.Parser
			e, err := other.Parse(again)
			if err != nil {
				t.Fatalf("written again as %s does, %q: %v", server, again, err)
			}
			if fieldsOf(e) != got {
				t.Errorf("written again as %s does, %q:\n got %+v\nwant %+v", server, again, fieldsOf(e), got)
			}
		}
	})
}

// writeLine writes e as a log line.
func writeLine(e accesslog.Entry, escape func([]byte) string) []byte {
	// A year before 0 or after 9999, which an offset can reach, has no four digits.
	zone := time.UTC
	if first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); e.Time < first {
		zone = time.FixedZone("", 23*3600+59*60)
	} else if last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix(); e.Time > last {
		zone = time.FixedZone("", -(23*3600 + 59*60))
	}
	request := "-"
	if len(e.Method) > 0 {
		// A space at either end of a target would count as a separator.
		request = string(e.Method) + " " + string(bytes.ReplaceAll([]byte(escape(e.Target)), []byte(" "), []byte(`\x20`))) + " HTTP/1.1"
	}
	line := fmt.Appendf(nil, `%s - - [%s] "%s" %03d -`, e.Host, time.Unix(e.Time, 0).In(zone).Format(timeLayout), request, e.Status)
	if e.HasUserAgent {
		line = fmt.Appendf(line, ` "-" "%s"`, escape(e.UserAgent))
	}
	return line
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
