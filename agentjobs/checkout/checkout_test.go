package checkout_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"footfall/agentjobs/agenttest/githost"
	"footfall/agentjobs/checkout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAJobAndItsFollowUp(t *testing.T) {
	host := githost.Start(t, githost.Options{Token: "s3cret"})
	host.Create(repository, page)
	host.PushOutside(repository, "main", map[string]string{"docs/more.md": "more\n"}) // so that there is history to cut
	o := options(t, host)
	o.Token = func() (string, error) { return "s3cret\n", nil }
	c := open(t, o)

	start := prepare(t, c)
	if tip := host.Tip(repository, "main"); start != (checkout.Start{Commit: tip, Base: tip}) {
		t.Fatalf("start is %+v; want the base %s", start, tip)
	}
	if exists(filepath.Join(c.Tree(), ".git")) {
		t.Fatal("the tree holds a .git")
	}
	write(t, c, "docs/index.md", "# Hello\nthere\n")
	change := commit(t, c)
	if want := (checkout.Stat{Files: 1, Insertions: 2, Deletions: 1}); change.Stat != want || !change.Changed {
		t.Errorf("change is %+v; want %+v", change, want)
	}
	push(t, c)
	if tip := host.Tip(repository, branch); tip != change.Commit {
		t.Errorf("the branch is at %s; want %s", tip, change.Commit)
	}
	log := host.Log(repository, branch)
	if len(log) != 3 {
		t.Fatalf("the branch has %d commits; want 3", len(log))
	}
	if got := log[0]; got.Name != "Footfall Agent" || got.Email != "agent@example.org" || !got.Time.Equal(commitTime) || got.Message != "a change\n" {
		t.Errorf("commit is %+v", got)
	}

	// The base moves on; the count of the whole branch stays what it was.
	host.PushOutside(repository, "main", map[string]string{"other.md": "other\n"})
	again := prepare(t, c)
	if again.Commit != change.Commit || !again.Existed || again.Base != host.Tip(repository, "main") {
		t.Errorf("second start is %+v", again)
	}
	if got := read(t, c, "docs/index.md"); got != "# Hello\nthere\n" {
		t.Errorf("the second run begins with %q", got)
	}
	write(t, c, "docs/new.md", "new\n")
	commit(t, c)
	push(t, c)
	if stat, err := c.Stat(t.Context(), start.Base); err != nil || stat != (checkout.Stat{Files: 2, Insertions: 3, Deletions: 1}) {
		t.Errorf("Stat = %+v, %v", stat, err)
	}
	if len(host.Log(repository, branch)) != 4 {
		t.Error("the follow-up is not one more commit on the same branch")
	}
	if got := host.Branches(repository); !slices.Equal(got, []string{branch, "main"}) {
		t.Errorf("branches are %q", got)
	}
}

func TestNothingChanged(t *testing.T) {
	host, c := started(t, map[string]string{
		".gitignore": "cache/\n", "a.md": "a\r\n", "b.md": "b\n", ".gitattributes": "*.md text=auto\n",
	})
	write(t, c, "cache/x", "ignored")
	write(t, c, "b.md", "b\n")
	ok(t, os.Mkdir(filepath.Join(c.Tree(), "empty"), 0o755))
	change := commit(t, c)
	if want := (checkout.Change{Commit: host.Tip(repository, "main")}); change != want {
		t.Errorf("change is %+v; want %+v", change, want)
	}
	if text, err := c.Diff(t.Context(), 1000); text != "" || err != nil {
		t.Errorf("Diff = %q, %v", text, err)
	}
}

func TestNothingOfAnEarlierRunIsLeft(t *testing.T) {
	_, c := started(t, map[string]string{".gitignore": "cache/\n", "a.md": "a\n"})
	write(t, c, "cache/planted", "x")
	write(t, c, "a.md", "not pushed\n")
	commit(t, c)
	deep := c.Tree()
	for range 40 {
		deep = filepath.Join(deep, "d")
	}
	ok(t, os.MkdirAll(deep, 0o755))
	ok(t, os.Chmod(filepath.Dir(deep), 0o100))
	link(t, c, "out", t.TempDir())
	prepare(t, c)
	entries, err := os.ReadDir(c.Tree())
	ok(t, err)
	if len(entries) != 2 || read(t, c, "a.md") != "a\n" {
		t.Errorf("the tree holds %v, and a.md %q", entries, read(t, c, "a.md"))
	}
}

func TestARunThatWasCutShort(t *testing.T) {
	host, c := started(t, page)
	git := filepath.Join(filepath.Dir(c.Tree()), "git")
	for _, name := range []string{"index.lock", "HEAD.lock", "config.lock", "shallow.lock", "refs/checkout/base.lock"} {
		put(t, filepath.Join(git, name), "", 0o600)
	}
	put(t, filepath.Join(git, "index"), "half an in", 0o600)
	put(t, filepath.Join(filepath.Dir(git), "trash", "0", "left", "over"), "", 0o600)
	host.PushOutside(repository, "main", map[string]string{"a.md": "a\n"})
	prepare(t, c)
	write(t, c, "b.md", "b\n")
	commit(t, c)
	push(t, c)
	if exists(filepath.Join(filepath.Dir(git), "trash")) {
		t.Error("the trash is still there")
	}
}

