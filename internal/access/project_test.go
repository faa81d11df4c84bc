package access_test

import (
	"crypto/rand"
	"errors"
	"reflect"
	"strings"
	"testing"

	"footfall/internal/access"
	"footfall/sketch"
)

func TestProjectIDs(t *testing.T) {
	o := newOffice(t)
	taken := []string{"a", "0", "docs", "docs-2", "0-0", "a-", "a--b", strings.Repeat("z", 63)}
	for _, id := range taken {
		if p := o.project(id); p.ID != id {
			t.Errorf("project %q was created as %q", id, p.ID)
		}
	}
	refused := []string{
		"", "-", "-docs", "Docs", "docs_2", "docs.io", "docs/2", "do cs", "docs\n", "\ndocs", "dócs", "٣", strings.Repeat("z", 64),
	}
	for _, id := range refused {
		if _, err := o.CreateProject(id); !errors.Is(err, access.ErrProjectID) {
			t.Errorf("project ID %q: %v, want ErrProjectID", id, err)
		}
	}
	if got := len(o.Projects()); got != len(taken) {
		t.Errorf("%d projects, want %d", got, len(taken))
	}
}

func TestProjectsAreListedByID(t *testing.T) {
	o := newOffice(t)
	for _, id := range []string{"b", "c", "a"} {
		o.project(id)
	}
	var ids []string
	for _, p := range o.Projects() {
		ids = append(ids, p.ID)
	}
	if got := strings.Join(ids, " "); got != "a b c" {
		t.Errorf("projects %s", got)
	}
}

func TestProjectExists(t *testing.T) {
	o := newOffice(t)
	before := o.project("docs")
	if _, err := o.CreateProject("docs"); !errors.Is(err, access.ErrProjectExists) {
		t.Errorf("%v, want ErrProjectExists", err)
	}
	if after, found := o.Project("docs"); !found || after != before {
		t.Errorf("the project became %+v", after)
	}
}

func TestProjectsAndKeysSurviveAReopen(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	o.project("wiki")
	allow, err := access.ParseAllow("10.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := o.key(access.KeySpec{Scope: access.Ingest, Project: "docs", Name: "Küche"})
	o.key(access.KeySpec{Scope: access.Admin, Expires: o.clock.Now().AddDate(0, 0, 90)})
	o.key(access.KeySpec{Scope: access.Read, Project: "wiki", Allow: append(o.Keys()[0].Allow, allow)})
	key, err := o.Authenticate([]string{"Bearer " + text})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Authorize(key, address("192.0.2.1"), "docs", access.Ingest); err != nil {
		t.Fatal(err)
	}
	projects, keys := o.Projects(), o.Keys()
	o.reopen()
	if got := o.Projects(); !reflect.DeepEqual(got, projects) {
		t.Errorf("projects after a reopen:\n%+v\nbefore:\n%+v", got, projects)
	}
	if got := o.Keys(); !reflect.DeepEqual(got, keys) {
		t.Errorf("keys after a reopen:\n%+v\nbefore:\n%+v", got, keys)
	}
	if _, err := o.Authenticate([]string{"Bearer " + text}); err != nil {
		t.Errorf("the key after a reopen: %v", err)
	}
}

func TestARecreatedProjectIsAnother(t *testing.T) {
	for _, reopen := range []bool{false, true} {
		o := newOffice(t)
		o.project("first")
		old := o.project("docs")
		deleted, err := o.DeleteProject("docs")
		if err != nil {
			t.Fatal(err)
		}
		if deleted != old {
			t.Errorf("deleted %+v, want %+v", deleted, old)
		}
		if o.Live(old.Number) {
			t.Error("a deleted project is live")
		}
		if reopen {
			o.reopen()
		}
		again := o.project("docs")
		if again.Number == old.Number || again.Number == 0 {
			t.Errorf("the project has number %d, the deleted one had %d", again.Number, old.Number)
		}
		if again.Secret == old.Secret {
			t.Error("the project has the secret of the deleted one")
		}
		if !o.Live(again.Number) || o.Live(old.Number) {
			t.Errorf("live: %v, the deleted one %v", o.Live(again.Number), o.Live(old.Number))
		}
	}
}

func TestNumbersAreNeverGivenTwice(t *testing.T) {
	o := newOffice(t)
	given := make(map[sketch.ProjectNumber]bool)
	for i := range 6 {
		p := o.project("docs")
		if given[p.Number] {
			t.Fatalf("number %d was given before", p.Number)
		}
		given[p.Number] = true
		if _, err := o.DeleteProject("docs"); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			o.reopen()
		}
	}
}

func TestDeletionRemovesTheProjectsKeysAlone(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	o.project("wiki")
	lost, _ := o.key(access.KeySpec{Scope: access.Read, Project: "docs"})
	alsoLost, _ := o.key(access.KeySpec{Scope: access.Ingest, Project: "docs"})
	kept, _ := o.key(access.KeySpec{Scope: access.Read, Project: "wiki"})
	all, _ := o.key(access.KeySpec{Scope: access.Admin})
	if _, err := o.DeleteProject("docs"); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		for _, text := range []string{lost, alsoLost} {
			if _, err := o.Authenticate([]string{"Bearer " + text}); !errors.Is(err, access.ErrKeyInvalid) {
				t.Errorf("%s: a key of the deleted project: %v, want ErrKeyInvalid", when, err)
			}
		}
		for _, text := range []string{kept, all} {
			if _, err := o.Authenticate([]string{"Bearer " + text}); err != nil {
				t.Errorf("%s: another key: %v", when, err)
			}
		}
		if got := len(o.Keys()); got != 2 {
			t.Errorf("%s: %d keys, want 2", when, got)
		}
	}
	check("at once")
	// Its successor must not be open to the keys of the one before.
	o.project("docs")
	check("after it was created again")
	o.reopen()
	check("after a reopen")
}

func TestDeleteUnknownProject(t *testing.T) {
	o := newOffice(t)
	if _, err := o.DeleteProject("docs"); !errors.Is(err, access.ErrProjectUnknown) {
		t.Errorf("%v, want ErrProjectUnknown", err)
	}
}

func TestNothingIsMadeWithoutRandomness(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	broken := errors.New("no randomness")
	sources := map[string]func([]byte) (int, error){
		"failing":          func([]byte) (int, error) { return 0, broken },
		"failing too soon": func(b []byte) (int, error) { return min(len(b), 7), broken },
	}
	for name, read := range sources {
		o.random = readerFunc(read)
		if _, err := o.CreateProject("wiki"); !errors.Is(err, broken) {
			t.Errorf("%s: project: %v", name, err)
		}
		text, _, err := o.CreateKey(access.KeySpec{Scope: access.Admin})
		if !errors.Is(err, broken) || text != "" {
			t.Errorf("%s: key: %q, %v", name, text, err)
		}
	}
	o.random = rand.Reader
	o.reopen()
	if len(o.Projects()) != 1 || len(o.Keys()) != 0 {
		t.Errorf("projects %v, keys %v", o.Projects(), o.Keys())
	}
}
