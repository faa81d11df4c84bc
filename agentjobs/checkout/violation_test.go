package checkout_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"footfall/agentjobs/agenttest/githost"
	"footfall/agentjobs/checkout"
)

// base is a repository with everything in it that a change may not touch.
var base = map[string]githost.Entry{
	"docs/index.md":            {Mode: githost.ModeFile, Content: "# Welcome\n"},
	"README.md":                {Mode: githost.ModeFile, Content: "read me\n"},
	".gitignore":               {Mode: githost.ModeFile, Content: "cache/\n"},
	".github/workflows/ci.yml": {Mode: githost.ModeFile, Content: "on: push\n"},
	".gitmodules":              {Mode: githost.ModeFile, Content: "[submodule \"sub\"]\n\tpath = sub\n\turl = https://example.org/sub\n"},
	"sub":                      {Mode: githost.ModeSubmodule, Content: strings.Repeat("1", 40)},
	"out":                      {Mode: githost.ModeLink, Content: "/etc"},
	"up":                       {Mode: githost.ModeLink, Content: "docs/../docs"},
}

func withBase(t *testing.T, change func(*checkout.Options)) (*githost.Host, *checkout.Checkout) {
	t.Helper()
	host := githost.Start(t, githost.Options{})
	host.Create(repository, nil)
	host.PushEntries(repository, "main", base)
	o := options(t, host)
	change(&o)
	c := open(t, o)
	prepare(t, c)
	return host, c
}

func TestViolations(t *testing.T) {
	type tree struct {
		*checkout.Checkout
		t *testing.T
	}
	at := func(c tree, name string) string { return filepath.Join(c.Tree(), name) }
	file := func(name string) func(tree) {
		return func(c tree) { write(c.t, c.Checkout, name, "x\n") }
	}
	to := func(name, target string) func(tree) {
		return func(c tree) { link(c.t, c.Checkout, name, target) }
	}
	tests := []struct {
		path string
		act  func(tree)
	}{
		{".git", file(".git")},
		{"docs/.git", to("docs/.git", "/somewhere")},
		{"docs/.GiT", file("docs/.GiT/config")},
		{"git~1", file("git~1")},
		{"docs/.g\u200cit", file("docs/.g\u200cit")},
		{".git ", file(".git ")},
		{".git.", file(".git.")},
		{".git::$INDEX_ALLOCATION", file(".git::$INDEX_ALLOCATION")},
		{`a\.git\config`, file(`a\.git\config`)},
		{"cache/deep/.git", file("cache/deep/.git")},

		{"pipe", func(c tree) { ok(c.t, syscall.Mkfifo(at(c, "pipe"), 0o600)) }},
		{"cache/socket", func(c tree) {
			ok(c.t, os.Mkdir(at(c, "cache"), 0o700))
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			ok(c.t, err)
			defer syscall.Close(fd)
			c.t.Chdir(at(c, "cache")) // a socket's path is short
			ok(c.t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: "socket"}))
		}},
		{"huge", func(c tree) {
			file("huge")(c)
			ok(c.t, os.Truncate(at(c, "huge"), 1<<40))
		}},
		{"docs/shut", func(c tree) {
			file("docs/shut")(c)
			ok(c.t, os.Chmod(at(c, "docs/shut"), 0))
		}},

		{".github/workflows/own.yml", file(".github/workflows/own.yml")},
		{".github/workflows/ci.yml", file(".github/workflows/ci.yml")},
		{".github/workflows/ci.yml", func(c tree) { ok(c.t, os.RemoveAll(at(c, ".github"))) }},
		{".github/workflows/ci.yml", func(c tree) { ok(c.t, os.Rename(at(c, ".github"), at(c, "hub"))) }},
		{".github", func(c tree) {
			ok(c.t, os.Rename(at(c, ".github"), at(c, "hub")))
			to(".github", "hub")(c)
		}},
		{".GitHub/workflows/x.yml", file(".GitHub/workflows/x.yml")},
		{".gitlab-ci.yml", file(".gitlab-ci.yml")},
		{"docs/Jenkinsfile", file("docs/Jenkinsfile")},
		{"netlify.toml", file("netlify.toml")},

		{".gitmodules", file(".gitmodules")},
		{".gitmodules", func(c tree) { ok(c.t, os.Remove(at(c, ".gitmodules"))) }},
		{".gitmodules", func(c tree) {
			ok(c.t, os.Remove(at(c, ".gitmodules")))
			to(".gitmodules", "/dev/zero")(c)
		}},
		{"sub", func(c tree) { ok(c.t, os.Remove(at(c, "sub"))) }},
		{"sub", func(c tree) {
			ok(c.t, os.Remove(at(c, "sub")))
			to("sub", "docs")(c)
		}},

		{"l", to("l", "/etc/passwd")},
		{"l", to("l", "..")},
		{"docs/l", to("docs/l", "../../x")},
		{"l", to("l", "docs/../../x")},
		{"l", to("l", "missing/../../x")},
		{"l", to("l", ".git/config")},
		{"l", to("l", "l")},
		{"l", to("l", "out/passwd")}, // through a link that left already
		{"l", func(c tree) {
			// By its words it stays: a/b/c/../../x. Where c leads up, it leaves.
			to("a/b/c", "../..")(c)
			to("l", "a/b/c/../x")(c)
		}},
		{"l", func(c tree) {
			// An ignored link leads down here, and is not there in another clone.
			ok(c.t, os.MkdirAll(at(c, "d/e/f"), 0o700))
			to("cache/deep", "../d/e/f")(c)
			to("l", "cache/deep/../../../x")(c)
		}},
		{"out", func(c tree) {
			ok(c.t, os.Remove(at(c, "out")))
			to("out", "/root")(c)
		}},
	}
	_, c := withBase(t, func(*checkout.Options) {})
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			prepare(t, c) // where the violation before this one is
			if change := commit(t, c); change.Changed {
				t.Fatalf("the run begins with %+v", change)
			}
			test.act(tree{c, t})
			refused(t, c, test.path)
			if text, err := c.Diff(t.Context(), 100); text != "" || err != nil {
				t.Errorf("what was committed is %q, %v", text, err)
			}
		})
	}
}

