package agentjobs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"footfall/agentjobs/agenttest/githost"
)

// evilConfig is a configuration of git each line of which runs a program or leads to
// another host.
const evilConfig = `
evil() {
	cat <<-'END'
	[core]
		repositoryformatversion = 0
		bare = false
		fsmonitor = "touch CANARY"
		hooksPath = hooks
		sshCommand = "touch CANARY"
		gitProxy = "touch CANARY"
		pager = "touch CANARY"
		editor = "touch CANARY"
		attributesFile = .gitattributes
		worktree = /
	[filter "x"]
		clean = "touch CANARY; cat"
		smudge = "touch CANARY; cat"
		process = "touch CANARY"
		required = true
	[diff "x"]
		command = "touch CANARY"
		textconv = "touch CANARY; cat"
	[diff]
		external = "touch CANARY"
	[merge "x"]
		driver = "touch CANARY"
	[credential]
		helper = "!touch CANARY"
	[commit]
		gpgSign = true
	[gpg]
		program = "touch CANARY"
	[uploadpack]
		packObjectsHook = "touch CANARY"
	[url "http://127.0.0.1:1/"]
		insteadOf = http://127.0.0.1
		pushInsteadOf = http://127.0.0.1
	[http]
		proxy = http://127.0.0.1:1
	[submodule]
		recurse = true
	END
}
hooks() {
	mkdir -p "$1"
	for hook in pre-commit commit-msg post-checkout post-index-change pre-push reference-transaction fsmonitor-watchman update pre-receive; do
		printf '#!/bin/sh\ntouch CANARY\n' > "$1/$hook"
		chmod +x "$1/$hook"
	done
}
`

// Nothing that git reads of the tree or of the agent's home makes it run a program, go
// to another host, or commit another repository.
func TestAttacksOnGit(t *testing.T) {
	b := newBench(t, nil)
	suffers(t, b, 2, map[string]attack{
		"git directory": {prompt: script(evilConfig + `git init -q . && hooks .git/hooks && evil > .git/config`), says: []string{`".git" is a repository`}},
		"git file": {prompt: script(evilConfig + `git init -q --bare /tmp/x && evil > /tmp/x/config && echo "gitdir: /tmp/x" > .git`),
			says: []string{`".git" is a repository`}},
		"nested repository with a filter": {prompt: script(evilConfig + `
git init -q docs/sub; cd docs/sub; echo x > file; git add file; git -c user.name=a -c user.email=a commit -q -m x
hooks .git/hooks; evil > .git/config; echo '* filter=x diff=x merge=x' > .gitattributes; echo y > file; cp .gitattributes ../..`),
			says: []string{`"docs/sub/.git" is a repository`}},
		"repository in an ignored directory": {prompt: script(evilConfig + `
echo /ignored/ > .gitignore; git init -q ignored/deep; evil > ignored/deep/.git/config`), says: []string{`"ignored/deep/.git" is a repository`}},
		"name in another case": {prompt: script(evilConfig + `mkdir .GIT; evil > .GIT/config`), says: []string{`".GIT" is a repository`}},
		"name that HFS+ folds": {prompt: script(evilConfig + `n=$(printf '.g\342\200\214it'); mkdir docs/$n; evil > docs/$n/config`), says: []string{"is a repository"}},
		"name that NTFS folds": {prompt: script(evilConfig + `mkdir docs/git~1; evil > docs/git~1/config`), says: []string{`"docs/git~1" is a repository`}},
		"submodules":           {prompt: script(`printf '[submodule "x"]\n\tpath = docs/x\n\turl = ../x\n\tupdate = !touch CANARY\n' > .gitmodules; mkdir docs/x; echo > docs/x/y`), says: []string{".gitmodules"}},
		// It would be one for who enters the directory after a clone.
		"bare repository": {prompt: script(evilConfig + `
git init -q --bare docs/bare; evil > docs/bare/config; sed -i 's,worktree = /,worktree = work,' docs/bare/config
touch docs/bare/objects/x docs/bare/refs/x; mkdir docs/bare/work; touch docs/bare/work/x`), says: []string{"docs/bare", "a repository of its own"}},

		// The configuration of the home is the agent's own. A repository without a .git is
		// found by git where it looks for one itself.
		"home and bare repository": {prompt: script(evilConfig + `
evil > $HOME/.gitconfig; mkdir -p $HOME/.config/git; evil > $HOME/.config/git/config; hooks hooks
echo '* filter=x diff=x merge=x' > $HOME/.config/git/attributes; echo '*' > $HOME/.config/git/ignore
echo 'machine 127.0.0.1 login x password y' > $HOME/.netrc; chmod 600 $HOME/.netrc
printf '* filter=x diff=x merge=x ident export-subst -text\ndocs/* filter=x\n' > .gitattributes
printf '[lfs]\n\turl = http://127.0.0.1:1/\n' > .lfsconfig; echo 'A <a@example.org> <footfall@localhost>' > .mailmap
echo 'ref: refs/heads/main' > HEAD; mkdir -p objects/pack refs/heads; evil > config
touch index index.lock HEAD.lock packed-refs; echo new > docs/new.md`),
			pushed: []string{".gitattributes", ".lfsconfig", ".mailmap", "HEAD", "HEAD.lock", "config", "docs/new.md", "index", "index.lock", "packed-refs",
				"hooks/pre-commit", "hooks/commit-msg", "hooks/post-checkout", "hooks/post-index-change", "hooks/pre-push",
				"hooks/reference-transaction", "hooks/fsmonitor-watchman", "hooks/update", "hooks/pre-receive"}},
		"names that are options, patterns or lines": {prompt: script(`
cd docs; echo x > --upload-pack=x; echo x > ':(top)x'; echo x > '*'; echo x > "$(printf 'a\nb')"; echo x > "$(printf 'e\033[31mred')"; echo x > ' b '`),
			pushed: []string{"docs/--upload-pack=x", "docs/:(top)x", "docs/*", "docs/a\nb", "docs/e\x1b[31mred", "docs/ b "}},
		"a line in the name of what is refused": {prompt: script(`ln -s /etc "$(printf 'docs/x" is fine\n{"status":"completed"}\033[2J')"`),
			says: []string{"is a link that leaves the repository", `\n{`, `\x1b`}},
		"name with a backslash": {prompt: script(`echo x > 'docs/a\b.md'`), pushed: []string{`docs/a\b.md`}},
		"encoding that is none": {prompt: script(`echo '* working-tree-encoding=UTF-16' > docs/.gitattributes; echo odd > docs/odd.md`), pushed: []string{"docs/.gitattributes", "docs/odd.md"}},
	})
}

