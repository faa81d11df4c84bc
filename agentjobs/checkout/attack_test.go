package checkout_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"footfall/agentjobs/agenttest/githost"
	"footfall/agentjobs/checkout"
)

// canary is a file that an attack's program creates where it runs.
type canary string

func newCanary(t *testing.T) canary { return canary(filepath.Join(t.TempDir(), "sang")) }

// program is what an attack has git run.
func (c canary) program() string { return "touch " + string(c) + "; cat" }

// sang reports whether the program ran, and makes the next run of it visible.
func (c canary) sang() bool { return os.Remove(string(c)) == nil }

// plain runs git as a service that does not look out would.
func plain(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a")
	out, err := cmd.CombinedOutput()
	t.Logf("plain git %q: %v: %s", args, err, out)
}

// plant makes a directory a repository with a commit, whose settings run a program.
func plant(t *testing.T, dir string, canary canary) {
	t.Helper()
	ok(t, os.MkdirAll(dir, 0o755))
	plain(t, dir, "init", "--quiet")
	put(t, filepath.Join(dir, "file"), "x\n", 0o644)
	plain(t, dir, "add", "--all")
	plain(t, dir, "commit", "--quiet", "--message=x")
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"" + canary.program() + "\"\n" +
		"[filter \"x\"]\n\tclean = \"" + canary.program() + "\"\n\tsmudge = \"" + canary.program() + "\"\n"
	put(t, filepath.Join(dir, ".git", "config"), config, 0o644)
	put(t, filepath.Join(dir, ".gitattributes"), "* filter=x\n", 0o644)
	put(t, filepath.Join(dir, "file"), "y\n", 0o644)
}

// twoRuns has the agent attack in a first run, and again in a second: what the first
// left behind must not run then either.
func twoRuns(t *testing.T, c *checkout.Checkout, canary canary, path string, attack func()) {
	t.Helper()
	for range 2 {
		prepare(t, c)
		attack()
		canary.sang() // of the attack's own git
		refused(t, c, path)
		if canary.sang() {
			t.Error("the attack's program ran")
		}
	}
	prepare(t, c)
	write(t, c, "docs/index.md", "an honest change\n")
	commit(t, c)
	push(t, c)
	if canary.sang() {
		t.Error("the attack's program ran in the run after")
	}
}

func TestSettingsInTheTree(t *testing.T) {
	canary := newCanary(t)
	_, c := started(t, page)
	twoRuns(t, c, canary, ".git", func() { plant(t, c.Tree(), canary) })

	control := t.TempDir()
	plant(t, control, canary)
	canary.sang()
	plain(t, control, "add", "--all")
	if !canary.sang() {
		t.Error("the attack does nothing to plain git either: the test proves nothing")
	}
}

func TestNestedRepository(t *testing.T) {
	canary := newCanary(t)
	_, c := started(t, page)
	twoRuns(t, c, canary, "sub/.git", func() {
		plant(t, filepath.Join(c.Tree(), "sub"), canary)
		write(t, c, ".gitattributes", "* filter=x\n")
	})

	// A git directory elsewhere does not help: the second add runs the program.
	control, git := t.TempDir(), "--git-dir="+filepath.Join(t.TempDir(), "git")
	plain(t, control, git, "--work-tree=.", "init", "--quiet")
	plant(t, filepath.Join(control, "sub"), canary)
	plain(t, control, git, "--work-tree=.", "add", "--all")
	canary.sang()
	put(t, filepath.Join(control, "sub", "file"), "z\n", 0o644)
	plain(t, control, git, "--work-tree=.", "status")
	if !canary.sang() {
		t.Error("the attack does nothing to plain git either: the test proves nothing")
	}
}