func TestAllowed(t *testing.T) {
	host, c := withBase(t, func(*checkout.Options) {})
	write(t, c, "docs/index.md", "changed\n")
	write(t, c, ".gitattributes", "*.md text\n")
	write(t, c, "docs/travis.md", "a page about a service\n")
	write(t, c, ".gitignored", "not .gitignore\n")
	write(t, c, "sub/file", "in the place of a submodule\n")
	link(t, c, "docs/down", "../docs/index.md")
	link(t, c, "docs/nowhere", "missing/page.md")
	link(t, c, "a/b/up", "../..")
	link(t, c, "through", "a/b/up/docs")
	link(t, c, "cache/out", "/etc") // ignored
	change := commit(t, c)
	push(t, c)
	if change.Stat.Files != 8 {
		t.Errorf("change is %+v of %q", change, host.Files(repository, branch))
	}
	if mode := host.Mode(repository, branch, "sub"); mode != githost.ModeSubmodule {
		t.Errorf("the submodule is now %q", mode)
	}
}

func TestDocsPath(t *testing.T) {
	tests := []struct {
		path    string
		allowed bool
	}{
		{"docs/en/a.md", true},
		{"docs/a.md", false},
		{"docs/english.md", false},
		{"docs/En/a.md", false},
		{"README.md", false},
		{".gitignore", false},
		{"docs/en/.github/x", false},
	}
	for _, docs := range []string{"docs/en", "./docs/en/"} {
		_, c := withBase(t, func(o *checkout.Options) { o.DocsPath = docs })
		for _, test := range tests {
			prepare(t, c)
			write(t, c, "docs/en/index.md", "x\n")
			write(t, c, test.path, "x\n")
			if test.allowed {
				commit(t, c)
			} else {
				refused(t, c, test.path)
			}
		}
		prepare(t, c)
		link(t, c, "docs/en", "../elsewhere") // the directory itself
		refused(t, c, "docs/en")
	}
}

func TestLimits(t *testing.T) {
	_, c := withBase(t, func(o *checkout.Options) {
		o.Limits = checkout.Limits{Files: 20, FileBytes: 1000, ChangeBytes: 1500}
	})
	for name, act := range map[string]func(){
		"one file": func() { write(t, c, "a", strings.Repeat("a", 1001)) },
		"all files": func() {
			write(t, c, "a", strings.Repeat("a", 1000))
			write(t, c, "b", strings.Repeat("b", 501))
		},
		"number": func() {
			for i := range 10 {
				write(t, c, "cache/"+strings.Repeat("x", i+1), "")
			}
		},
		"depth": func() { ok(t, os.MkdirAll(filepath.Join(c.Tree(), strings.Repeat("d/", 250)), 0o700)) },
	} {
		prepare(t, c)
		act()
		_, err := c.Commit(t.Context(), "m")
		if violation := (*checkout.Violation)(nil); !errors.As(err, &violation) {
			t.Errorf("%s: error is %v; want a violation", name, err)
		}
	}
	prepare(t, c)
	write(t, c, "cache/large", strings.Repeat("a", 5000)) // ignored
	write(t, c, "a", strings.Repeat("a", 1000))
	write(t, c, "b", strings.Repeat("b", 500))
	commit(t, c)
}