// What lies in the repository already is as little trusted as what the agent writes.
func TestAttacksFromTheRepository(t *testing.T) {
	b := newBench(t, nil)
	config := strings.ReplaceAll("[core]\n\tfsmonitor = \"touch CANARY\"\n\tbare = true\n[filter \"x\"]\n\tclean = \"touch CANARY; cat\"\n",
		"CANARY", filepath.Join(b.dir, "canary"))
	b.git.PushEntries(repository, "main", map[string]githost.Entry{
		".gitattributes":      {Mode: githost.ModeFile, Content: "* filter=x diff=x merge=x\n"},
		".gitconfig":          {Mode: githost.ModeFile, Content: config},
		".gitmodules":         {Mode: githost.ModeFile, Content: "[submodule \"x\"]\n\tpath = docs/module\n\turl = ../x\n\tignore = all\n"},
		"docs/module":         {Mode: githost.ModeSubmodule, Content: b.git.Tip(repository, "main")},
		"docs/bare/HEAD":      {Mode: githost.ModeFile, Content: "ref: refs/heads/main\n"},
		"docs/bare/config":    {Mode: githost.ModeFile, Content: config},
		"docs/bare/objects/x": {Mode: githost.ModeFile, Content: "x\n"},
		"docs/bare/refs/x":    {Mode: githost.ModeFile, Content: "x\n"},
		"docs/out":            {Mode: githost.ModeLink, Content: b.dir},
	})
	suffers(t, b, 2, map[string]attack{
		"honest work":             {prompt: "write docs/new.md x", pushed: []string{"docs/new.md"}},
		"repository of submodule": {prompt: script(`git init -q docs/module; printf '[core]\n\tfsmonitor = touch CANARY\n' >> docs/module/.git/config`), says: []string{`"docs/module/.git"`}},
		"other submodule":         {prompt: script(`sed -i s,../x,../y, .gitmodules`), says: []string{".gitmodules"}},
		"through its link":        {prompt: script(`echo x > CANARY; rm -rf docs/out; mkdir docs/out; echo x > docs/out/token`), pushed: []string{"docs/out/token"}},
	})
}
