package checkout_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs/agenttest/githost"
	"footfall/agentjobs/checkout"
)

// answer has the host answer every request that begins an exchange.
func answer(code int) func(*githost.Host, *checkout.Options) {
	return func(host *githost.Host, _ *checkout.Options) {
		host.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "<html>"+strings.Repeat("a page ", 10_000))
			return true
		})
	}
}

func TestWhyTheRemoteCanNotBeRead(t *testing.T) {
	tests := map[string]struct {
		change func(*githost.Host, *checkout.Options)
		want   error
	}{
		"no token": {func(_ *githost.Host, o *checkout.Options) { o.Token = nil }, checkout.ErrUnauthorized},
		"wrong token": {func(_ *githost.Host, o *checkout.Options) {
			o.Token = func() (string, error) { return "other", nil }
		}, checkout.ErrUnauthorized},
		"no repository": {func(h *githost.Host, o *checkout.Options) { o.Remote = h.URL("acme/none") }, checkout.ErrNotFound},
		"no port":       {func(_ *githost.Host, o *checkout.Options) { o.Remote = "http://127.0.0.1:1/acme/docs.git" }, checkout.ErrUnreachable},
		"no TLS": {func(_ *githost.Host, o *checkout.Options) {
			o.Remote = strings.Replace(o.Remote, "http:", "https:", 1)
		}, checkout.ErrUnreachable},
		"no file":     {func(_ *githost.Host, o *checkout.Options) { o.Remote = "file://" + o.Dir + "/none" }, checkout.ErrNotFound},
		"401":         {answer(401), checkout.ErrUnauthorized},
		"403":         {answer(403), checkout.ErrUnauthorized},
		"404":         {answer(404), checkout.ErrNotFound},
		"410":         {answer(410), checkout.ErrNotFound},
		"429":         {answer(429), checkout.ErrUnreachable},
		"500":         {answer(500), checkout.ErrUnreachable},
		"503":         {answer(503), checkout.ErrUnreachable},
		"a page":      {answer(200), checkout.ErrNotFound},
		"302 nowhere": {answer(302), checkout.ErrRedirected},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			host, _, o := guarded(t)
			test.change(host, &o)
			c := open(t, o)
			_, err := c.Prepare(t.Context(), branch, "main")
			is(t, err, test.want)
			t.Log(err)
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the token is in %q", err)
			}
			is(t, c.Check(t.Context(), "main"), test.want)
		})
	}
}

func TestMissingBranches(t *testing.T) {
	host := githost.Start(t, githost.Options{})
	host.Create(repository, page)
	host.Create("acme/empty", nil)
	// A name that ends as the one that is looked for.
	host.PushOutside(repository, "x/refs/heads/gone", page)
	c := open(t, options(t, host))
	_, err := c.Prepare(t.Context(), branch, "gone")
	is(t, err, checkout.ErrNotFound)
	is(t, c.Check(t.Context(), "gone"), checkout.ErrNotFound)
	ok(t, c.Check(t.Context(), "main"))

	o := options(t, host)
	o.Remote = host.URL("acme/empty")
	_, err = open(t, o).Prepare(t.Context(), branch, "main")
	is(t, err, checkout.ErrNotFound)
}

func TestATokenThatMayOnlyRead(t *testing.T) {
	host, _, o := guarded(t)
	host.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.RequestURI(), "git-receive-pack") {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	c := open(t, o)
	prepare(t, c)
	write(t, c, "a.md", "a\n")
	commit(t, c)
	is(t, c.Push(t.Context(), branch), checkout.ErrUnauthorized)
	is(t, c.Check(t.Context(), "main"), checkout.ErrUnauthorized)
}

func TestTheTokenIsReadAtEachUse(t *testing.T) {
	_, _, o := guarded(t)
	token, failure := "outdated", error(nil)
	o.Token = func() (string, error) { return token, failure }
	c := open(t, o)
	_, err := c.Prepare(t.Context(), branch, "main")
	is(t, err, checkout.ErrUnauthorized)
	token = secret
	prepare(t, c)
	failure = errors.New("file is readable by others")
	_, err = c.Prepare(t.Context(), branch, "main")
	is(t, err, failure)
	for _, token = range []string{"", " \n", "a\nb", "a\x00b"} {
		failure = nil
		if _, err := c.Prepare(t.Context(), branch, "main"); err == nil {
			t.Errorf("token %q is taken", token)
		}
	}
}

