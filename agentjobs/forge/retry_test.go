package forge_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs/agenttest/forgehost"
	"footfall/agentjobs/forge"
)

func TestLimits(t *testing.T) {
	inSeconds := func(n int) string { return strconv.FormatInt(time.Now().Add(time.Duration(n)*time.Second).Unix(), 10) }
	secondary := `{"message": "You have exceeded a secondary rate limit.", "documentation_url": "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`
	for name, c := range map[string]struct {
		status   int
		header   map[string]string
		body     string
		min, max time.Duration // that is waited; 0 where it is too long to wait
	}{
		"secondary":               {403, map[string]string{"Retry-After": "7"}, secondary, 7 * time.Second, 7 * time.Second},
		"secondary, 429":          {429, map[string]string{"Retry-After": "7"}, secondary, 7 * time.Second, 7 * time.Second},
		"secondary without time":  {403, nil, secondary, 0, 0},
		"secondary, long":         {403, map[string]string{"Retry-After": "600"}, secondary, 0, 0},
		"primary":                 {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": inSeconds(30)}, "", 20 * time.Second, 30 * time.Second},
		"primary, 429":            {429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": inSeconds(30)}, "", 20 * time.Second, 30 * time.Second},
		"primary, reset just now": {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": inSeconds(-9)}, "", time.Second, time.Second},
		"primary, an hour":        {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": inSeconds(3600)}, "", 0, 0},
		"primary without time":    {403, map[string]string{"X-RateLimit-Remaining": "0"}, "", 0, 0},
		"a proxy's":               {429, nil, "<html>slow down</html>", 0, 0},
		"as a date":               {429, map[string]string{"Retry-After": time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)}, "", 20 * time.Second, 30 * time.Second},
		"fault with a time":       {503, map[string]string{"Retry-After": "9"}, "", 9 * time.Second, 9 * time.Second},
		"fault with a long time":  {503, map[string]string{"Retry-After": "9999999999999999999"}, "", time.Second, time.Second},
		"fault with nonsense":     {503, map[string]string{"Retry-After": "soon"}, "", time.Second, time.Second},
		"fault with a day":        {503, map[string]string{"Retry-After": "86400"}, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, forge.GitHub)
			s.host.Inject(forgehost.Answer{Status: c.status, Header: c.header, Body: c.body, Times: 1})
			_, err := s.forge.EnsurePullRequest(t.Context(), "work/1", "main", "title", "")
			if c.max == 0 {
				if f := failure(t, err); !f.Retryable || f.Status != c.status || len(s.waits) != 0 || len(s.host.Requests()) != 1 {
					t.Errorf("got %+v, waited %v", f, s.waits)
				}
				return
			}
			if err != nil || len(s.waits) != 1 || s.waits[0] < c.min || s.waits[0] > c.max {
				t.Errorf("got %v, waited %v; want %v to %v", err, s.waits, c.min, c.max)
			}
		})
	}
}

// The forge's clock may be behind: a time that is over is none to wait for.
func TestLimitThatIsOver(t *testing.T) {
	s := play(t, forge.GitHub)
	s.host.Inject(forgehost.Answer{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000000"}})
	_, err := s.forge.PullRequest(t.Context(), 1)
	if f := failure(t, err); !strings.HasSuffix(f.Reason, "for the moment.") {
		t.Errorf("the reason is %q", f.Reason)
	}
}

// All waiting together is bounded, not each alone.
func TestWaitingIsBounded(t *testing.T) {
	s := play(t, forge.GitHub)
	s.host.Inject(forgehost.Answer{Status: 429, Header: map[string]string{"Retry-After": "40"}})
	_, err := s.forge.PullRequest(t.Context(), 1)
	_ = failure(t, err)
	if !slices.Equal(s.waits, []time.Duration{40 * time.Second}) {
		t.Errorf("waited %v", s.waits)
	}
}

func TestTriesAreBounded(t *testing.T) {
	s := play(t, forge.GitHub)
	s.host.Inject(forgehost.Answer{Status: 500})
	_, err := s.forge.PullRequest(t.Context(), 1)
	if f := failure(t, err); f.Status != 500 || len(s.host.Requests()) != 3 {
		t.Errorf("%d requests, %+v", len(s.host.Requests()), f)
	}
	if !slices.Equal(s.waits, []time.Duration{time.Second, 5 * time.Second}) {
		t.Errorf("waited %v", s.waits)
	}
}

// The forge opened the pull request, and its answer was lost.
func TestLostAnswer(t *testing.T) {
	for name, lost := range map[string]forgehost.Answer{
		"by a gateway":    {Status: 502, Body: page},
		"by the network":  {Cut: true},
		"in the middle":   {Status: 201, Body: `{"number": `, Cut: true},
		"by a rate limit": {Status: 429, Header: map[string]string{"Retry-After": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, kind forge.Kind) {
				s := play(t, kind)
				lost.Method, lost.Times, lost.Done = "POST", 1, true
				s.host.Inject(lost)
				if got := s.ensure(t, "work/1"); got.Number != 1 {
					t.Errorf("got %+v", got)
				}
				if posts, kept := s.count("POST"), len(s.host.Pulls()); posts != 1 || kept != 1 {
					t.Errorf("%d requests to open one, %d opened", posts, kept)
				}
			})
		})
	}
}

// A renewed token counts from the next call on.
func TestTokenIsReadAgain(t *testing.T) {
	current := "old"
	s := play(t, forge.GitHub, func(o *forge.Options) { o.Token = func() (string, error) { return current, nil } })
	_, err := s.forge.EnsurePullRequest(t.Context(), "work/1", "main", "title", "")
	if f := failure(t, err); f.Status != 401 {
		t.Errorf("got %+v", f)
	}
	current = token
	s.ensure(t, "work/1")
}

func TestBadTokens(t *testing.T) {
	refused := errors.New("/secrets/token is refused: mode 0644")
	for name, c := range map[string]struct {
		token  string
		err    error
		reason string
	}{
		"not read":   {"", refused, "mode 0644."},
		"empty":      {"", nil, "empty"},
		"line break": {token + "\n", nil, "characters"},
		"header":     {token + "\r\nHost: elsewhere", nil, "characters"},
		"space":      {token + " " + token, nil, "characters"},
		"not ASCII":  {token + "é", nil, "characters"},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, forge.GitHub, func(o *forge.Options) { o.Token = func() (string, error) { return c.token, c.err } })
			err := s.forge.Check(t.Context(), "main")
			if f := failure(t, err); f.Retryable || !strings.Contains(f.Reason, c.reason) {
				t.Errorf("got %+v", f)
			}
			if c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("the cause is lost: %v", err)
			}
			if len(s.host.Requests()) != 0 {
				t.Error("a request was sent")
			}
		})
	}
}

