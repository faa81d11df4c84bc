package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"footfall/query"
)

// The days before the one that is named are gone, with a server and without, and
// stay gone; the others and what comes late count.
func TestPrune(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	p := serve(t, data)
	view := func(day, visitor string) {
		t.Helper()
		body := `{"path":"/","visitorId":"` + visitor + `","traffic":"human","timestamp":"` + day + `T12:00:00Z"}`
		if status, answer := request(t, http.MethodPost, p.url+"/v1/analytics/docs/events", key, strings.NewReader(body)); status != http.StatusAccepted {
			t.Fatalf("status %d: %s", status, answer)
		}
	}
	want := func(total uint64) {
		t.Helper()
		status, answer := request(t, http.MethodGet, p.url+"/v1/analytics/docs/visitors", key, nil)
		var page query.Page
		if err := json.Unmarshal([]byte(answer), &page); status != http.StatusOK || err != nil || page.Totals.Total != total {
			t.Fatalf("status %d: %s (%v), want %d visitors", status, answer, err, total)
		}
	}
	for i, day := range []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"} {
		view(day, string(rune('a'+i)))
	}
	want(4)
	must(t, "project", "prune", "docs", "--before", "2026-01-03", "--data", data)
	want(2)
	p.stop(t)
	must(t, "project", "prune", "docs", "--before", "2026-01-04", "--data", data)
	p = serve(t, data)
	want(1)
	view("2026-01-01", "late")
	want(2)
	p.stop(t)

	refuse(t, "calendar day", "project", "prune", "docs", "--before", "yesterday", "--data", data)
	refuse(t, "before", "project", "prune", "docs", "--data", data)
	refuse(t, "other", "project", "prune", "other", "--before", "2026-01-04", "--data", data)
}
