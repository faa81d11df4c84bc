package forge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/forge"
)

func TestEnsureOpensOne(t *testing.T) {
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind)
		got := s.ensure(t, "work/1")
		want := forge.PullRequest{Number: 1, URL: s.host.URL + "/acme/docs/pull/1", Branch: "work/1", State: forge.Open}
		if got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		kept := s.host.Pulls()
		if len(kept) != 1 || kept[0].Title != "Say what it does" || kept[0].Body != "The body." || kept[0].Base != "main" || kept[0].Draft {
			t.Errorf("the forge keeps %+v", kept)
		}
		if again := s.ensure(t, "work/1"); again != want {
			t.Errorf("asked again, got %+v", again)
		}
		if other := s.ensure(t, "work/2"); other.Number != 2 {
			t.Errorf("another branch got %+v", other)
		}
	})
}

func TestStates(t *testing.T) {
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind)
		expect := func(number int, want forge.State) {
			t.Helper()
			got, err := s.forge.PullRequest(t.Context(), number)
			if err != nil || got.State != want || got.Number != number || got.Branch != "work/1" {
				t.Errorf("pull request %d: %+v, %v; want it %s", number, got, err, want)
			}
		}
		first := s.ensure(t, "work/1")
		expect(first.Number, forge.Open)
		s.host.Merge(first.Number)
		expect(first.Number, forge.Merged)

		second := s.ensure(t, "work/1")
		if second.Number == first.Number {
			t.Fatal("the merged pull request was returned as an open one")
		}
		s.host.Close(second.Number)
		s.removeBranch("work/1") // As forges do by themselves after a merge.
		expect(first.Number, forge.Merged)
		expect(second.Number, forge.Closed)
	})
}

// Gitea's list has the pull requests of all branches, page by page, and pull
// requests of forks may have our branch's name.
func TestFindsAmongMany(t *testing.T) {
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind)
		wanted := s.host.Open(forgehost.Pull{Repository: repository, Head: "work/1", Base: "main"})
		for i := range 100 {
			s.host.Open(forgehost.Pull{Repository: repository, Head: fmt.Sprint("other/", i), Base: "main"})
		}
		if got := s.ensure(t, "work/1"); got.Number != wanted {
			t.Errorf("got %+v, want pull request %d", got, wanted)
		}
		if posts := s.count("POST"); posts != 0 {
			t.Errorf("%d requests to open one", posts)
		}
	})
}

func TestPrefersTheBase(t *testing.T) {
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind)
		toMain := s.host.Open(forgehost.Pull{Repository: repository, Head: "work/1", Base: "main"})
		s.host.Open(forgehost.Pull{Repository: repository, Head: "work/1", Base: "next"})
		if got := s.ensure(t, "work/1"); got.Number != toMain {
			t.Errorf("got %+v, want the one to main, %d", got, toMain)
		}
		moved := s.host.Open(forgehost.Pull{Repository: repository, Head: "work/2", Base: "next"})
		if got := s.ensure(t, "work/2"); got.Number != moved {
			t.Errorf("got %+v, want the one that was given another base, %d", got, moved)
		}
	})
}

// A list without an end must not be walked for ever.
func TestPagesAreBounded(t *testing.T) {
	s := play(t, forge.Gitea)
	s.host.Inject(forgehost.Answer{Method: "GET", Path: "/pulls", Body: "[]", Header: map[string]string{
		"Link": `<` + s.host.APIURL + `repos/acme/docs/pulls?page=7>; rel="next"`,
	}})
	s.ensure(t, "work/1")
	if asked := s.count("GET"); asked > 50 {
		t.Errorf("%d pages were asked for", asked)
	}
}

func TestForkOfTheSameBranch(t *testing.T) {
	s := play(t, forge.Gitea)
	foreign := func(repo string) string {
		return `[{"number": 9, "state": "open", "html_url": "https://forge.example/9", "head": {"ref": "work/1", "repo": ` + repo + `}}]`
	}
	for _, repo := range []string{`{"full_name": "mallory/docs"}`, `null`} {
		s.host.Inject(forgehost.Answer{Method: "GET", Path: "/pulls", Body: foreign(repo), Times: 1})
		if got := s.ensure(t, "work/1"); got.Number != 1 {
			t.Errorf("with the fork %s: got %+v", repo, got)
		}
	}
}

