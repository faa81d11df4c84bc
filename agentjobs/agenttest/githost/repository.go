package githost

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The modes of entries.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeLink       = "120000" // the content is the target
	ModeSubmodule  = "160000" // the content is the id of a commit
)

// Entry is one path of a commit with a mode of its own.
type Entry struct {
	Mode, Content string
}

// Commit is one of a branch's history.
type Commit struct {
	ID, Name, Email string // of the author
	Time            time.Time
	Message         string
}

// Create makes a repository with one commit on the branch main, which holds the files:
// path to content. With no files there is no commit, and so no branch.
func (h *Host) Create(repository string, files map[string]string) {
	h.t.Helper()
	h.run("", "init", "--quiet", "--bare", "--template=", "--initial-branch=main", h.dir(repository))
	if len(files) > 0 {
		h.PushOutside(repository, "main", files)
	}
}

// PushOutside adds a commit by another person to a branch, and returns its id. Where the
// repository has no such branch, it begins at main; where it has no main, with nothing.
func (h *Host) PushOutside(repository, branch string, files map[string]string) string {
	h.t.Helper()
	entries := make(map[string]Entry, len(files))
	for path, content := range files {
		entries[path] = Entry{ModeFile, content}
	}
	return h.PushEntries(repository, branch, entries)
}

// PushEntries is PushOutside for entries of any mode. An entry without a mode removes
// the path.
func (h *Host) PushEntries(repository, branch string, entries map[string]Entry) string {
	h.t.Helper()
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter Another Person <another@example.org> %d +0000\ndata 8\noutside\n\n",
		branch, time.Now().Unix())
	for _, from := range []string{branch, "main"} {
		if slices.Contains(h.Branches(repository), from) {
			fmt.Fprintf(&in, "from refs/heads/%s^0\n", from)
			break
		}
	}
	for path, entry := range entries {
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
		switch entry.Mode {
		case "":
			fmt.Fprintf(&in, "D %s\n", quoted)
		case ModeSubmodule:
			fmt.Fprintf(&in, "M %s %s %s\n", entry.Mode, entry.Content, quoted)
		default:
			fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", entry.Mode, quoted, len(entry.Content), entry.Content)
		}
	}
	h.in(repository, in.String(), "fast-import", "--quiet", "--date-format=raw")
	return h.Tip(repository, branch)
}

// Branches are the names of a repository's branches, sorted.
func (h *Host) Branches(repository string) []string {
	h.t.Helper()
	return strings.Fields(h.in(repository, "", "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/"))
}

// Tip is the id of a branch's last commit.
func (h *Host) Tip(repository, branch string) string {
	h.t.Helper()
	return strings.TrimSpace(h.in(repository, "", "rev-parse", "--verify", "refs/heads/"+branch))
}

// Files are the paths on a branch, as git sorts them.
func (h *Host) Files(repository, branch string) []string {
	h.t.Helper()
	listing := h.in(repository, "", "ls-tree", "-r", "-z", "--name-only", "refs/heads/"+branch)
	if listing == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(listing, "\x00"), "\x00")
}

// Read returns the content of a file on a branch; the test fails where there is none.
func (h *Host) Read(repository, branch, path string) string {
	h.t.Helper()
	return h.in(repository, "", "cat-file", "blob", "refs/heads/"+branch+":"+path)
}

// Mode returns the mode of a path on a branch.
func (h *Host) Mode(repository, branch, path string) string {
	h.t.Helper()
	mode, _, _ := strings.Cut(h.in(repository, "", "--literal-pathspecs", "ls-tree", "refs/heads/"+branch, "--", path), " ")
	return mode
}

// Log is the history of a branch, newest first.
func (h *Host) Log(repository, branch string) []Commit {
	h.t.Helper()
	var commits []Commit
	out := h.in(repository, "", "log", "-z", "--format=%H%n%an%n%ae%n%aI%n%B", "refs/heads/"+branch)
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		lines := strings.SplitN(record, "\n", 5)
		at, err := time.Parse(time.RFC3339, lines[3])
		if err != nil {
			h.t.Fatalf("githost: %v", err)
		}
		commits = append(commits, Commit{ID: lines[0], Name: lines[1], Email: lines[2], Time: at.UTC(), Message: lines[4]})
	}
	return commits
}

// Delete removes a branch, as a forge does after merging.
func (h *Host) Delete(repository, branch string) {
	h.t.Helper()
	h.in(repository, "", "update-ref", "-d", "refs/heads/"+branch)
}

// Merge makes the base's tip the branch's, with all that the branch changed, as a forge
// does with a squash.
func (h *Host) Merge(repository, branch, base string) string {
	h.t.Helper()
	commit := strings.TrimSpace(h.in(repository, "merge "+branch+"\n", "-c", "user.name=Forge", "-c", "user.email=forge@example.org",
		"commit-tree", "-p", "refs/heads/"+base, "-p", "refs/heads/"+branch, "refs/heads/"+branch+"^{tree}"))
	h.in(repository, "", "update-ref", "refs/heads/"+base, commit)
	return commit
}

// Refuse has the repository decline every push with a message, by a hook. An empty
// message allows them again.
func (h *Host) Refuse(repository, message string) {
	h.t.Helper()
	hook := filepath.Join(h.dir(repository), "hooks", "pre-receive")
	if message == "" {
		if err := os.RemoveAll(hook); err != nil {
			h.t.Fatalf("githost: %v", err)
		}
		return
	}
	h.write(filepath.Join(h.dir(repository), "refusal"), message+"\n", 0o600)
	h.write(hook, "#!/bin/sh\ncat refusal >&2\nexit 1\n", 0o700)
}

func (h *Host) write(name, content string, mode os.FileMode) {
	h.t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(content), mode)
	}
	if err != nil {
		h.t.Fatalf("githost: %v", err)
	}
}

func (h *Host) dir(repository string) string { return filepath.Join(h.root, repository+".git") }

func (h *Host) in(repository, stdin string, args ...string) string {
	h.t.Helper()
	return h.run(stdin, append([]string{"--git-dir=" + h.dir(repository)}, args...)...)
}

func (h *Host) run(stdin string, args ...string) string {
	h.t.Helper()
	cmd := exec.Command(h.git, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=" + h.root, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("githost: git %q: %v: %s", args, err, stderr.String())
	}
	return string(out)
}
