package accesslog_test

import (
	"errors"
	"strings"
	"testing"

	"footfall/ingest/accesslog"
)

// One parser reads lines of any format in any order: nothing carries over.
func TestParseMixed(t *testing.T) {
	lines := []string{
		browserLine, escapedLine, commonLine, forwardedLine, nginxLine, caddyLine, caddyBrowserLine,
		cloudFrontLine, cloudFrontWith(map[int]string{10: "%2522", 11: "a=%2520", 19: "::1,%20::2"}), albHTTPLine, albHTTPSLine, cutOffLine, "#Version: 1.0",
	}
	want := make([]fields, len(lines))
	for i, line := range lines {
		var fresh accesslog.Parser
		e, _ := fresh.Parse([]byte(line)) // A malformed line is the empty entry.
		want[i] = fieldsOf(e)
	}
	var p accesslog.Parser
	for range 2 {
		for i, line := range lines {
			for j, other := range lines {
				if _, err := p.Parse([]byte(line)); err != nil && line != cutOffLine && !errors.Is(err, accesslog.ErrNoRequest) {
					t.Fatalf("Parse(%q): %v", line, err)
				}
				e, _ := p.Parse([]byte(other))
				if got := fieldsOf(e); got != want[j] {
					t.Errorf("line %d after line %d:\n got %+v\nwant %+v", j, i, got, want[j])
				}
			}
		}
	}
}

// A line of CloudFront's or of a load balancer's that was cut off is malformed,
// or tells the same as the whole one: then what is missing is read by nobody.
func TestParseCutOffAWS(t *testing.T) {
	for name, test := range map[string]struct {
		line  string
		whole int // from which length on the line counts as whole
	}{
		"CloudFront": {cloudFrontLine, len(cloudFrontLine)},
		"ALB":        {albHTTPSLine, strings.Index(albHTTPSLine, ` "www.example.com" "arn`)},
	} {
		var p accesslog.Parser
		e, err := p.Parse([]byte(test.line))
		if err != nil {
			t.Fatal(err)
		}
		want := fieldsOf(e)
		for length := range len(test.line) {
			e, err := p.Parse([]byte(test.line[:length]))
			if (err == nil) != (length >= test.whole) {
				t.Errorf("%s: Parse(%q): %v", name, test.line[:length], err)
			}
			if err == nil && fieldsOf(e) != want {
				t.Errorf("%s: Parse(%q) = %+v, want %+v", name, test.line[:length], fieldsOf(e), want)
			}
		}
	}
}