// Between our look and our request someone else opens one.
func TestOpenedMeanwhile(t *testing.T) {
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind)
		theirs := s.host.Open(forgehost.Pull{Repository: repository, Head: "work/1", Base: "main"})
		s.host.Inject(forgehost.Answer{Method: "GET", Path: "/pulls", Body: "[]", Times: 1})
		if got := s.ensure(t, "work/1"); got.Number != theirs {
			t.Errorf("got %+v, want %d", got, theirs)
		}
		if posts := s.count("POST"); posts != 1 {
			t.Errorf("%d requests to open one, want 1 that was refused", posts)
		}
	})
}

func TestDraft(t *testing.T) {
	draft := func(o *forge.Options) { o.Draft = true }
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind, draft)
		s.ensure(t, "work/1")
		if kept := s.host.Pulls(); len(kept) != 1 || !kept[0].Draft {
			t.Errorf("the forge keeps %+v, want a draft", kept)
		}
	})
	t.Run("where there are none", func(t *testing.T) {
		s := play(t, forge.GitHub, draft)
		s.host.Inject(forgehost.Answer{Method: "POST", Status: 422, Times: 1,
			Body: `{"message": "Draft pull requests are not supported in this repository.", "documentation_url": "https://docs.github.com/rest"}`})
		s.ensure(t, "work/1")
		if kept := s.host.Pulls(); len(kept) != 1 || kept[0].Draft {
			t.Errorf("the forge keeps %+v, want one that is no draft", kept)
		}
	})
	t.Run("where something else is in the way", func(t *testing.T) {
		s := play(t, forge.GitHub, draft)
		_, err := s.forge.EnsurePullRequest(t.Context(), "behind", "main", "title", "")
		if f := failure(t, err); f.Status != 422 || !strings.Contains(f.Reason, "No commits between main and behind") {
			t.Errorf("the reason is %q", f.Reason)
		}
	})
}

func TestTextsAreCut(t *testing.T) {
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind, func(o *forge.Options) { o.Draft = true })
		title := " \n" + strings.Repeat("é", 300) + "\nsecond line"
		_, err := s.forge.EnsurePullRequest(t.Context(), "work/1", "main", title, strings.Repeat("ü", 70_000)+"\xff")
		if err != nil {
			t.Fatal(err)
		}
		kept := s.host.Pulls()[0]
		if n := len([]rune(kept.Title)); n > 255 || n < 200 || strings.Contains(kept.Title, "\n") {
			t.Errorf("the title has %d characters: %q", n, kept.Title)
		}
		if n := len([]rune(kept.Body)); n > 65_536 || n < 50_000 {
			t.Errorf("the body has %d characters", n)
		}
	})
}

// What a forge answers is read by people as a link and must be one.
func TestAnswersThatAreNoPullRequest(t *testing.T) {
	good := map[string]any{
		"number": 7, "state": "open", "html_url": "https://forge.example/acme/docs/pull/7",
		"head": map[string]any{"ref": "work/1", "repo": map[string]any{"full_name": repository}},
	}
	cases := map[string]struct {
		field string
		value any
	}{
		"a script as address":    {"html_url", "javascript:alert(1)"},
		"an address of a file":   {"html_url", "file:///etc/passwd"},
		"an address with a name": {"html_url", "https://user:word@forge.example/7"},
		"an address of no host":  {"html_url", "https:///7"},
		"a long address":         {"html_url", "https://forge.example/" + strings.Repeat("x", 4000)},
		"no address":             {"html_url", ""},
		"no number":              {"number", 0},
		"a negative number":      {"number", -1},
		"an unknown state":       {"state", "sleeping"},
		"another branch":         {"head", map[string]any{"ref": "main"}},
		"no branch":              {"head", nil},
		"a number of text":       {"number", "seven"},
	}
	answer := func(field string, value any) string {
		object := map[string]any{}
		for k, v := range good {
			object[k] = v
		}
		object[field] = value
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	s := play(t, forge.GitHub)
	s.host.Inject(forgehost.Answer{Method: "POST", Status: 201, Body: answer("title", "as it should be"), Times: 1})
	s.ensure(t, "work/1")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := play(t, forge.GitHub)
			s.host.Inject(forgehost.Answer{Method: "POST", Status: 201, Body: answer(c.field, c.value)})
			got, err := s.forge.EnsurePullRequest(t.Context(), "work/1", "main", "title", "")
			if f := failure(t, err); f.Retryable || got != (forge.PullRequest{}) {
				t.Errorf("got %+v, %+v", got, f)
			}
		})
	}
}