// The token goes to the API in one header, and nowhere else.
func TestTokenStaysInItsHeader(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	elsewhere := forgehost.Start(t, forgehost.Options{Token: token, Branches: func(string) map[string]string { return nil }})
	eachKind(t, func(t *testing.T, kind forge.Kind) {
		s := play(t, kind, func(o *forge.Options) { o.Logger = logger })
		s.host.Inject(forgehost.Answer{Method: "POST", Status: 500, Times: 1, Body: `{"message": "` + token + `"}`})
		s.ensure(t, "work/1")
		for _, r := range s.host.Requests() {
			if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+token {
				t.Errorf("the header is %q", got)
			}
			r.Header.Del("Authorization")
			for _, values := range r.Header {
				r.Body += strings.Join(values, " ")
			}
			if strings.Contains(r.Path+r.Query+r.Body, token) {
				t.Errorf("the token is in %+v", r)
			}
		}
		for _, status := range []int{301, 302, 303, 307, 308} {
			s.host.Inject(forgehost.Answer{Status: status, Times: 1, Header: map[string]string{"Location": elsewhere.APIURL + "repos/acme/docs/pulls/1"}})
			_, err := s.forge.PullRequest(t.Context(), 1)
			if f := failure(t, err); f.Status != status || strings.Contains(f.Reason, elsewhere.URL) {
				t.Errorf("got %+v", f)
			}
		}
	})
	if asked := elsewhere.Requests(); len(asked) != 0 {
		t.Errorf("redirects were followed: %+v", asked)
	}
	if !strings.Contains(log.String(), "asking the forge again") || strings.Contains(log.String(), token) {
		t.Errorf("the log is %s", log.String())
	}
}
