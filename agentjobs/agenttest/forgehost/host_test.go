package forgehost_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"footfall/agentjobs/agenttest/forgehost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends a request and returns the status and the answer. A connection that
// was cut has status 0.
func ask(t *testing.T, h *forgehost.Host, method, path, body string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, h.APIURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer word")
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0, "", nil
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body) // What was cut is short.
	return response.StatusCode, string(text), response.Header
}

func start(t *testing.T, gitea bool) *forgehost.Host {
	t.Helper()
	branches := map[string]string{"main": "c0", "work/1": "c1", "work/2": "c2", "same": "c0"}
	return forgehost.Start(t, forgehost.Options{Token: "word", Gitea: gitea, Branches: func(name string) map[string]string {
		if name == "acme/docs" {
			return branches
		}
		return nil
	}})
}

func TestOpening(t *testing.T) {
	for _, gitea := range []bool{false, true} {
		h := start(t, gitea)
		for _, c := range []struct {
			head, base    string
			github, gitea int
		}{
			{"work/1", "main", 201, 201},
			{"work/1", "main", 422, 409},
			{"work/1", "work/2", 201, 201},
			{"acme:work/2", "main", 201, 201},
			{"gone", "main", 422, 404},
			{"work/1", "gone", 422, 404},
			{"main", "main", 422, 422},
			{"same", "main", 422, 201},
		} {
			want := c.github
			if gitea {
				want = c.gitea
			}
			body := fmt.Sprintf(`{"title": "t", "head": %q, "base": %q}`, c.head, c.base)
			if got, answer, _ := ask(t, h, "POST", "repos/acme/docs/pulls", body); got != want {
				t.Errorf("gitea %v, %s to %s: status %d, want %d: %.200s", gitea, c.head, c.base, got, want, answer)
			}
		}
		for _, body := range []string{"", "[]", `{"head": "work/2", "base": "work/1"}`} {
			if got, _, _ := ask(t, h, "POST", "repos/acme/docs/pulls", body); got != 400 && got != 422 {
				t.Errorf("%q: status %d", body, got)
			}
		}
		h.Merge(1)
		if got, _, _ := ask(t, h, "POST", "repos/acme/docs/pulls", `{"title": "t", "head": "work/1", "base": "main"}`); got != 201 {
			t.Errorf("after the merge: status %d", got)
		}
	}
}

func TestPages(t *testing.T) {
	h := start(t, false)
	for range 5 {
		h.Open(forgehost.Pull{Repository: "acme/docs", Head: "work/1", Base: "main"})
	}
	h.Open(forgehost.Pull{Repository: "acme/docs", Head: "work/2", Base: "main"})
	h.Open(forgehost.Pull{Repository: "acme/other", Head: "work/1", Base: "main"})
	h.Close(2)
	var seen []int
	for page := 1; page < 9; page++ {
		_, text, header := ask(t, h, "GET", fmt.Sprintf("repos/acme/docs/pulls?state=open&head=acme:work/1&per_page=2&page=%d", page), "")
		var pulls []struct{ Number int }
		if err := json.Unmarshal([]byte(text), &pulls); err != nil {
			t.Fatal(err)
		}
		for _, p := range pulls {
			seen = append(seen, p.Number)
		}
		if header.Get("Link") == "" {
			break
		}
	}
	if fmt.Sprint(seen) != "[5 4 3 1]" {
		t.Errorf("the pages hold %v", seen)
	}
}

func TestTurnedAway(t *testing.T) {
	h := start(t, false)
	for path, want := range map[string]int{
		"repos/acme/docs": 200, "repos/acme/docs/branches/work/1": 200, "repos/acme/docs/pulls": 200,
		"repos/acme/docs/branches/gone": 404, "repos/acme/docs/branches/": 404, "repos/acme/docs/pulls/1": 404,
		"repos/acme/docs/pulls/one": 404, "repos/acme/gone": 404, "repos/acme": 404, "repos": 404, "user": 404, "": 404,
	} {
		if got, answer, _ := ask(t, h, "GET", path, ""); got != want {
			t.Errorf("%q: status %d, want %d: %.200s", path, got, want, answer)
		}
	}
	other := forgehost.Start(t, forgehost.Options{Token: "another", Branches: func(string) map[string]string { return nil }})
	if got, _, _ := ask(t, other, "GET", "repos/acme/docs", ""); got != 401 {
		t.Errorf("another token: status %d", got)
	}
}

func TestInjectedAnswers(t *testing.T) {
	h := start(t, false)
	const body = `{"title": "t", "head": "work/1", "base": "main"}`
	h.Inject(forgehost.Answer{Method: "POST", Path: "/pulls", Times: 2, Status: 503, Header: map[string]string{"Retry-After": "1"}, Body: "busy"})
	h.Inject(forgehost.Answer{Method: "POST", Times: 1, Done: true, Cut: true})
	if got, _, _ := ask(t, h, "GET", "repos/acme/docs/pulls", ""); got != 200 {
		t.Errorf("another method: status %d", got)
	}
	for try := range 2 {
		if got, text, header := ask(t, h, "POST", "repos/acme/docs/pulls", body); got != 503 || text != "busy" || header.Get("Retry-After") != "1" {
			t.Errorf("try %d: %d, %q", try, got, text)
		}
	}
	if len(h.Pulls()) != 0 {
		t.Error("one was opened")
	}
	if got, _, _ := ask(t, h, "POST", "repos/acme/docs/pulls", body); got != 0 {
		t.Errorf("the cut connection: status %d", got)
	}
	if got, _, _ := ask(t, h, "POST", "repos/acme/docs/pulls", body); got != 422 || len(h.Pulls()) != 1 {
		t.Errorf("afterwards: status %d, %d opened", got, len(h.Pulls()))
	}
	h.Inject(forgehost.Answer{Status: 500})
	for range 3 {
		if got, _, _ := ask(t, h, "GET", "user", ""); got != 500 {
			t.Errorf("for ever: status %d", got)
		}
	}
	requests := h.Requests()
	if len(requests) != 8 || requests[1].Method != "POST" || requests[1].Path != "repos/acme/docs/pulls" || requests[1].Body != body {
		t.Errorf("recorded: %+v", requests)
	}
}
