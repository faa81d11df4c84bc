package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"footfall/internal/store"
	"footfall/sketch"
)

// viewsByPath returns the views of the rows of all days.
func viewsByPath(t *testing.T, a *app) map[string]uint64 {
	t.Helper()
	project, _ := a.registry.Project("docs")
	ranking, err := store.Rank(t.Context(), a.store, project.Number, sketch.AllDays())
	if err != nil {
		t.Fatal(err)
	}
	views := make(map[string]uint64)
	for _, row := range ranking.Rows {
		views[row.Path] = row.Views[sketch.Human] + row.Views[sketch.AI]
	}
	return views
}

// exported is what an export answers.
type exported struct {
	Totals   struct{ Human, AI, Total uint64 }
	Visitors []struct {
		Path             string
		Human, AI, Total uint64
	}
	HasMore bool
}

// rows exports a range and returns the rows by path, and the site's visitors.
func rows(t *testing.T, p *process, key, within string) (total uint64, byPath map[string]uint64) {
	t.Helper()
	byPath = make(map[string]uint64)
	for offset := 0; ; {
		status, text := request(t, "GET", fmt.Sprintf("%s/v1/analytics/docs/visitors?limit=100&offset=%d%s", p.url, offset, within), key, nil)
		var page exported
		if err := json.Unmarshal([]byte(text), &page); err != nil || status != http.StatusOK {
			t.Fatalf("status %d: %s", status, text)
		}
		for _, row := range page.Visitors {
			byPath[row.Path] = row.Total
		}
		offset += len(page.Visitors)
		if total = page.Totals.Total; !page.HasMore {
			return total, byPath
		}
	}
}

// TestPathLimits: at most so many paths of a day and of a project have a row of
// their own; what comes above counts in the row (other) and in the site's totals,
// shows in a metric and once in the log, and the same after a restart and a kill.
func TestPathLimits(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	limits := []string{"--max-paths-per-day=50", "--max-paths=80"}
	p := serve(t, data, limits...)
	// Each page of a day has a visitor of its own, and one who sees all.
	send := func(day, from, to int) {
		t.Helper()
		var body strings.Builder
		for page := from; page < to; page++ {
			for _, visitor := range []string{"all", fmt.Sprintf("%d", page)} {
				fmt.Fprintf(&body, `{"path":"/%d","visitorId":%q,"traffic":"human","timestamp":"2026-01-%02dT00:00:00Z"}`+"\n", page, visitor, day)
			}
		}
		if response, text := sendEvents(t, p.url, key, strings.NewReader(body.String()), nil); response.StatusCode != http.StatusAccepted {
			t.Fatalf("status %d: %s", response.StatusCode, text)
		}
	}
	check := func(within string, visitors, own int, other uint64) {
		t.Helper()
		total, byPath := rows(t, p, key, within)
		if total != uint64(visitors) {
			t.Errorf("%q: the site has %d visitors, want %d", within, total, visitors)
		}
		if got := byPath[sketch.OtherPath]; got != other {
			t.Errorf("%q: the row (other) has %d visitors, want %d", within, got, other)
		}
		delete(byPath, sketch.OtherPath)
		if len(byPath) != own {
			t.Errorf("%q: %d rows of their own, want %d", within, len(byPath), own)
		}
		for path, visitors := range byPath {
			if visitors != 2 {
				t.Errorf("%q: %s has %d visitors, want 2", within, path, visitors)
			}
		}
	}
	overflow := func(want string) {
		t.Helper()
		_, text := request(t, "GET", p.metrics+"/metrics", "", nil)
		if got := regexp.MustCompile(`(?m)^footfall_overflow_views_total (\S+)$`).FindStringSubmatch(text); got == nil || got[1] != want {
			t.Errorf("footfall_overflow_views_total is %v, want %s", got, want)
		}
		warnings := regexp.MustCompile(`level=WARN msg="A project has more paths`).FindAllString(p.log.String(), -1)
		if want == "0" && len(warnings) > 0 || want != "0" && len(warnings) != 1 {
			t.Errorf("%d warnings with %s views too many", len(warnings), want)
		}
	}
	const first, second, third = "&dateFrom=2026-01-01&dateTo=2026-01-02", "&dateFrom=2026-01-02&dateTo=2026-01-03", "&dateFrom=2026-01-03&dateTo=2026-01-04"
	send(1, 0, 45)
	overflow("0")
	send(1, 40, 60) // 50 to 59 are too many for the day.
	overflow("20")
	check(first, 61, 50, 11)
	send(2, 30, 75) // 50 known and 25 new ones make 75: as many as the day has.
	overflow("20")
	check(second, 46, 45, 0)
	send(2, 75, 85) // 75 to 79 have a row; then the day and the project are full.
	overflow("30")
	check(second, 56, 50, 6)
	check("", 86, 80, 16)

	for round := range 2 {
		if round == 0 {
			p.stop(t)
		} else {
			p.kill(t)
		}
		p = serve(t, data, limits...)
		check(first, 61, 50, 11)
		check(second, 56, 50, 6)
		overflow("0")
		send(3, 60, 90) // 20 known ones have rows of the day too; new ones have none.
		send(3, 60, 90)
		overflow("40")
		check(third, 31, 20, 11)
		check("", 91, 80, 21)
	}
	p.stop(t)
}
