package agentjobs

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The table of states in the documentation is the one of the code.
func TestStatesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/agentjobs.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		header := slices.Equal(cells, []string{"happening", "active", "completed", "failed", "archived"})
		if header || len(rows) > 0 && strings.HasPrefix(line, "|") {
			rows = append(rows, cells)
		} else if len(rows) > 0 {
			break
		}
	}
	if len(rows) < 3 {
		t.Fatal("docs/agentjobs.md has no table of states")
	}
	columns := rows[0][1:]
	documented := make(map[happening]map[Status]Status)
	for _, row := range rows[2:] { // The second one is the line below the header.
		if len(row) != len(rows[0]) || documented[happening(row[0])] != nil {
			t.Fatalf("a row of the table is %q", row)
		}
		documented[happening(row[0])] = make(map[Status]Status)
		for i, cell := range row[1:] {
			if cell != "refused" {
				documented[happening(row[0])][Status(columns[i])] = Status(cell)
			}
		}
	}
	if len(documented) != len(transitions) {
		t.Errorf("the documentation has %d happenings, the code %d", len(documented), len(transitions))
	}
	for h := range transitions {
		for _, s := range statuses {
			next, allowed := s.after(h)
			if want, also := documented[h][s]; next != want || allowed != also {
				t.Errorf("%s of a job that is %s: the code says %q, the documentation %q", h, s, next, want)
			}
			if allowed && !slices.Contains(statuses, next) {
				t.Errorf("%s leads to %q", h, next)
			}
		}
	}
}
