package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"footfall/bench/workload"
	"footfall/query"
	"footfall/sketch"
)

// TestDemo starts the demo and does what it says: its curl line must give the
// answer that it prints.
func TestDemo(t *testing.T) {
	shown := &lines{changed: make(chan struct{})}
	cmd := exec.Command(binary, "demo", "--listen", "127.0.0.1:0")
	cmd.Stdout, cmd.Stderr = shown, shown
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, log: shown, done: make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }() // It may have ended.

	line := shown.find(t, `curl -H 'Authorization: Bearer (\S+)' '(\S+)'\n\n(\{.*\})\n(?s:.*)Ctrl-C`, p.done)
	status, answer := request(t, http.MethodGet, line[2], line[1], nil)
	if status != http.StatusOK || answer != line[3]+"\n" {
		t.Errorf("the curl line is answered with %d %s, the demo showed %s", status, answer, line[3])
	}
	exact := shown.find(t, `known: (\d+) human, (\d+) AI, (\d+) in total`, p.done)
	totals := fmt.Sprintf(`"totals":{"human":%s,"ai":%s,"total":%s}`, exact[1], exact[2], exact[3])
	if !strings.Contains(answer, totals) {
		t.Errorf("the answer is %s, exact are %s", answer, totals)
	}
	p.stop(t)
}

// TestSampleLog imports a made-up log, in which every kind of line stands, and
// holds what is answered to what the generator meant, over several ranges: small
// sets exactly, large ones within five standard errors.
func TestSampleLog(t *testing.T) {
	data := t.TempDir()
	newDocs(t, data)
	name := filepath.Join(t.TempDir(), "access.log")
	from, err := sketch.ParseDay("2026-01-01")
	if err != nil {
		t.Fatal(err)
	}
	truth, err := writeSample(name, workload.AccessLogConfig{Seed: 7, From: from, Days: 40, Lines: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	out := must(t, "import", "--data", data, "--project", "docs", name)
	want := fmt.Sprintf("%d lines: %d human views, %d AI views, %d malformed\n",
		truth.Lines, truth.Views[sketch.Human], truth.Views[sketch.AI], len(truth.MalformedLines))
	if !strings.HasPrefix(out, want) {
		t.Errorf("import printed\n%swant\n%s", out, want)
	}

	p := serve(t, data)
	key := strings.TrimSpace(must(t, "key", "create", "--data", data, "--project", "docs", "--scope", "read"))
	for _, within := range []sketch.Range{
		{From: from, To: from + 1}, {From: from + 3, To: from + 10}, {From: from + 39, To: from + 40}, truth.Days(),
	} {
		totals, rows := truth.Count(within)
		url := fmt.Sprintf("%s/v1/analytics/docs/visitors?limit=250&dateFrom=%v&dateTo=%v", p.url, within.From, within.To)
		status, answer := request(t, http.MethodGet, url, key, nil)
		var page query.Page
		if err := json.Unmarshal([]byte(answer), &page); status != http.StatusOK || err != nil {
			t.Fatalf("status %d: %s (%v)", status, answer, err)
		}
		compareCount(t, "the site", sketch.SitePrecision, page.Totals, totals.Visitors)
		got := make(map[string]query.Count)
		for _, row := range page.Visitors {
			got[row.Path] = row.Count
		}
		if len(got) != len(rows) {
			t.Errorf("%v: %d rows, want %d", within, len(got), len(rows))
		}
		for _, row := range rows {
			compareCount(t, row.Path, sketch.PathPrecision, got[row.Path], row.Visitors)
		}
	}
	p.stop(t)
}

func compareCount(t *testing.T, what string, p sketch.Precision, got query.Count, want sketch.Count) {
	t.Helper()
	check := func(kind string, got, want uint64) {
		t.Helper()
		off := math.Abs(float64(got) - float64(want))
		if want <= uint64(p.ExactLimit()) && off != 0 || off > 5*1.04/math.Sqrt(float64(p.Registers()))*float64(want) {
			t.Errorf("%s has %d %s visitors, want %d", what, got, kind, want)
		}
	}
	check("human", got.Human, want.Human)
	check("AI", got.AI, want.AI)
	check("distinct", got.Total, want.Total)
}
