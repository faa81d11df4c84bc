package forge_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v84/github"

	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/forge"
)

// page is what a proxy answers in the place of the forge.
const page = "<html><body><h1>502 Bad Gateway</h1>" + token + "</body></html>"

func TestRefusals(t *testing.T) {
	message := func(text string) string { return `{"message": "` + text + `"}` }
	for name, c := range map[string]struct {
		answer    forgehost.Answer
		reason    string // a part of it
		retryable bool
	}{
		"token":              {forgehost.Answer{Status: 401, Body: message("Bad credentials")}, "does not accept the token", false},
		"second factor":      {forgehost.Answer{Status: 401, Header: map[string]string{"X-GitHub-OTP": "required; app"}}, "does not accept the token", false},
		"rights":             {forgehost.Answer{Status: 403, Body: message("Resource not accessible by personal access token")}, "It says: Resource not accessible by personal access token.", false},
		"rights, as a page":  {forgehost.Answer{Status: 403, Body: page}, "does not allow this", false},
		"rights, as markup":  {forgehost.Answer{Status: 403, Body: message("<b>blocked</b>")}, "for acme/docs.", false},
		"rights, token told": {forgehost.Answer{Status: 403, Body: message("no rights for " + token)}, "no rights for [token]", false},
		"single sign-on":     {forgehost.Answer{Status: 403, Header: map[string]string{"X-GitHub-SSO": "required"}}, "single sign-on", false},
		"not found":          {forgehost.Answer{Status: 404, Body: message("Not Found")}, "no repository acme/docs", false},
		"conflict":           {forgehost.Answer{Status: 409, Body: message("Git Repository is empty.")}, "It says: Git Repository is empty.", false},
		"gone":               {forgehost.Answer{Status: 410}, "turned off", false},
		"invalid":            {forgehost.Answer{Status: 422, Body: message("Validation Failed")}, "Validation Failed", false},
		"archived":           {forgehost.Answer{Status: 423, Body: message("acme/docs is archived")}, "archived", false},
		"legal":              {forgehost.Answer{Status: 451}, "legal reasons", false},
		"moved":              {forgehost.Answer{Status: 301, Header: map[string]string{"Location": "/api/v3/repos/acme/new"}}, "renamed or moved", false},
		"moved for now":      {forgehost.Answer{Status: 307, Header: map[string]string{"Location": "/api/v3/repos/acme/new"}}, "renamed or moved", false},
		"fault":              {forgehost.Answer{Status: 500, Body: page}, "fault of its own (status 500)", true},
		"gateway":            {forgehost.Answer{Status: 502, Body: page}, "status 502", true},
		"not implemented":    {forgehost.Answer{Status: 501}, "status 501", false},
		"strange":            {forgehost.Answer{Status: 418, Body: message(strings.Repeat("x", 5000))}, "status 418", false},
		"strange characters": {forgehost.Answer{Status: 418, Body: message(`a\u0000b\u001b[31m\nc\u202ed`)}, "ab[31m cd.", false},
		"strange errors":     {forgehost.Answer{Status: 418, Body: `{"message": 7, "errors": "none"}`}, "status 418", false},
		"page":               {forgehost.Answer{Body: page}, "its address may be wrong", false},
		"other JSON":         {forgehost.Answer{Body: `"fine"`}, "its address may be wrong", false},
		"accepted":           {forgehost.Answer{Status: 202, Body: `[]`}, "its address may be wrong", false},
		"cut":                {forgehost.Answer{Status: 200, Body: `[{"number": `, Cut: true}, "connection to GitHub broke", true},
		"no answer":          {forgehost.Answer{Cut: true}, "connection to GitHub broke", true},
		"half of it":         {forgehost.Answer{Body: `[{"number": `}, "its address may be wrong", false},
		"cut error":          {forgehost.Answer{Status: 418, Body: `{"mess`, Cut: true}, "status 418", false},
		"endless":            {forgehost.Answer{Body: `["` + strings.Repeat("x", 9<<20) + `"]`}, "more than 8 MB", false},
		"endless error":      {forgehost.Answer{Status: 418, Body: strings.Repeat("x", 9<<20)}, "status 418", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, forge.GitHub)
			s.host.Inject(c.answer)
			got, err := s.forge.EnsurePullRequest(t.Context(), "work/1", "main", "title", "body")
			f := failure(t, err)
			if !strings.Contains(f.Reason, c.reason) || f.Retryable != c.retryable || got != (forge.PullRequest{}) {
				t.Errorf("got %+v and %q, retryable %v; want %q in it, %v", got, f.Reason, f.Retryable, c.reason, c.retryable)
			}
			if c.answer.Status >= 300 && f.Status != c.answer.Status {
				t.Errorf("the status is %d, want %d", f.Status, c.answer.Status)
			}
			if f.Unwrap() == nil {
				t.Error("the cause is lost")
			}
			want := 1
			if c.retryable {
				want = 3
			}
			if asked := len(s.host.Requests()); asked != want && name != "no answer" { // The transport repeats that one by itself.
				t.Errorf("%d requests, want %d", asked, want)
			}
		})
	}
}

func TestWhatIsInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		kind         forge.Kind
		branch, base string
		status       int
		reason       string
	}{
		"github: no base":       {forge.GitHub, "work/1", "gone", 422, `no branch "gone" in acme/docs`},
		"github: no branch":     {forge.GitHub, "gone", "main", 422, `no branch "gone" in acme/docs`},
		"github: no difference": {forge.GitHub, "behind", "main", 422, "No commits between main and behind."},
		"github: onto itself":   {forge.GitHub, "main", "main", 422, "No commits between main and main."},
		"gitea: no base":        {forge.Gitea, "work/1", "gone", 404, `no branch "gone" in acme/docs`},
		"gitea: no branch":      {forge.Gitea, "gone", "main", 404, `no branch "gone" in acme/docs`},
		"gitea: onto itself":    {forge.Gitea, "main", "main", 422, "It says: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, c.kind)
			_, err := s.forge.EnsurePullRequest(t.Context(), c.branch, c.base, "title", "body")
			f := failure(t, err)
			if f.Status != c.status || f.Retryable || !strings.Contains(f.Reason, c.reason) {
				t.Errorf("got status %d, %q; want %d, %q", f.Status, f.Reason, c.status, c.reason)
			}
			var cause *github.ErrorResponse
			if !errors.As(err, &cause) {
				t.Errorf("the cause is lost: %v", f.Unwrap())
			}
		})
	}
	t.Run("github: reading is all the token may", func(t *testing.T) {
		s := play(t, forge.GitHub)
		s.host.Inject(forgehost.Answer{Method: "POST", Status: 404, Body: `{"message": "Not Found"}`})
		_, err := s.forge.EnsurePullRequest(t.Context(), "work/1", "main", "title", "body")
		if f := failure(t, err); !strings.Contains(f.Reason, "does not let this token open pull requests") {
			t.Errorf("the reason is %q", f.Reason)
		}
	})
}

func TestMissingPullRequest(t *testing.T) {
	s := play(t, forge.GitHub)
	for _, number := range []int{1, 0, -1} {
		_, err := s.forge.PullRequest(t.Context(), number)
		if f := failure(t, err); f.Status != 404 || !strings.Contains(f.Reason, "no pull request") {
			t.Errorf("pull request %d: %+v", number, f)
		}
	}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	s := play(t, forge.GitHub, func(o *forge.Options) { o.APIURL = "http://" + address })
	_, err = s.forge.PullRequest(t.Context(), 1)
	if f := failure(t, err); !f.Retryable || f.Status != 0 || !strings.Contains(f.Reason, "can not be reached") {
		t.Errorf("got %+v", f)
	}
	if len(s.waits) != 2 {
		t.Errorf("waited %v, want twice", s.waits)
	}
}

// An answer that never comes ends with the caller's time or patience.
func TestCallerLeaves(t *testing.T) {
	t.Run("deadline", func(t *testing.T) {
		s := play(t, forge.GitHub)
		s.host.Inject(forgehost.Answer{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := s.forge.PullRequest(ctx, 1)
		if f := failure(t, err); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(f.Reason, "in time") {
			t.Errorf("got %+v, cause %v", f, f.Unwrap())
		}
	})
	t.Run("cancelled while asking", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := play(t, forge.GitHub, func(o *forge.Options) {
			o.Transport = transport(func(r *http.Request) (*http.Response, error) {
				cancel()
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
		})
		_, err := s.forge.PullRequest(ctx, 1)
		if f := failure(t, err); !errors.Is(err, context.Canceled) || f.Retryable {
			t.Errorf("got %+v, cause %v", f, f.Unwrap())
		}
	})
	t.Run("cancelled while waiting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := play(t, forge.GitHub, func(o *forge.Options) {
			o.Wait = func(ctx context.Context, _ time.Duration) error {
				cancel()
				return ctx.Err()
			}
		})
		s.host.Inject(forgehost.Answer{Status: 503})
		_, err := s.forge.PullRequest(ctx, 1)
		if f := failure(t, err); !errors.Is(err, context.Canceled) || f.Status != 503 {
			t.Errorf("got %+v, cause %v", f, f.Unwrap())
		}
		if asked := len(s.host.Requests()); asked != 1 {
			t.Errorf("%d requests", asked)
		}
	})
	t.Run("while the own timer runs", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		s := play(t, forge.GitHub, func(o *forge.Options) { o.Wait = nil })
		s.host.Inject(forgehost.Answer{Status: 503})
		_, err := s.forge.PullRequest(ctx, 1)
		if f := failure(t, err); f.Status != 503 { // A second of waiting does not fit any more.
			t.Errorf("got %+v", f)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// What a test's table does not think of: any answer makes a failure or a pull
// request that can be shown, and none of them holds the token.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		page, "", "null", "{}", `{"message": "Not Found", "errors": ["a", {"code": "custom", "message": "` + token + `"}]}`,
		`{"number": 1, "state": "open", "html_url": "https://forge.example/1", "head": {"ref": "b"}}`,
	} {
		f.Add(200, "0", "9", seed)
		f.Add(403, "4999", "-1", seed)
		f.Add(422, "", "99999999999999999999", seed)
	}
	f.Fuzz(func(t *testing.T, status int, remaining, after, body string) {
		o := forge.Options{
			Kind: forge.GitHub, Repository: "https://github.com/acme/docs",
			Token: func() (string, error) { return token, nil },
			Wait:  func(context.Context, time.Duration) error { return nil },
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				header := http.Header{"X-Ratelimit-Remaining": {remaining}, "Retry-After": {after}, "X-Ratelimit-Reset": {after}}
				return &http.Response{
					StatusCode: 100 + (status%500+500)%500, Header: header, Request: r,
					Body: io.NopCloser(strings.NewReader(body)),
				}, nil
			}),
		}
		made, err := forge.New(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := made.PullRequest(t.Context(), 1)
		if err != nil {
			_ = failure(t, err)
			return
		}
		u, err := url.Parse(got.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || got.Number < 1 {
			t.Errorf("%q became %+v", body, got)
		}
	})
}
