package agentjobs

import (
	"testing"

	"footfall/internal/access"
	"footfall/internal/database"
)

// The first one of the projects that have the fewest runs is next; of one job, only one
// run at a time.
func TestNext(t *testing.T) {
	place := func(project string, id byte) *run {
		return &run{project: access.Project{ID: project}, id: database.JobID{id}}
	}
	running := func(runs ...*run) map[database.JobID]*run {
		all := make(map[database.JobID]*run)
		for _, r := range runs {
			all[r.id] = r
		}
		return all
	}
	many := []*run{place("many", 1), place("many", 2), place("few", 3), place("many", 4)}
	for name, test := range map[string]struct {
		queue   []*run
		running map[database.JobID]*run
		want    int
	}{
		"nothing waits":                   {nil, nil, -1},
		"in order":                        {many, nil, 0},
		"the other project has none":      {many, running(place("many", 9)), 2},
		"as many of both":                 {many, running(place("many", 9), place("few", 8)), 0},
		"a job whose run is still ending": {many, running(place("many", 1), place("few", 3)), 1},
		"all are still ending":            {many[:1], running(place("many", 1)), -1},
	} {
		js := &Jobs{queue: test.queue, running: test.running}
		if got := js.next(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