func TestPushesThatAreRejected(t *testing.T) {
	host, _, o := guarded(t)
	c := open(t, o)
	run := func(content string) error {
		prepare(t, c)
		write(t, c, "a.md", content)
		commit(t, c)
		return c.Push(t.Context(), branch)
	}
	host.Refuse(repository, "not \x1b[31mon Fridays,\nsays "+secret)
	err := run("1\n")
	is(t, err, checkout.ErrRejected)
	t.Log(err)
	if text := err.Error(); !strings.Contains(text, "on Fridays,") || strings.Contains(text, secret) || strings.ContainsAny(text, "\x1b\n") {
		t.Errorf("the reason is %q", text)
	}
	host.Refuse(repository, strings.Repeat("no ", 100_000))
	if err := run("1\n"); !errors.Is(err, checkout.ErrRejected) || len(err.Error()) > 2000 {
		t.Errorf("a long refusal is %.100q", err)
	}
	host.Refuse(repository, "")
	ok(t, run("1\n"))

	// Somebody else was faster: our commit is dropped, theirs is not.
	prepare(t, c)
	theirs := host.PushOutside(repository, branch, map[string]string{"theirs.md": "theirs\n"})
	write(t, c, "a.md", "2\n")
	commit(t, c)
	err = c.Push(t.Context(), branch)
	is(t, err, checkout.ErrRejected)
	t.Log(err)
	if host.Tip(repository, branch) != theirs {
		t.Error("the push was forced")
	}
	if start := prepare(t, c); start.Commit != theirs || read(t, c, "theirs.md") != "theirs\n" {
		t.Errorf("the next run starts at %+v; want %s", start, theirs)
	}
	ok(t, run("2\n"))

	// And one that made the branch meanwhile.
	if _, err := c.Prepare(t.Context(), "new", "main"); err != nil {
		t.Fatal(err)
	}
	host.PushOutside(repository, "new", map[string]string{"theirs.md": "theirs\n"})
	write(t, c, "a.md", "3\n")
	commit(t, c)
	is(t, c.Push(t.Context(), "new"), checkout.ErrRejected)
}

// A connection that breaks within a push is no word of the remote's: trying again may help.
func TestABrokenPushIsNotARejection(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"a proxy's answer": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"nothing of the branch": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
			_, _ = io.WriteString(w, "0017\x01000eunpack ok\n00000000")
		},
	} {
		host, c := started(t, page)
		write(t, c, "a.md", "a\n")
		commit(t, c)
		host.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body)
				answer(w)
				return true
			}
			return false
		})
		err := c.Push(t.Context(), branch)
		t.Logf("%s: %v", name, err)
		is(t, err, checkout.ErrUnreachable)
	}
}

// hang has the host answer nothing. Each channel gets a value: a request came; its
// client is gone.
func hang(host *githost.Host) (came, gone chan struct{}) {
	came, gone = make(chan struct{}, 10), make(chan struct{}, 10)
	host.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		came <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
		return true
	})
	return came, gone
}

func TestCancelKillsGitAtOnce(t *testing.T) {
	host, _, o := guarded(t)
	c := open(t, o)
	came, gone := hang(host)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the job was cancelled")
	go func() {
		<-came
		cancel(reason)
	}()
	_, err := c.Prepare(ctx, branch, "main")
	is(t, err, reason)
	<-gone // git's own child, which holds the connection
	_, err = c.Prepare(ended(t), branch, "main")
	is(t, err, context.Canceled)
	is(t, c.Push(ended(t), branch), context.Canceled)
	_, err = c.Commit(ended(t), "m")
	is(t, err, context.Canceled)
}

func TestTimeout(t *testing.T) {
	host, _, o := guarded(t)
	o.Limits.Timeout = 500 * time.Millisecond
	_, gone := hang(host)
	_, err := open(t, o).Prepare(t.Context(), branch, "main")
	is(t, err, checkout.ErrTimeout)
	<-gone
}

func TestAFetchHasABound(t *testing.T) {
	host := githost.Start(t, githost.Options{})
	host.Create(repository, page)
	o := options(t, host)
	o.Limits.FetchBytes = 64 << 10
	c := open(t, o)
	prepare(t, c)
	host.PushOutside(repository, "main", map[string]string{"random": noise(1 << 20)})
	for range 2 {
		_, err := c.Prepare(t.Context(), branch, "main")
		is(t, err, checkout.ErrTooMuch)
		// What came of it does not pile up.
		left, err := filepath.Glob(filepath.Join(o.Dir, "git", "objects", "pack", "tmp_*"))
		ok(t, err)
		if len(left) > 1 {
			t.Errorf("left are %q", left)
		}
	}
}