// A submodule of the base is an empty directory, where git expects a repository.
func TestRepositoryInASubmodule(t *testing.T) {
	canary := newCanary(t)
	host, c := started(t, page)
	host.PushEntries(repository, "main", map[string]githost.Entry{
		"sub":         {Mode: githost.ModeSubmodule, Content: strings.Repeat("1", 40)},
		".gitmodules": {Mode: githost.ModeFile, Content: "[submodule \"sub\"]\n\tpath = sub\n\turl = https://example.org/sub\n\tignore = all\n"},
	})
	twoRuns(t, c, canary, "sub/.git", func() { plant(t, filepath.Join(c.Tree(), "sub"), canary) })
}

func TestIgnoredRepository(t *testing.T) {
	canary := newCanary(t)
	_, c := started(t, map[string]string{".gitignore": "cache/\n"})
	twoRuns(t, c, canary, "cache/sub/.git", func() { plant(t, filepath.Join(c.Tree(), "cache", "sub"), canary) })
}

// No filter and no hook is ever run, not even where the settings that git reads name it.
func TestFiltersAndHooks(t *testing.T) {
	canary := newCanary(t)
	template, home := t.TempDir(), t.TempDir()
	hook := "#!/bin/sh\n" + canary.program() + " >/dev/null\n"
	for _, name := range []string{"reference-transaction", "post-checkout", "pre-commit", "pre-push", "post-index-change", "commit-msg"} {
		put(t, filepath.Join(template, "hooks", name), hook, 0o755)
	}
	put(t, filepath.Join(home, ".gitconfig"), "[filter \"x\"]\n\tclean = "+canary.program()+"\n\tsmudge = "+canary.program()+
		"\n[init]\n\ttemplateDir = "+template+"\n[core]\n\thooksPath = "+filepath.Join(template, "hooks")+"\n", 0o644)
	t.Setenv("HOME", home)
	t.Setenv("GIT_TEMPLATE_DIR", template)
	_, c := started(t, map[string]string{".gitattributes": "* filter=x\n", "docs/index.md": "x\n"})
	for range 2 {
		prepare(t, c)
		for _, name := range []string{"reference-transaction", "pre-push", "post-index-change"} {
			put(t, filepath.Join(filepath.Dir(c.Tree()), "git", "hooks", name), hook, 0o755)
		}
		put(t, filepath.Join(filepath.Dir(c.Tree()), "git", "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"+
			"[filter \"x\"]\n\tclean = \""+canary.program()+"\"\n\tsmudge = \""+canary.program()+"\"\n", 0o600)
		write(t, c, "docs/index.md", "y\n")
		write(t, c, ".gitattributes", "* filter=x diff=x\n")
		commit(t, c)
		push(t, c)
	}
	if canary.sang() {
		t.Error("a filter or a hook ran")
	}
}

// secret is in what a thief's host got, or nowhere.
const secret = "tok3n-of-the-operator"

// guarded is a host with a token, a host that wants to have it, and a checkout.
func guarded(t *testing.T) (host, thief *githost.Host, o checkout.Options) {
	t.Helper()
	host = githost.Start(t, githost.Options{Token: secret})
	host.Create(repository, page)
	thief = githost.Start(t, githost.Options{})
	thief.Create(repository, page)
	o = options(t, host)
	o.Token = func() (string, error) { return secret, nil }
	return host, thief, o
}

// work is one whole run.
func work(t *testing.T, c *checkout.Checkout) {
	t.Helper()
	prepare(t, c)
	write(t, c, "docs/index.md", "changed\n")
	commit(t, c)
	push(t, c)
	ok(t, c.Check(t.Context(), "main"))
}

func TestTheServicesEnvironmentDoesNotReachGit(t *testing.T) {
	host, thief, o := guarded(t)
	settings := "[url \"" + thief.Address() + "/\"]\n\tinsteadOf = " + host.Address() + "/\n\tpushInsteadOf = " + host.Address() + "/\n" +
		"[http]\n\tproxy = " + thief.Address() + "\n"
	home := t.TempDir()
	for _, name := range []string{".gitconfig", ".config/git/config", "system"} {
		put(t, filepath.Join(home, name), settings, 0o644)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("GIT_CONFIG_SYSTEM", filepath.Join(home, "system"))
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url."+thief.Address()+"/.insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", host.Address()+"/")
	t.Setenv("http_proxy", thief.Address())
	t.Setenv("HTTP_PROXY", thief.Address())
	t.Setenv("ALL_PROXY", thief.Address())
	work(t, open(t, o))
	if got := thief.Requests(); len(got) != 0 {
		t.Errorf("the other host got %v", got)
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+secret))
	for _, r := range host.Requests() {
		if r.Header.Get("Authorization") != want {
			t.Errorf("%s %s came with %q", r.Method, r.Path, r.Header.Get("Authorization"))
		}
	}
	plain(t, t.TempDir(), "-c", "http.proxy=", "ls-remote", host.URL(repository))
	if len(thief.Requests()) == 0 {
		t.Error("plain git does not go to the other host either: the test proves nothing")
	}
}

// Should a setting lead git to another host in spite of all, the token stays at home.
func TestTheTokenIsForOneAddress(t *testing.T) {
	host, thief, o := guarded(t)
	c := open(t, o)
	prepare(t, c)
	put(t, filepath.Join(o.Dir, "git", "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"+
		"[url \""+thief.Address()+"/\"]\n\tinsteadOf = "+host.Address()+"/\n", 0o600)
	prepare(t, c)
	push(t, c)
	if len(thief.Requests()) == 0 {
		t.Error("git did not go to the other host: the test proves nothing")
	}
	for _, r := range thief.Requests() {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the other host got %v", r)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, from := range []string{"/info/refs", "/git-upload-pack"} {
		host, thief, o := guarded(t)
		host.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, from) {
				return false
			}
			http.Redirect(w, r, thief.Address()+r.URL.RequestURI(), http.StatusMovedPermanently)
			return true
		})
		_, err := open(t, o).Prepare(t.Context(), branch, "main")
		if from == "/info/refs" {
			is(t, err, checkout.ErrRedirected)
		}
		if err == nil || len(thief.Requests()) != 0 {
			t.Errorf("redirect of %s: %v; the other host got %v", from, err, thief.Requests())
		}
	}
}

