package database_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"footfall/internal/database"
	"footfall/sketch"
)

// Keys are on disk: their bytes do not change.
func TestKeysAreFrozen(t *testing.T) {
	sum := [32]byte{1, 2, 31: 32}
	source := sketch.Source{Length: 0x0102, Sum: sum}
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"API key", database.APIKeyKey(sum), "k" + string(sum[:])},
		{"API keys", database.APIKeyPrefix(), "k"},
		{"counter", database.CounterKey("checkpoint"), "ncheckpoint"},
		{"project", database.ProjectKey("docs"), "pdocs\x00"},
		{"projects", database.ProjectPrefix(), "p"},
		{"visits of all", database.AllVisitsPrefix(), "v"},
		{"visits", database.VisitsPrefix(0x0102), "v\x00\x00\x00\x00\x00\x00\x01\x02"},
		{"cells", database.CellPrefix(1), "v\x00\x00\x00\x00\x00\x00\x00\x01c"},
		{"cells of a day", database.CellDay(1, 20_000), "v\x00\x00\x00\x00\x00\x00\x00\x01c\x00\x00\x4e\x20"},
		{"cell", database.CellKey(1, 20_000, "/a"), "v\x00\x00\x00\x00\x00\x00\x00\x01c\x00\x00\x4e\x20/a"},
		{"sites", database.SitePrefix(1), "v\x00\x00\x00\x00\x00\x00\x00\x01s"},
		{"site", database.SiteKey(1, 20_000), "v\x00\x00\x00\x00\x00\x00\x00\x01s\x00\x00\x4e\x20"},
		{"sources", database.SourcePrefix(1), "v\x00\x00\x00\x00\x00\x00\x00\x01m"},
		{"sources of a length", database.SourcesOfLength(1, 0x0102), "v\x00\x00\x00\x00\x00\x00\x00\x01m\x01\x02"},
		{"source", database.SourceKey(1, source), "v\x00\x00\x00\x00\x00\x00\x00\x01m\x01\x02" + string(sum[:])},
	}
	for _, test := range tests {
		if string(test.got) != test.want {
			t.Errorf("%s is %q, expected %q", test.name, test.got, test.want)
		}
	}
	kinds := []sketch.Kind{sketch.KindCell, database.KindSource, database.KindProject, database.KindKey, database.KindCounter}
	if want := []sketch.Kind{1, 2, 3, 4, 5}; !slices.Equal(kinds, want) {
		t.Errorf("kinds are %v, expected %v", kinds, want)
	}
}

var (
	anyProject = rapid.Map(rapid.Uint64(), func(n uint64) sketch.ProjectNumber { return sketch.ProjectNumber(n) })
	anyDay     = rapid.Map(rapid.Int32Range(0, int32(sketch.LastDay)), func(n int32) sketch.Day { return sketch.Day(n) })
	anyPath    = rapid.StringN(1, 20, 60)
)

