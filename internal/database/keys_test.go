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
		{"cells of a part", database.CellsPrefix(1, 2, 20_000), "v\x00\x00\x00\x00\x00\x00\x00\x01c\x02\x00\x00\x4e\x20"},
		{"cells", database.CellsKey(1, 2, 20_000, 3, 0x0405, 0x0607), "v\x00\x00\x00\x00\x00\x00\x00\x01c\x02\x00\x00\x4e\x20" +
			"\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x04\x05\x06\x07"},
		{"directory", database.DirectoryKey(1), "v\x00\x00\x00\x00\x00\x00\x00\x01d"},
		{"root", database.RootKey(1, 2, 20_000), "v\x00\x00\x00\x00\x00\x00\x00\x01r\x02\x00\x00\x4e\x20"},
		{"paths", database.PathPrefix(1), "v\x00\x00\x00\x00\x00\x00\x00\x01p"},
		{"path", database.PathKey(1, "/a"), "v\x00\x00\x00\x00\x00\x00\x00\x01p/a"},
		{"name of a path", database.PathNameKey(1, 20_000), "v\x00\x00\x00\x00\x00\x00\x00\x01q\x00\x00\x4e\x20"},
		{"receipts", database.ReceiptPrefix(1), "v\x00\x00\x00\x00\x00\x00\x00\x01i"},
		{"receipt", database.ReceiptKey(1, sum), "v\x00\x00\x00\x00\x00\x00\x00\x01i" + string(sum[:])},
		{"sources", database.SourcePrefix(1), "v\x00\x00\x00\x00\x00\x00\x00\x01m"},
		{"sources of a length", database.SourcesOfLength(1, 0x0102), "v\x00\x00\x00\x00\x00\x00\x00\x01m\x01\x02"},
		{"source", database.SourceKey(1, source), "v\x00\x00\x00\x00\x00\x00\x00\x01m\x01\x02" + string(sum[:])},
	}
	for _, test := range tests {
		if string(test.got) != test.want {
			t.Errorf("%s is %q, expected %q", test.name, test.got, test.want)
		}
	}
	id := database.JobID{1, 15: 16}
	for _, test := range []struct {
		name string
		got  []byte
		want string
	}{
		{"jobs of all", database.AllJobsPrefix(), "a"},
		{"jobs", database.JobsPrefix(0x0102), "a\x00\x00\x00\x00\x00\x00\x01\x02"},
		{"settings", database.JobSettingsKey(1), "a\x00\x00\x00\x00\x00\x00\x00\x01s"},
		{"job", database.JobKey(1, id), "a\x00\x00\x00\x00\x00\x00\x00\x01j" + string(id[:])},
		{"message", database.JobMessageKey(1, id, 20_000), "a\x00\x00\x00\x00\x00\x00\x00\x01m" + string(id[:]) + "\x00\x00\x4e\x20"},
		{"log", database.JobLogKey(1, id, 20_000), "a\x00\x00\x00\x00\x00\x00\x00\x01l" + string(id[:]) + "\x00\x00\x4e\x20"},
		{"receipt of a job", database.JobReceiptKey(1, sum), "a\x00\x00\x00\x00\x00\x00\x00\x01i" + string(sum[:])},
	} {
		if string(test.got) != test.want {
			t.Errorf("%s is %q, expected %q", test.name, test.got, test.want)
		}
	}
	kinds := []sketch.Kind{
		database.KindSource, database.KindProject, database.KindKey, database.KindCounter, database.KindPath, database.KindReceipt,
		database.KindDirectory, database.KindRoot, database.KindTable, database.KindSets, database.KindPathName,
		database.KindJob, database.KindJobMessage, database.KindJobLog, database.KindJobReceipt, database.KindJobSettings,
	}
	if want := []sketch.Kind{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}; !slices.Equal(kinds, want) {
		t.Errorf("kinds are %v, expected %v", kinds, want)
	}
}

var (
	anyProject = rapid.Map(rapid.Uint64(), func(n uint64) sketch.ProjectNumber { return sketch.ProjectNumber(n) })
	anyPath    = rapid.StringN(1, 20, 60)
)

