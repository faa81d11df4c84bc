package gitea_test

import (
	"encoding/base64"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"footfall/agentjobs/agenttest/gitea"
)

func start(t *testing.T) *gitea.Server {
	t.Helper()
	options := gitea.Options{Binary: os.Getenv("FOOTFALL_GITEA"), StaticRoot: os.Getenv("FOOTFALL_GITEA_ROOT")}
	if options.Binary == "" {
		t.Skip("FOOTFALL_GITEA names no Gitea: make test-e2e does")
	}
	return gitea.Start(t, options)
}

// git runs git with a token for the server, and tells whether it succeeded. The
// token goes as a password: Gitea looks at the scopes of no other for git.
func git(t *testing.T, server *gitea.Server, token, dir string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", arguments...)
	command.Dir = dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=http." + server.URL + "/.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token)),
		"GIT_CONFIG_KEY_1=user.name", "GIT_CONFIG_VALUE_1=Writer",
		"GIT_CONFIG_KEY_2=user.email", "GIT_CONFIG_VALUE_2=writer@localhost.invalid"}
	output, err := command.CombinedOutput()
	return string(output), err
}

// TestReview goes the way that a pull request goes: clone, push, open, merge.
func TestRealGitea(t *testing.T) {
	server := start(t)
	server.CreateUser("docs")
	token := server.Token("docs", "write:repository", "read:user")
	repository := server.CreateRepository("docs", "manual", map[string]string{
		"README.md": "first\n", "docs/a page.md": "page\n",
	})

	if text, ok := repository.Read("main", "docs/a page.md"); !ok || text != "page\n" {
		t.Errorf("read = %q, %v", text, ok)
	}
	if _, ok := repository.Read("main", "missing.md"); ok {
		t.Error("a missing file was read")
	}

	tree := filepath.Join(t.TempDir(), "tree")
	if output, err := git(t, server, "wrong", "", "clone", repository.URL, tree); err == nil {
		t.Errorf("cloned with a wrong token: %s", output)
	}
	must := func(arguments ...string) {
		t.Helper()
		if output, err := git(t, server, token, tree, arguments...); err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, output)
		}
	}
	if output, err := git(t, server, token, "", "clone", repository.URL, tree); err != nil {
		t.Fatalf("clone: %v\n%s", err, output)
	}
	change := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(tree, "README.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		must("commit", "--all", "--message", text)
	}
	must("checkout", "-b", "footfall/1")
	change("second")
	must("push", "origin", "footfall/1")
	if got := repository.Branches(); !slices.Equal(got, []string{"footfall/1", "main"}) {
		t.Errorf("branches = %q", got)
	}

	open := func(branch string) {
		t.Helper()
		body := strings.NewReader(`{"head":"` + branch + `","base":"main","title":"A change","body":"why"}`)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/v1/repos/docs/manual/pulls", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "token "+token)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			t.Fatalf("open a pull request: %s", response.Status)
		}
	}
	open("footfall/1")
	requests := repository.PullRequests()
	if len(requests) != 1 || requests[0].State != "open" || requests[0].Branch != "footfall/1" || requests[0].Base != "main" {
		t.Fatalf("pull requests = %+v", requests)
	}
	repository.Merge(requests[0].Number)
	if merged := repository.PullRequests()[0]; !merged.Merged || merged.State != "closed" {
		t.Errorf("after the merge = %+v", merged)
	}
	if text, _ := repository.Read("main", "README.md"); text != "second" {
		t.Errorf("main after the merge = %q", text)
	}
	if commits := repository.Commits("footfall/1"); len(commits) != 2 || commits[0].Message != "second\n" || commits[0].Email != "writer@localhost.invalid" {
		t.Errorf("commits = %+v", commits)
	}

	change("third")
	must("push", "origin", "HEAD:footfall/2")
	open("footfall/2")
	second := repository.PullRequests()[0]
	repository.Close(second.Number)
	if closed := repository.PullRequests()[0]; closed.Merged || closed.State != "closed" {
		t.Errorf("after closing = %+v", closed)
	}

	repository.Protect("footfall/*")
	change("fourth")
	if output, err := git(t, server, token, tree, "push", "origin", "HEAD:footfall/2"); err == nil {
		t.Errorf("pushed to a protected branch: %s", output)
	}
}

// TestRights gives tokens less than all.
func TestRealGiteaRights(t *testing.T) {
	server := start(t)
	server.CreateUser("owner")
	server.CreateUser("stranger")
	repository := server.CreateRepository("owner", "manual", map[string]string{"a.md": "a"})
	clone := func(token string) error {
		_, err := git(t, server, token, "", "clone", repository.URL, filepath.Join(t.TempDir(), "tree"))
		return err
	}
	if clone(server.Token("stranger", "write:repository")) == nil {
		t.Error("a stranger cloned a private repository")
	}
	if clone(server.Token("owner", "read:user")) == nil {
		t.Error("a token without the scope cloned")
	}
	repository.AddCollaborator("stranger", "read")
	if err := clone(server.Token("stranger", "read:repository")); err != nil {
		t.Errorf("a collaborator could not clone: %v", err)
	}
	empty := server.CreateRepository("owner", "empty", nil)
	if got := empty.Branches(); len(got) != 0 {
		t.Errorf("branches of an empty repository = %q", got)
	}
	if strings.Contains(repository.URL, "@") {
		t.Errorf("credentials in %s", repository.URL)
	}
}