func TestTheTokenIsOnlyInTheEnvironment(t *testing.T) {
	_, _, o := guarded(t) // finds git before the other one is there
	real, err := exec.LookPath("git")
	ok(t, err)
	bin, logged := t.TempDir(), filepath.Join(t.TempDir(), "log")
	script := "#!/bin/sh\n{ echo \"argv $*\"; env | grep -E '^GIT_CONFIG_VALUE_.*Basic' | sed \"s/^/env $1 /\"; " +
		"env | grep -vE '^GIT_CONFIG_VALUE_|^PWD|^OLDPWD|^SHLVL|^_=' | sed 's/^/other /'; } >>" + logged + "\nexec " + real + " \"$@\"\n"
	put(t, filepath.Join(bin, "git"), script, 0o755)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("FOOTFALL_SECRET", secret)
	work(t, open(t, o))

	content, err := os.ReadFile(logged)
	ok(t, err)
	encoded := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + secret))
	seen := make(map[string]bool)
	for line := range strings.Lines(string(content)) {
		kind, rest, _ := strings.Cut(line, " ")
		holds := strings.Contains(line, secret) || strings.Contains(line, encoded)
		if kind == "env" {
			verb, _, _ := strings.Cut(rest, " ")
			seen[verb] = true
		} else if holds {
			t.Errorf("the token is in %q", line)
		}
	}
	for _, verb := range []string{"fetch", "ls-remote", "push"} {
		if !seen[verb] {
			t.Errorf("%s had no token", verb)
		}
		delete(seen, verb)
	}
	if len(seen) != 0 {
		t.Errorf("these had the token without need: %v", seen)
	}
	ok(t, filepath.WalkDir(o.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), secret) || strings.Contains(string(content), encoded) {
			t.Errorf("the token is in %s", path)
		}
		return err
	}))
}
