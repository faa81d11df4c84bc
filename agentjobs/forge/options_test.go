package forge_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"footfall/agentjobs/forge"
)

// TestAddresses looks where requests go.
func TestAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		kind       forge.Kind
		repository string
		api        string
		asked      string
	}{
		"github.com":            {forge.GitHub, "https://github.com/acme/docs.git", "", "https://api.github.com/repos/acme/docs/pulls/1"},
		"github.com, no suffix": {forge.GitHub, "https://GitHub.com/acme/docs/", "", "https://api.github.com/repos/acme/docs/pulls/1"},
		"a dot in the name":     {forge.GitHub, "https://github.com/acme/acme.github.io.git", "", "https://api.github.com/repos/acme/acme.github.io/pulls/1"},
		"enterprise":            {forge.GitHub, "https://git.example:8443/acme/docs", "", "https://git.example:8443/api/v3/repos/acme/docs/pulls/1"},
		"gitea":                 {forge.Gitea, "https://git.example/acme/docs", "", "https://git.example/api/v1/repos/acme/docs/pulls/1"},
		"gitea below a path":    {forge.Gitea, "https://git.example/a/b/acme/docs", "", "https://git.example/a/b/api/v1/repos/acme/docs/pulls/1"},
		"given":                 {forge.GitHub, "https://mirror.example/git/acme/docs", "https://proxy.example/github", "https://proxy.example/github/repos/acme/docs/pulls/1"},
		"given with a slash":    {forge.Gitea, "https://mirror.example/git/acme/docs", "https://git.example/api/v1/", "https://git.example/api/v1/repos/acme/docs/pulls/1"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			f, err := forge.New(forge.Options{
				Kind: c.kind, Repository: c.repository, APIURL: c.api,
				Token: func() (string, error) { return token, nil },
				Transport: transport(func(r *http.Request) (*http.Response, error) {
					asked = r.URL.String()
					return &http.Response{StatusCode: 404, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.PullRequest(t.Context(), 1)
			_ = failure(t, err)
			if asked != c.asked {
				t.Errorf("asked %s, want %s", asked, c.asked)
			}
			if owner, name := f.Repository(); !strings.Contains(c.asked, "/"+owner+"/"+name+"/") {
				t.Errorf("the repository is %s, %s", owner, name)
			}
		})
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	const good = "https://github.com/acme/docs"
	read := func() (string, error) { return token, nil }
	for name, o := range map[string]forge.Options{
		"no kind":                   {Repository: good, Token: read},
		"another kind":              {Kind: "gitlab", Repository: good, Token: read},
		"no token":                  {Kind: forge.GitHub, Repository: good},
		"no repository":             {Kind: forge.GitHub, Token: read},
		"no owner":                  {Kind: forge.GitHub, Repository: "https://github.com/docs", Token: read},
		"no name":                   {Kind: forge.GitHub, Repository: "https://github.com/acme/.git", Token: read},
		"dots":                      {Kind: forge.GitHub, Repository: "https://github.com/../docs", Token: read},
		"escaped slash":             {Kind: forge.GitHub, Repository: "https://github.com/acme%2f../docs", Token: read},
		"question mark":             {Kind: forge.GitHub, Repository: good + "?x", Token: read},
		"fragment":                  {Kind: forge.GitHub, Repository: good + "#x", Token: read},
		"http":                      {Kind: forge.GitHub, Repository: "http://github.com/acme/docs", Token: read},
		"http, loopback":            {Kind: forge.GitHub, Repository: "http://127.0.0.1/acme/docs", Token: read},
		"http elsewhere, for tests": {Kind: forge.GitHub, Repository: "http://192.0.2.1/acme/docs", Token: read, Insecure: true},
		"name like loopback":        {Kind: forge.GitHub, Repository: "http://127.0.0.1.example/acme/docs", Token: read, Insecure: true},
		"ssh":                       {Kind: forge.GitHub, Repository: "ssh://git@github.com/acme/docs", Token: read},
		"scp":                       {Kind: forge.GitHub, Repository: "git@github.com:acme/docs", Token: read},
		"file":                      {Kind: forge.GitHub, Repository: "file:///acme/docs", Token: read},
		"password":                  {Kind: forge.GitHub, Repository: "https://u:" + token + "@github.com/acme/docs", Token: read},
		"password, broken":          {Kind: forge.GitHub, Repository: "https://u:" + token + "@github.com:x/acme/docs", Token: read},
		"github below a path":       {Kind: forge.GitHub, Repository: "https://git.example/sub/acme/docs", Token: read},
		"api over http":             {Kind: forge.GitHub, Repository: good, APIURL: "http://api.github.com/", Token: read},
		"api with a password":       {Kind: forge.GitHub, Repository: good, APIURL: "https://u:" + token + "@api.github.com/", Token: read},
		"api with a query":          {Kind: forge.GitHub, Repository: good, APIURL: "https://api.github.com/?token=" + token, Token: read},
		"api without a host":        {Kind: forge.GitHub, Repository: good, APIURL: "https:///api/v3/", Token: read},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := forge.New(o)
			if !errors.Is(err, forge.ErrOptions) || f != nil {
				t.Fatalf("got %v, %v", f, err)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}

// Whatever is taken as a repository, the token goes to its host, by https.
func FuzzRepository(f *testing.F) {
	for _, seed := range []string{
		"https://github.com/acme/docs.git", "https://git.example:8443/a/../acme/docs", "https://git.example/%2e%2e/docs",
		"https://[::1]/acme/docs", "https://a@b/acme/docs", "https://git.example\\@evil/acme/docs", "//git.example/acme/docs",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, repository string) {
		var asked *url.URL
		made, err := forge.New(forge.Options{
			Kind: forge.Gitea, Repository: repository, Token: func() (string, error) { return token, nil },
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				asked = r.URL
				return &http.Response{StatusCode: 404, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
			}),
		})
		if err != nil {
			return
		}
		_, err = made.PullRequest(t.Context(), 1)
		_ = failure(t, err)
		owner, name := made.Repository()
		given, err := url.Parse(repository)
		if err != nil || asked == nil {
			t.Fatalf("%q was taken: %v, asked %v", repository, err, asked)
		}
		if asked.Scheme != "https" || asked.Host != given.Host || !strings.HasSuffix(asked.Path, "/api/v1/repos/"+owner+"/"+name+"/pulls/1") {
			t.Errorf("%q asks %s", repository, asked)
		}
	})
}