// No key of one sort begins with the prefix of another: a drop of one project's
// visits, or a walk over projects, never meets anything else.
func TestPrefixesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		project, other := anyProject.Draw(t, "project"), anyProject.Draw(t, "other")
		day, path := anyDay.Draw(t, "day"), anyPath.Draw(t, "path")
		source := sketch.SourceOf([]byte(path))
		id := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,62}`).Draw(t, "id")
		sorts := []struct{ prefix, key []byte }{
			{database.APIKeyPrefix(), database.APIKeyKey(source.Sum)},
			{database.ProjectPrefix(), database.ProjectKey(id)},
			{[]byte("n"), database.CounterKey(id)},
			{database.CellPrefix(project), database.CellKey(project, day, path)},
			{database.SitePrefix(project), database.SiteKey(project, day)},
			{database.SourcePrefix(project), database.SourceKey(project, source)},
		}
		for i, a := range sorts {
			for j, b := range sorts {
				if begins := bytes.HasPrefix(b.key, a.prefix); begins != (i == j) {
					t.Fatalf("key %q begins with %q: %v", b.key, a.prefix, begins)
				}
			}
			visits := i >= 3
			if begins := bytes.HasPrefix(a.key, database.VisitsPrefix(project)); begins != visits {
				t.Fatalf("key %q begins with that of the project's visits: %v", a.key, begins)
			}
			if begins := bytes.HasPrefix(a.key, database.AllVisitsPrefix()); begins != visits {
				t.Fatalf("key %q begins with that of all visits: %v", a.key, begins)
			}
			if other != project && bytes.HasPrefix(a.key, database.VisitsPrefix(other)) {
				t.Fatalf("key %q is of another project, too", a.key)
			}
		}
	})
}

// Keys sort as what they stand for: by project, then by day, then by path.
func TestKeysSort(t *testing.T) {
	type cell struct {
		project sketch.ProjectNumber
		day     sketch.Day
		path    string
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) cell {
			return cell{anyProject.Draw(t, label), anyDay.Draw(t, label), anyPath.Draw(t, label)}
		}
		a, b := draw("a"), draw("b")
		if rapid.Bool().Draw(t, "of one project") {
			b.project = a.project
			if rapid.Bool().Draw(t, "of one day") {
				b.day = a.day
			}
		}
		byProject := cmp.Compare(a.project, b.project)
		byDay := cmp.Or(byProject, cmp.Compare(a.day, b.day))
		byPath := cmp.Or(byDay, cmp.Compare(a.path, b.path))
		if got := bytes.Compare(database.CellKey(a.project, a.day, a.path), database.CellKey(b.project, b.day, b.path)); got != byPath {
			t.Fatalf("cells of %v and %v compare as %d", a, b, got)
		}
		if got := bytes.Compare(database.SiteKey(a.project, a.day), database.SiteKey(b.project, b.day)); got != byDay {
			t.Fatalf("sites of %v and %v compare as %d", a, b, got)
		}
		if got := bytes.Compare(database.VisitsPrefix(a.project), database.VisitsPrefix(b.project)); got != byProject {
			t.Fatalf("projects %v and %v compare as %d", a, b, got)
		}
		// A day's cells begin at CellDay and end at that of the next day.
		key := database.CellKey(a.project, a.day, a.path)
		if bytes.Compare(key, database.CellDay(a.project, a.day)) <= 0 || bytes.Compare(key, database.CellDay(a.project, a.day+1)) >= 0 {
			t.Fatalf("cell %q is not within its day", key)
		}
	})
}

func TestSourcesSortByLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		project := anyProject.Draw(t, "project")
		length := rapid.Uint16Range(1, sketch.SourceHead)
		a, b := sketch.Source{Length: length.Draw(t, "a")}, sketch.Source{Length: length.Draw(t, "b")}
		copy(a.Sum[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "sum a"))
		copy(b.Sum[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "sum b"))
		want := cmp.Or(cmp.Compare(a.Length, b.Length), bytes.Compare(a.Sum[:], b.Sum[:]))
		if got := bytes.Compare(database.SourceKey(project, a), database.SourceKey(project, b)); got != want {
			t.Fatalf("sources %v and %v compare as %d", a, b, got)
		}
		if bytes.Compare(database.SourceKey(project, a), database.SourcesOfLength(project, a.Length+1)) >= 0 {
			t.Fatalf("source %v is not before those that are longer", a)
		}
	})
}

func TestKeysSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		project, day, path := anyProject.Draw(t, "project"), anyDay.Draw(t, "day"), anyPath.Draw(t, "path")
		source := sketch.SourceOf([]byte(path))
		cell, site, sourceKey := database.CellKey(project, day, path), database.SiteKey(project, day), database.SourceKey(project, source)
		if gotDay, gotPath, err := database.SplitCellKey(cell); err != nil || gotDay != day || string(gotPath) != path {
			t.Fatalf("cell %q is of day %d and path %q, %v", cell, gotDay, gotPath, err)
		}
		if gotDay, err := database.SplitSiteKey(site); err != nil || gotDay != day {
			t.Fatalf("site %q is of day %d, %v", site, gotDay, err)
		}
		if length, err := database.SourceLength(sourceKey); err != nil || length != source.Length {
			t.Fatalf("source %q has length %d, %v", sourceKey, length, err)
		}
		for _, key := range [][]byte{cell, site, sourceKey} {
			if got, err := database.VisitsProject(key); err != nil || got != project {
				t.Fatalf("key %q is of project %d, %v", key, got, err)
			}
		}
	})
}

// A key that is too short or too long, or of another sort, is an error.
func TestKeysThatDoNotSplit(t *testing.T) {
	cell, site := database.CellKey(1, 2, "/"), database.SiteKey(1, 2)
	source := database.SourceKey(1, sketch.SourceOf([]byte("head")))
	splits := []struct {
		name  string
		split func([]byte) error
		keys  [][]byte
	}{
		{"cell", func(key []byte) error { _, _, err := database.SplitCellKey(key); return err },
			[][]byte{nil, cell[:len(cell)-1], cell[:5]}},
		{"site", func(key []byte) error { _, err := database.SplitSiteKey(key); return err },
			[][]byte{nil, site[:len(site)-1], append(slices.Clone(site), 0), cell}},
		{"source", func(key []byte) error { _, err := database.SourceLength(key); return err },
			[][]byte{nil, source[:len(source)-1], append(slices.Clone(source), 0), site}},
		{"project", func(key []byte) error { _, err := database.VisitsProject(key); return err },
			[][]byte{nil, database.VisitsPrefix(1)[:8], database.ProjectKey("documentation"), database.APIKeyKey([32]byte{})}},
	}
	for _, s := range splits {
		for _, key := range s.keys {
			if s.split(key) == nil {
				t.Errorf("%s: key %q splits", s.name, key)
			}
		}
	}
}
