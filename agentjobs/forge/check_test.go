package forge_test

import (
	"strings"
	"testing"

	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/forge"
)

func TestCheck(t *testing.T) {
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind)
		for _, base := range []string{"main", "work/1"} {
			if err := s.forge.Check(t.Context(), base); err != nil {
				t.Errorf("base %s: %v", base, err)
			}
		}
		if kept := s.host.Pulls(); len(kept) != 0 {
			t.Errorf("checking opened %+v", kept)
		}
	})
}

func TestCheckFinds(t *testing.T) {
	const whole = "/docs"
	const strange = `{"number": 3, "state": "open", "html_url": "https://forge.example/3", "head": {"ref": "main"}}`
	for name, c := range map[string]struct {
		answer forgehost.Answer
		base   string
		reason string
	}{
		"no base":           {forgehost.Answer{Path: "nothing"}, "gone", `no branch "gone"`},
		"no such base":      {forgehost.Answer{Path: "nothing"}, "..", `no branch ".."`},
		"no name":           {forgehost.Answer{Path: "nothing"}, "", `no branch ""`},
		"another branch":    {forgehost.Answer{Path: "/branches/main", Body: `{"name": "trunk"}`}, "main", `the branch is "trunk"`},
		"a branch moved":    {forgehost.Answer{Path: "/branches/main", Status: 301, Header: map[string]string{"Location": "/"}}, "main", "renamed or moved"},
		"token":             {forgehost.Answer{Status: 401}, "main", "does not accept the token"},
		"no repository":     {forgehost.Answer{Path: whole, Status: 404}, "main", "no repository acme/docs"},
		"archived":          {forgehost.Answer{Path: whole, Body: `{"archived": true}`}, "main", "archived"},
		"may only read":     {forgehost.Answer{Path: whole, Body: `{"permissions": {"pull": true, "push": false}}`}, "main", "not push to it"},
		"no pull requests":  {forgehost.Answer{Path: "/pulls", Status: 404}, "main", "no repository acme/docs with pull requests"},
		"may not open":      {forgehost.Answer{Method: "POST", Status: 403, Body: `{"message": "Resource not accessible by personal access token"}`}, "main", "Resource not accessible"},
		"opens anything":    {forgehost.Answer{Method: "POST", Status: 201, Body: strange}, "main", "opened pull request 3"},
		"pulls not allowed": {forgehost.Answer{Path: "/pulls", Status: 403}, "main", "does not allow this"},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, forge.GitHub)
			s.host.Inject(c.answer)
			if f := failure(t, s.forge.Check(t.Context(), c.base)); f.Retryable || !strings.Contains(f.Reason, c.reason) {
				t.Errorf("got %+v, want %q", f, c.reason)
			}
		})
	}
}

// An app's token is answered no for every right, or nothing: that says nothing.
func TestCheckOfAnApp(t *testing.T) {
	for _, body := range []string{`{}`, `{"permissions": null}`, `{"permissions": {"pull": false, "push": false}}`} {
		s := play(t, forge.GitHub)
		s.host.Inject(forgehost.Answer{Path: "/docs", Body: body})
		if err := s.forge.Check(t.Context(), "main"); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}
