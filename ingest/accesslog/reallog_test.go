package accesslog_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"footfall/ingest/accesslog"
)

// realLog returns the lines of a real server's log, in Apache's combined format.
func realLog(tb testing.TB) [][]byte {
	tb.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "access-2015.log")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("%s is missing: it is kept beside the project, not in it", path)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))
}

// combined reads a line in the combined format slowly and plainly.
var combined = regexp.MustCompile(`^(\S+) \S+ .+? \[([^]]+)\] "([A-Z]+) (\S+) HTTP/1\.[01]" (\d{3}) (?:\d+|-) "(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)"$`)

func parseByRegexp(line []byte) (fields, bool) {
	m := combined.FindSubmatch(line)
	if m == nil {
		return fields{}, false
	}
	when, err := time.Parse(timeLayout, string(m[2]))
	if err != nil {
		return fields{}, false
	}
	status, err := strconv.Atoi(string(m[5]))
	if err != nil {
		return fields{}, false
	}
	return fields{string(m[1]), when.Unix(), string(m[3]), string(m[4]), status, string(m[6]), true, ""}, true
}

func TestRealLog(t *testing.T) {
	const cutOff = 8899
	lines := realLog(t)
	if len(lines) != 10000 {
		t.Errorf("%d lines, want 10000", len(lines))
	}
	var p accesslog.Parser
	for i, line := range lines {
		number := i + 1
		e, err := p.Parse(line)
		if number == cutOff {
			var syntax *accesslog.SyntaxError
			if !errors.As(err, &syntax) || syntax.Field != accesslog.FieldUserAgent {
				t.Errorf("line %d: %v, want its user agent malformed", number, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("line %d: %v", number, err)
			continue
		}
		want, ok := parseByRegexp(line)
		if !ok {
			t.Errorf("line %d: the regular expression does not match", number)
			continue
		}
		if got := fieldsOf(e); got != want {
			t.Errorf("line %d:\n got %+v\nwant %+v", number, got, want)
		}
	}
}