// No key of one sort begins with the prefix of another: a drop of one project's
// visits, or a walk over projects, never meets anything else.
func TestPrefixesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		project, other := anyProject.Draw(t, "project"), anyProject.Draw(t, "other")
		path := anyPath.Draw(t, "path")
		level, run, group := rapid.Uint8().Draw(t, "level"), rapid.Uint32().Draw(t, "run"), rapid.Uint32().Draw(t, "group")
		source := sketch.SourceOf([]byte(path))
		id := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,62}`).Draw(t, "id")
		sorts := []struct{ prefix, key []byte }{
			{database.APIKeyPrefix(), database.APIKeyKey(source.Sum)},
			{database.ProjectPrefix(), database.ProjectKey(id)},
			{[]byte("n"), database.CounterKey(id)},
			{database.CellsPrefix(project, level, run), database.CellsKey(project, level, run, group, 7, 8)},
			{database.DirectoryKey(project), database.DirectoryKey(project)},
			{database.RootKey(project, level, run), database.RootKey(project, level, run)},
			{database.PathPrefix(project), database.PathKey(project, path)},
			{database.PathNameKey(project, group), database.PathNameKey(project, group)},
			{database.ReceiptPrefix(project), database.ReceiptKey(project, source.Sum)},
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

// Keys sort as what they stand for, and a key of cells tells its group and
// generation.
func TestKeysSort(t *testing.T) {
	type cells struct {
		project    sketch.ProjectNumber
		level      uint8
		run, group uint32
		generation sketch.Position
		ordinal    uint16
	}
	key := func(c cells) []byte {
		return database.CellsKey(c.project, c.level, c.run, c.group, c.generation, c.ordinal)
	}
	few := rapid.Uint64Range(0, 2)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) cells {
			n := func() uint64 {
				if rapid.Bool().Draw(t, label) {
					return few.Draw(t, label)
				}
				return rapid.Uint64().Draw(t, label)
			}
			return cells{sketch.ProjectNumber(n()), uint8(n()), uint32(n()), uint32(n()), sketch.Position(n()), uint16(n())}
		}
		a, b := draw("a"), draw("b")
		want := cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.level, b.level), cmp.Compare(a.run, b.run),
			cmp.Compare(a.group, b.group), cmp.Compare(a.generation, b.generation), cmp.Compare(a.ordinal, b.ordinal))
		if got := bytes.Compare(key(a), key(b)); got != want {
			t.Fatalf("%v and %v compare as %d", a, b, got)
		}
		if group, generation := database.CellsGroup(key(a)); group != a.group || generation != a.generation {
			t.Fatalf("%v is of group %d and generation %d", a, group, generation)
		}
		if part := bytes.HasPrefix(key(a), database.CellsPrefix(b.project, b.level, b.run)); part != (a.project == b.project && a.level == b.level && a.run == b.run) {
			t.Fatalf("%v is in the part of %v: %v", a, b, part)
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
		project, path := anyProject.Draw(t, "project"), anyPath.Draw(t, "path")
		source := sketch.SourceOf([]byte(path))
		pathKey, sourceKey := database.PathKey(project, path), database.SourceKey(project, source)
		if got := database.SplitPathKey(pathKey); string(got) != path {
			t.Fatalf("key %q is of path %q", pathKey, got)
		}
		if length, err := database.SourceLength(sourceKey); err != nil || length != source.Length {
			t.Fatalf("source %q has length %d, %v", sourceKey, length, err)
		}
		for _, key := range [][]byte{pathKey, sourceKey} {
			if got, err := database.VisitsProject(key); err != nil || got != project {
				t.Fatalf("key %q is of project %d, %v", key, got, err)
			}
		}
	})
}

// A key that is too short or too long, or of another sort, is an error.
func TestKeysThatDoNotSplit(t *testing.T) {
	source := database.SourceKey(1, sketch.SourceOf([]byte("head")))
	splits := []struct {
		name  string
		split func([]byte) error
		keys  [][]byte
	}{
		{"source", func(key []byte) error { _, err := database.SourceLength(key); return err },
			[][]byte{nil, source[:len(source)-1], append(slices.Clone(source), 0), database.PathKey(1, "/")}},
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
