package query_test

import (
	"fmt"
	"strings"
	"testing"

	"footfall/query"
	"footfall/sketch"
)

func TestAccuracyToTheByte(t *testing.T) {
	ranker := &ranks{answer: func(sketch.ProjectNumber, sketch.Range) (*sketch.Ranking, error) {
		return sketch.NewRanking(1, sketch.Count{Human: 8192, AI: 8193, Total: 9000}, []sketch.Row{
			{Path: "/a", Count: sketch.Count{Human: 2048, AI: 2049, Total: 4000}},
			{Path: "/b", Count: sketch.Count{Human: 1, AI: 0, Total: 1}},
		}), nil
	}}
	s := newSite(t, ranker)
	const plain = `{"totals":{"human":8192,"ai":8193,"total":9000},"visitors":[` +
		`{"path":"/a","human":2048,"ai":2049,"total":4000},{"path":"/b","human":1,"ai":0,"total":1}],"hasMore":false}`
	const exact = `{"exact":true,"relativeStandardError":0}`
	const path, all = `{"exact":false,"relativeStandardError":0.008125}`, `{"exact":false,"relativeStandardError":0.0040625}`
	accuracy := func(human, ai, total string) string {
		return fmt.Sprintf(`,"accuracy":{"human":%s,"ai":%s,"total":%s}}`, human, ai, total)
	}
	accurate := `{"totals":{"human":8192,"ai":8193,"total":9000` + accuracy(exact, all, all) + `,"visitors":[` +
		`{"path":"/a","human":2048,"ai":2049,"total":4000` + accuracy(exact, path, path) + `,` +
		`{"path":"/b","human":1,"ai":0,"total":1` + accuracy(exact, exact, exact) + `],"hasMore":false}`
	for text, want := range map[string]string{
		"":                        plain,
		"accuracy=false":          plain,
		"accuracy=true":           accurate,
		"accurac%79=tru%65":       accurate,
		"limit=2&accuracy=true":   accurate,
		"Accuracy=true":           plain,
		"accuracy=false&offset=0": plain,
	} {
		if _, got := s.get(text); got != want {
			t.Errorf("%q:\n%s, want\n%s", text, got, want)
		}
	}
	// Pages that follow say it as well.
	if _, got := s.get("accuracy=true&offset=1"); !strings.Contains(got, accuracy(exact, exact, exact)) || !strings.Contains(got, accuracy(exact, all, all)) {
		t.Errorf("the page that follows: %s", got)
	}
	for _, text := range []string{"", "1", "0", "True", "TRUE", "yes", "t", "true%20", "+true", "%zz", "true;"} {
		status, body := s.get("accuracy=" + text)
		if status != 400 {
			t.Errorf("accuracy=%s: status %d: %s", text, status, body)
			continue
		}
		checkDetails(t, body, "accuracy must be true or false")
	}
}

// What an answer calls exact is the true number, and it calls every such number
// exact: whatever the sets are, around the limits of path and site, and whatever
// was clamped to what.
func TestExactIsTrue(t *testing.T) {
	const site, path = 8192, 2048
	type visitors struct{ human, ai, both int }
	random := func(seed, most int) int { return int(uint64(seed)*0x9E3779B97F4A7C15>>33) % (most + 1) }
	var tests [][2]visitors // of /a and of /b
	for _, around := range []int{path, site} {
		for d := -1; d <= 1; d++ {
			n := around + d
			tests = append(tests,
				[2]visitors{{human: n}, {ai: n}},
				[2]visitors{{both: n}, {}},
				[2]visitors{{human: n / 2, ai: n - n/2}, {human: 1}},
				[2]visitors{{human: n - 1, both: 1}, {ai: 1}},
				[2]visitors{{ai: n - 1, both: 1}, {both: 3}},
			)
		}
	}
	for seed := range 60 {
		draw := func(i int) visitors {
			return visitors{random(9*seed+i, 5000), random(9*seed+i+1, 5000), random(9*seed+i+2, 3000)}
		}
		tests = append(tests, [2]visitors{draw(1), draw(4)})
	}
	o := newOffice(t)
	exact, clamped := 0, 0
	for number, test := range tests {
		views := new(pageViews)
		s := o.site(t, query.Options{Ranker: views})
		truth := make(map[string]visitors)
		next := uint64(number) << 32
		for i, v := range test {
			name := fmt.Sprintf("/%c", 'a'+i)
			all := truth[""]
			truth[name] = v
			truth[""] = visitors{all.human + v.human, all.ai + v.ai, all.both + v.both}
			for j := range v.human + v.ai + v.both {
				next++
				visitor := sketch.Hash(mix(next))
				if j < v.human+v.both {
					views.commit(s.project.Number, visit(name, visitor, sketch.Human, 0))
				}
				if j >= v.human {
					views.commit(s.project.Number, visit(name, visitor, sketch.AI, 0))
				}
			}
		}
		check := func(what string, got query.Count, limit int) {
			t.Helper()
			v := truth[what]
			for _, n := range []struct {
				name  string
				shown uint64
				true  int
				query.Exactness
			}{
				{"human", got.Human, v.human + v.both, got.Accuracy.Human},
				{"ai", got.AI, v.ai + v.both, got.Accuracy.AI},
				{"total", got.Total, v.human + v.ai + v.both, got.Accuracy.Total},
			} {
				if n.Exact != (n.true <= limit) || n.Exact && n.shown != uint64(n.true) || n.Exact != (n.RelativeStandardError == 0) {
					t.Errorf("%+v: %s of %q: shown %d of %d, %+v", test, n.name, what, n.shown, n.true, n.Exactness)
				}
				if n.Exact {
					exact++
				} else if n.shown == uint64(n.true) {
					clamped++ // to an exact number of the site, as good as always
				}
			}
		}
		page := s.page("accuracy=true")
		check("", page.Totals, site)
		for _, row := range page.Visitors {
			check(row.Path, row.Count, path)
		}
	}
	if exact == 0 || clamped == 0 {
		t.Errorf("%d numbers are exact, %d clamped", exact, clamped)
	}
}

// mix is the finalizer of splitmix64: hashes of visitors are uniform.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
