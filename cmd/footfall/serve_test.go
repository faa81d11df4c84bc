package main

import (
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestServe sends page views to the running binary and reads them back, from
// memory, after a restart, and over ranges of days.
func TestServe(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	p := serve(t, data)
	body := `{"path":"/guides/","visitorId":"a","traffic":"human","timestamp":"2026-03-01T10:00:00Z"}
{"path":"/guides","visitorId":"a","traffic":"human","timestamp":"2026-03-02T10:00:00Z"}
{"path":"https://docs.example.com/guides?utm=1","visitorId":"b","userAgent":"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)","timestamp":"2026-03-02T11:00:00Z"}
{"path":"/","ip":"192.0.2.1","userAgent":"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"}
{"path":"/"}
`
	status, answer := request(t, "POST", p.url+"/v1/analytics/docs/events", key, strings.NewReader(body))
	want := `{"accepted":3,"rejected":1,"ignored":1,"errors":[{"index":4,"error":"visitorId, or ip and userAgent together, is required"}]}` + "\n"
	if status != http.StatusAccepted || answer != want {
		t.Fatalf("status %d: %s, want %s", status, answer, want)
	}
	exports := []struct{ query, want string }{
		{"", `{"totals":{"human":1,"ai":1,"total":2},"visitors":[{"path":"/guides","human":1,"ai":1,"total":2}],"hasMore":false}`},
		{"?dateFrom=2026-03-01&dateTo=2026-03-02", `{"totals":{"human":1,"ai":0,"total":1},"visitors":[{"path":"/guides","human":1,"ai":0,"total":1}],"hasMore":false}`},
		{"?dateTo=2026-03-01T23:59:59.999999+00:00", `{"totals":{"human":0,"ai":0,"total":0},"visitors":[],"hasMore":false}`},
		{"?offset=1", `{"totals":{"human":1,"ai":1,"total":2},"visitors":[],"hasMore":false}`},
	}
	check := func(p *process) {
		t.Helper()
		for _, export := range exports {
			status, answer := request(t, "GET", p.url+"/v1/analytics/docs/visitors"+export.query, key, nil)
			if status != http.StatusOK || answer != export.want+"\n" {
				t.Errorf("%s: status %d: %s, want %s", export.query, status, answer, export.want)
			}
		}
	}
	check(p)
	for _, path := range []string{"/healthz", "/readyz"} {
		for _, base := range []string{p.url, p.metrics} {
			if status, _ := request(t, "GET", base+path, "", nil); status != http.StatusOK {
				t.Errorf("%s answers %d", base+path, status)
			}
		}
	}
	p.stop(t)
	p = serve(t, data)
	check(p)
	p.kill(t)
	p = serve(t, data)
	check(p)
	if strings.Contains(p.log.String(), key) {
		t.Error("the log holds the key")
	}
	p.stop(t)
}

// TestMetrics: every metric of ours that the server shows is listed in
// docs/metrics.md and the other way round, and promtool finds nothing wrong.
func TestMetrics(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	p := serve(t, data)
	request(t, "POST", p.url+"/v1/analytics/docs/events", key, strings.NewReader(`{"path":"/","visitorId":"a","traffic":"ai"}`))
	request(t, "GET", p.url+"/v1/analytics/docs/visitors", key, nil)
	status, text := request(t, "GET", p.metrics+"/metrics", "", nil)
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, sample := range []string{
		`footfall_events_total{result="accepted",traffic="ai"} 1`,
		`footfall_commit_duration_seconds_count 1`,
		`footfall_query_duration_seconds_count 1`,
		`footfall_log_position 1`,
	} {
		if !strings.Contains(text, sample+"\n") {
			t.Errorf("there is no %s", sample)
		}
	}
	shown := names(text, `(?m)^# TYPE (footfall_\w+)`)
	listed := names(readFile(t, "../../docs/metrics.md"), "`(footfall_\\w+)`")
	for name := range shown {
		if !listed[name] {
			t.Errorf("docs/metrics.md does not list %s", name)
		}
	}
	for name := range listed {
		// A metric with a label shows no sample before the label's first value.
		if !shown[name] && !strings.HasPrefix(name, "footfall_badger_") {
			t.Errorf("docs/metrics.md lists %s, which is not shown", name)
		}
	}
	if status, _ := request(t, "GET", p.url+"/metrics", "", nil); status != http.StatusNotFound {
		t.Errorf("clients get metrics: status %d", status)
	}
	p.stop(t)
	if promtool, err := exec.LookPath("promtool"); err == nil {
		check := exec.Command(promtool, "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
}

func names(text, pattern string) map[string]bool {
	found := make(map[string]bool)
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}
