package checkout_test

import (
	"strings"
	"testing"

	"footfall/agentjobs/checkout"
)

func TestOptions(t *testing.T) {
	with := func(change func(*checkout.Options)) checkout.Options {
		o := checkout.Options{Dir: "/jobs/1", Remote: "https://example.org/acme/docs.git", Author: checkout.Author{Name: "A", Email: "a@example.org"}}
		change(&o)
		return o
	}
	remote := func(s string, insecure bool) checkout.Options {
		return with(func(o *checkout.Options) { o.Remote, o.Insecure = s, insecure })
	}
	docs := func(s string) checkout.Options { return with(func(o *checkout.Options) { o.DocsPath = s }) }
	tests := map[string]struct {
		options checkout.Options
		valid   bool
	}{
		"least":          {with(func(*checkout.Options) {}), true},
		"port":           {remote("https://example.org:8443/acme/docs", false), true},
		"http":           {remote("http://127.0.0.1/x", false), false},
		"http loopback":  {remote("http://127.0.0.1:3000/x", true), true},
		"http ::1":       {remote("http://[::1]:3000/x", true), true},
		"http elsewhere": {remote("http://example.org/x", true), false},
		"file":           {remote("file:///srv/x", false), false},
		"file insecure":  {remote("file:///srv/x", true), true},
		"file host":      {remote("file://host/x", true), false},
		"user":           {remote("https://u:hunter2@example.org/x", false), false},
		"bad user":       {remote("https://u:hunter2%@example.org/x\x7f", false), false},
		"query":          {remote("https://example.org/x?hunter2", false), false},
		"fragment":       {remote("https://example.org/x#hunter2", false), false},
		"ssh":            {remote("ssh://example.org/x", true), false},
		"ext":            {remote("ext::sh -c hunter2", true), false},
		"option":         {remote("--upload-pack=hunter2", true), false},
		"scp":            {remote("git@example.org:x", true), false},
		"no host":        {remote("https:///x", false), false},
		"space":          {remote("https://example.org/a b", false), false},
		"line":           {remote("https://example.org/a\nb", false), false},
		"empty":          {remote("", true), false},
		"relative dir":   {with(func(o *checkout.Options) { o.Dir = "jobs" }), false},
		"docs":           {docs("docs/en"), true},
		"docs slash":     {docs("docs/"), true},
		"docs root":      {docs("/docs"), false},
		"docs up":        {docs("docs/../.."), false},
		"docs within":    {docs("docs/../x"), false},
		"docs dots":      {docs(".."), false},
		"docs twice":     {docs("docs//x"), false},
		"no author":      {with(func(o *checkout.Options) { o.Author.Name = " " }), false},
		"author mail":    {with(func(o *checkout.Options) { o.Author.Email = "a>b" }), false},
		"author line":    {with(func(o *checkout.Options) { o.Author.Name = "a\nb" }), false},
		"token user":     {with(func(o *checkout.Options) { o.TokenUser = "a:b" }), false},
	}
	for name, test := range tests {
		_, err := checkout.New(test.options)
		if (err == nil) != test.valid {
			t.Errorf("%s: New says %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error holds the secret: %v", name, err)
		}
	}
}

func TestNamesOfBranchesAreChecked(t *testing.T) {
	_, c := started(t, page)
	for _, name := range []string{"-f", "--mirror", "a..b", "a:b", "refs/heads/x y"} {
		_, err := c.Prepare(t.Context(), name, "main")
		is(t, err, checkout.ErrName)
		_, err = c.Prepare(t.Context(), "x", name)
		is(t, err, checkout.ErrName)
		is(t, c.Push(t.Context(), name), checkout.ErrName)
		is(t, c.Check(t.Context(), name), checkout.ErrName)
	}
	for _, name := range []string{"+a", "refs/heads/x", "@"} {
		if _, err := c.Prepare(t.Context(), name, "main"); err != nil {
			t.Errorf("Prepare(%q): %v", name, err)
		}
		if err := c.Push(t.Context(), name); err != nil {
			t.Errorf("Push(%q): %v", name, err)
		}
	}
}
