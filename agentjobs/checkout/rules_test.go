package checkout

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDefinitions(t *testing.T) {
	for _, pattern := range definitions {
		if _, err := path.Match(pattern, "x"); err != nil || pattern != strings.ToLower(pattern) {
			t.Errorf("pattern %q: %v", pattern, err)
		}
	}
	tests := map[string]bool{
		".github/dependabot.yml": true, "a/.GITHUB/x": true, ".github": true, ".github./x": true,
		".gitlab-ci.yml": true, ".gitlab/ci/x.yml": true, "ci/build.gitlab-ci.yml": true,
		".gitea/workflows/x": true, ".forgejo/x": true, ".circleci/config.yml": true, ".travis.yml": true,
		"azure-pipelines.yml": true, "azure-pipelines-docs.yaml": true, ".azure-pipelines/x": true,
		"Jenkinsfile": true, "Jenkinsfile.docs": true, "bitbucket-pipelines.yml": true,
		".drone.yml": true, ".drone.star": true, ".woodpecker.yaml": true, ".woodpecker/x.yml": true,
		".buildkite/pipeline.yml": true, "appveyor.yml": true, ".appveyor.yml": true, ".cirrus.star": true,
		".semaphore/x": true, ".teamcity/x": true, "cloudbuild.yaml": true, "cloudbuild.json": true,
		".readthedocs.yaml": true, "netlify.toml": true, "vercel.json": true, ".build.yml": true,

		"docs/github.md": false, "github/x": false, ".githubx": false, "travis.md": false, "docs/jenkins.md": false,
		"build.yml": false, "azure.md": false, "drone/index.md": false, "appveyor.md": false, "index.md": false,
	}
	for name, want := range tests {
		if got := isDefinition(name); got != want {
			t.Errorf("isDefinition(%q) = %t", name, got)
		}
	}
}

// An agent's names for .git are at least those that git itself refuses.
func TestDotGitAgainstGit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) error {
		return exec.Command("git", append([]string{"-C", dir, "-c", "core.protectNTFS=true", "-c", "core.protectHFS=true"}, args...)...).Run()
	}
	if err := git("init", "--quiet"); err != nil {
		t.Fatal(err)
	}
	refused := 0
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{".git", ".", " ", "GIT", "git~1", "~1", ":", `\`, "\u200c", "\ufeff", "x", "\xff", "t"}), 1, 4)
		name := strings.Join(parts.Draw(r, "name"), "")
		// The id of the empty blob need not exist.
		err := git("update-index", "--add", "--cacheinfo", "100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,"+name)
		if err != nil && name != "." && name != ".." {
			refused++
			if !isDotGit(name) {
				r.Errorf("git refuses %q", name)
			}
		}
	})
	if refused == 0 {
		t.Error("git refused nothing: the test proves nothing")
	}
	for _, name := range []string{"git", ".gitignore", "a.git", "git~2", "..git", ".gi"} {
		if isDotGit(name) {
			t.Errorf("%q counts as .git", name)
		}
	}
}

func TestBranchNamesAgainstGit(t *testing.T) {
	agree := func(name string) (ours, gits bool) {
		return CheckBranch(name) == nil, exec.Command("git", "check-ref-format", "refs/heads/"+name).Run() == nil && name[0] != '-'
	}
	for _, name := range []string{"main", "footfall/0199", "a/b.c", "@", "a@b", "ünï", "x.lock", "x.lock/y", ".x", "a/.x", "a//b",
		"/a", "a/", "a..b", "a.", "-a", "a-", "a@{b", "a b", "a~", "a^", "a:", "a?", "a*", "a[", `a\`, "a\x7f", "a\nb", "a\xff"} {
		if ours, gits := agree(name); ours != gits {
			t.Errorf("%q: ours %t, git's %t", name, ours, gits)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "/", ".", ".lock", "-", "@", "{", "~", "\t", "é", "\x80"}), 1, 5)
		name := strings.Join(parts.Draw(r, "name"), "")
		if ours, gits := agree(name); ours != gits {
			r.Errorf("%q: ours %t, git's %t", name, ours, gits)
		}
	})
	for _, name := range []string{"", "HEAD", strings.Repeat("a", maxBranch+1)} {
		if err := CheckBranch(name); !errors.Is(err, ErrName) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// The links of a set are put on a disk, and the kernel and os.Root say where they lead.
func TestLinksAgainstTheKernel(t *testing.T) {
	left := 0
	rapid.Check(t, func(r *rapid.T) {
		parent, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		tree := filepath.Join(parent, "out", "tree")
		if err := os.MkdirAll(filepath.Join(tree, "a", "b", "c"), 0o700); err != nil {
			r.Fatal(err)
		}
		element := rapid.SampledFrom([]string{"a", "b", "c", "l", "m", "n", "..", "..", ".", "", "tree", "out"})
		links := make(linkSet)
		for range rapid.IntRange(1, 6).Draw(r, "links") {
			name := rapid.SampledFrom([]string{"l", "m", "n", "a/l", "a/m", "a/b/l", "a/b/n", "a/b/c/m"}).Draw(r, "link")
			target := strings.Join(rapid.SliceOfN(element, 1, 6).Draw(r, "target"), "/")
			if target == "" || links[name] != "" {
				continue
			}
			links[name] = target
			if err := os.Symlink(target, filepath.Join(tree, name)); err != nil {
				r.Fatal(err)
			}
		}
		root, err := os.OpenRoot(tree)
		if err != nil {
			r.Fatal(err)
		}
		defer root.Close()
		for link := range links {
			leaves := links.leaves(link)
			end, err := filepath.EvalSymlinks(filepath.Join(tree, link))
			if err == nil && end != tree && !strings.HasPrefix(end, tree+"/") {
				left++
				if !leaves {
					r.Errorf("%s leads to %s, by %q", link, end, links)
				}
			}
			if _, err := root.Stat(link); err == nil && leaves {
				r.Errorf("%s stays in the tree, by %q", link, links)
			}
		}
	})
	if left == 0 {
		t.Error("no link left: the test proves nothing")
	}
}

func FuzzParseRaw(f *testing.F) {
	id := strings.Repeat("0", 40)
	f.Add([]byte(":100644 000000 " + id + " " + id + " D\x00a\nb\x00:000000 160000 " + id + " " + id + " A\x00c\x00"))
	f.Add([]byte(":100644 000000 x y R100\x00a\x00"))
	f.Fuzz(func(t *testing.T, listing []byte) {
		entries, err := parseRaw(listing)
		if err != nil {
			return
		}
		// Nothing of a listing that is understood is passed over.
		n := 0
		for range fields(listing) {
			n++
		}
		if n != 2*len(entries) {
			t.Errorf("%d entries of %d fields", len(entries), n)
		}
	})
}

func FuzzParseBatch(f *testing.F) {
	f.Add([]byte("e69de blob 0\n\nabc blob 3\n../\nx missing\n"))
	f.Add([]byte("a blob 9223372036854775807\nx"))
	f.Fuzz(func(t *testing.T, blobs []byte) {
		contents, err := parseBatch(blobs)
		if size := len(strings.Join(contents, "")); err == nil && size > len(blobs) {
			t.Errorf("%d bytes of %d", size, len(blobs))
		}
	})
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1\t2\ta\tb\x00-\t-\tc\x00"))
	f.Fuzz(func(t *testing.T, listing []byte) {
		if stat, err := parseStat(listing); err == nil && stat.Files > len(listing) {
			t.Errorf("%+v of %d bytes", stat, len(listing))
		}
	})
}
