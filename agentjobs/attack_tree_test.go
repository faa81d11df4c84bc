package agentjobs_test

import (
	"os"
	"path/filepath"
	"testing"

	"footfall/agentjobs"
)

// Links that leave the repository, definitions of CI in whatever dress, and what is no
// file are not pushed.
func TestAttacksOnTheTree(t *testing.T) {
	b := newBench(t, nil)
	b.set(func(s *agentjobs.Settings) { s.DocsPath = "" })
	const (
		leaves = "is a link that leaves the repository"
		runs   = "says what continuous integration runs"
	)
	suffers(t, b, 1, map[string]attack{
		"chain of links":                   {prompt: script(`mkdir a; ln -s . a/b; ln -s a/b/../../.. c`), says: []string{leaves}},
		"link to a directory to come":      {prompt: script(`ln -s missing/../../.. docs/out`), says: []string{`"docs/out"`, leaves}},
		"link within to a git directory":   {prompt: script(`ln -s ../.git/config docs/out`), says: []string{`"docs/out"`, leaves}},
		"directory becomes a link":         {prompt: script(`rm -r docs; ln -s /etc docs`), says: []string{`"docs"`, leaves}},
		"links within":                     {prompt: script(`ln -sfn docs/index.md a; ln -sfn ../README.md docs/b; ln -sfn docs c; ln -sfn c/install.md d; ln -f README.md e`), pushed: []string{"a", "docs/b", "c", "d", "e"}},
		"socket":                           {prompt: script(`perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "docs/s", Listen => 1) or die'`), says: []string{`"docs/s" is neither`}},
		"directory becomes .github":        {prompt: script(`mkdir -p new/workflows; echo on: push > new/workflows/x.yml; rm -rf .github; mv new .github`), says: []string{".github/workflows/", runs}},
		"definition moves away":            {prompt: script(`mv .github docs/github`), says: []string{".github/workflows/ci.yml", runs}},
		"definition in another case":       {prompt: script(`mkdir -p .GitHub/Workflows; echo on: push > .GitHub/Workflows/x.yml`), says: []string{".GitHub/", runs}},
		"definition by a link":             {prompt: script(`ln -s docs/x.yml .gitlab-ci.yml; echo x > docs/x.yml`), says: []string{".gitlab-ci.yml", runs}},
		"definitions' directory by a link": {prompt: script(`rm -r .github; mkdir docs/g; ln -s docs/g .github`), says: []string{".github", runs}},
		"definition for HFS+":              {prompt: script(`n=$(printf '.git\342\200\214hub'); mkdir -p $n/workflows; echo on: push > $n/workflows/x.yml`), says: []string{runs}},
		"program with a bit of root":       {prompt: script(`cp /bin/true docs/root; chmod 6755 docs/root; cp docs/root $HOME/root; chmod 6755 $HOME/root`), pushed: []string{"docs/root"}},
	})
}

// A link in the place of a directory does not have the service look at files of the
// host: their sizes and permissions would show in the reason.
func TestAttackAsksForFilesOfTheHost(t *testing.T) {
	b := newBench(t, nil)
	out := t.TempDir()
	for name, size := range map[string]int64{"index.md": 1 << 30, "install.md": 0} {
		file := filepath.Join(out, name)
		if err := os.WriteFile(file, nil, 0o200); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	suffers(t, b, 1, map[string]attack{
		"size": {prompt: script(`rm -r docs; ln -s ` + out + ` docs`), says: []string{`"docs" is a link that leaves`}},
	})
}