func TestContents(t *testing.T) {
	contents := map[string]string{
		"crlf.txt":         "a\r\nb\r\n",
		"binary":           "\x00\x01\xff",
		"new\nline":        "1",
		"-rf":              "2",
		"--":               "3",
		`quo"te's`:         "4",
		"inval\xffid":      "5",
		"tab\there":        "6",
		":(top)magic":      "7",
		`back\slash`:       "8",
		"sp ace/ $(x) `y`": "9",
		"*":                "10",
		"ünï/日本":           "11",
	}
	host, c := started(t, page)
	for name, content := range contents {
		write(t, c, name, content)
	}
	ok(t, os.Chmod(filepath.Join(c.Tree(), "README.md"), 0o755))
	link(t, c, "docs/link", "../README.md")
	commit(t, c)
	push(t, c)
	for name, want := range contents {
		if got := host.Read(repository, branch, name); got != want {
			t.Errorf("%q holds %q; want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"README.md": githost.ModeExecutable, "docs/link": githost.ModeLink, "--": githost.ModeFile} {
		if got := host.Mode(repository, branch, name); got != want {
			t.Errorf("mode of %q is %q; want %q", name, got, want)
		}
	}
}

func TestEverythingRemoved(t *testing.T) {
	host, c := started(t, page)
	ok(t, os.RemoveAll(filepath.Join(c.Tree(), "docs")))
	ok(t, os.Remove(filepath.Join(c.Tree(), "README.md")))
	if change := commit(t, c); change.Stat != (checkout.Stat{Files: 2, Deletions: 2}) {
		t.Errorf("change is %+v", change)
	}
	push(t, c)
	if files := host.Files(repository, branch); len(files) != 0 {
		t.Errorf("the branch holds %q", files)
	}
}

func TestMessages(t *testing.T) {
	host, c := started(t, page)
	tests := map[string]string{
		"-m --amend":                         "-m --amend\n",
		"# a heading\n\n#also":               "# a heading\n\n#also\n",
		"\n\n  x  \r\ny\t\n\n":               "  x\ny\n",
		"$(touch /x) `y` ; \"'":              "$(touch /x) `y` ; \"'\n",
		"bad \xff and \x00 and \x1b[31m":     "bad \uFFFD and   and  [31m\n",
		strings.Repeat("é", 16<<10):          strings.Repeat("é", 16<<10) + "\n",
		"scissors\n# ---- >8 ----\nand more": "scissors\n# ---- >8 ----\nand more\n",
	}
	i := 0
	for message, want := range tests {
		i++
		write(t, c, "n", fmt.Sprint(i))
		if _, err := c.Commit(t.Context(), message); err != nil {
			t.Fatalf("%.20q: %v", message, err)
		}
		push(t, c)
		if got := host.Log(repository, branch)[0].Message; got != want {
			t.Errorf("message of %.30q is %.60q", message, got)
		}
	}
	write(t, c, "n", "last")
	_, err := c.Commit(t.Context(), " \n\x00\n")
	is(t, err, checkout.ErrMessage)
}

func TestDiff(t *testing.T) {
	_, c := started(t, page)
	write(t, c, "docs/index.md", "# "+strings.Repeat("é", 100)+"\n")
	write(t, c, ".gitattributes", "*.md -diff\n") // hides nothing
	commit(t, c)
	whole, err := c.Diff(t.Context(), 1<<20)
	ok(t, err)
	if !strings.Contains(whole, "-# Welcome\n+# éé") {
		t.Fatalf("the text is %q", whole)
	}
	// Every cut around the two-byte characters' beginning, and around the end.
	first := strings.Index(whole, "é")
	limits := []int{-1, 0, 1, first, first + 1, first + 2, first + 3, len(whole) - 1, len(whole), len(whole) + 1}
	for _, limit := range limits {
		part, err := c.Diff(t.Context(), limit)
		if err != nil || !strings.HasPrefix(whole, part) || len(part) > max(limit, 0) || len(part) < min(limit, len(whole))-1 {
			t.Fatalf("Diff(%d) = %q, %v", limit, part, err)
		}
	}
}

// A push of more than a megabyte goes in chunks.
func TestLargePush(t *testing.T) {
	host, c := started(t, page)
	random := noise(3 << 20)
	write(t, c, "random", random)
	commit(t, c)
	push(t, c)
	if host.Read(repository, branch, "random") != random {
		t.Error("the file arrived otherwise")
	}
}

func TestDiscardTree(t *testing.T) {
	host, c := started(t, page)
	write(t, c, "new.md", "new\n")
	change := commit(t, c)
	ok(t, c.DiscardTree())
	if exists(c.Tree()) {
		t.Error("the tree is still there")
	}
	ok(t, c.DiscardTree())
	// What was committed can be pushed without it.
	if !c.At(t.Context(), change.Commit) || c.At(t.Context(), host.Tip(repository, "main")) {
		t.Errorf("the checkout is not at %s", change.Commit)
	}
	push(t, c)
	if host.Read(repository, branch, "new.md") != "new\n" {
		t.Error("the file did not arrive")
	}
	ok(t, os.RemoveAll(filepath.Dir(c.Tree())))
	ok(t, c.DiscardTree())
	if exists(filepath.Dir(c.Tree())) || c.At(t.Context(), change.Commit) {
		t.Error("the directory is there again")
	}
}
