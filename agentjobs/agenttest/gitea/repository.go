package gitea

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Repository is a private one on a Server. Its methods end the test where the
// server refuses.
type Repository struct {
	URL  string // to clone from, without credentials
	Path string // owner/name

	server *Server
}

// PullRequest is one as the forge shows it.
type PullRequest struct {
	Number int
	URL    string // of its page
	Title  string
	Body   string
	State  string // "open" or "closed"; merged ones are closed too
	Merged bool
	Draft  bool
	Branch string // with the changes
	Base   string // that they are for
}

// Commit is one as the forge shows it.
type Commit struct {
	Hash    string
	Message string
	Name    string // of the author
	Email   string
}

// CreateRepository makes a repository of a user, with these files in one commit on
// the branch main. Without files it is empty and has no branch.
func (s *Server) CreateRepository(owner, name string, files map[string]string) *Repository {
	s.t.Helper()
	r := &Repository{URL: s.URL + "/" + owner + "/" + name + ".git", Path: owner + "/" + name, server: s}
	s.call(http.MethodPost, "/admin/users/"+url.PathEscape(owner)+"/repos",
		map[string]any{"name": name, "private": true, "default_branch": "main"}, nil)
	if len(files) == 0 {
		return r
	}
	var operations []map[string]string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		operations = append(operations, map[string]string{"operation": "create", "path": path,
			"content": base64.StdEncoding.EncodeToString([]byte(files[path]))})
	}
	r.call(http.MethodPost, "/contents", map[string]any{"branch": "main", "message": "first", "files": operations}, nil)
	return r
}

// PullRequests returns all of them, also closed ones, the newest first.
func (r *Repository) PullRequests() []PullRequest {
	r.server.t.Helper()
	type ref struct {
		Name string `json:"ref"`
	}
	var answer []struct {
		Number int    `json:"number"`
		URL    string `json:"html_url"`
		Title  string `json:"title"`
		Body   string `json:"body"`
		State  string `json:"state"`
		Merged bool   `json:"merged"`
		Draft  bool   `json:"draft"`
		Head   ref    `json:"head"`
		Base   ref    `json:"base"`
	}
	r.call(http.MethodGet, "/pulls?state=all&sort=newest", nil, &answer)
	requests := make([]PullRequest, 0, len(answer))
	for _, p := range answer {
		requests = append(requests, PullRequest{Number: p.Number, URL: p.URL, Title: p.Title, Body: p.Body,
			State: p.State, Merged: p.Merged, Draft: p.Draft, Branch: p.Head.Name, Base: p.Base.Name})
	}
	return requests
}

// mergeLimit is how long Gitea may take to look whether a pull request merges.
const mergeLimit = time.Minute

// Merge merges a pull request with a merge commit. Gitea looks in the background
// whether it can, after each push, and refuses meanwhile: that is waited for.
func (r *Repository) Merge(number int) {
	r.server.t.Helper()
	ctx, cancel := context.WithTimeout(r.server.t.Context(), mergeLimit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		var state struct {
			Mergeable bool `json:"mergeable"`
		}
		if r.call(http.MethodGet, "/pulls/"+strconv.Itoa(number), nil, &state); state.Mergeable {
			break
		}
		select {
		case <-ctx.Done():
			r.server.t.Fatalf("gitea: pull request %d does not become mergeable", number)
		case <-again.C:
		}
	}
	r.call(http.MethodPost, "/pulls/"+strconv.Itoa(number)+"/merge", map[string]any{"Do": "merge"}, nil)
}

// Close closes a pull request without merging it.
func (r *Repository) Close(number int) {
	r.server.t.Helper()
	r.call(http.MethodPatch, "/pulls/"+strconv.Itoa(number), map[string]any{"state": "closed"}, nil)
}

// Protect has the server refuse pushes to the branches that match a pattern, such
// as "main" or "release/*".
func (r *Repository) Protect(pattern string) {
	r.server.t.Helper()
	r.call(http.MethodPost, "/branch_protections", map[string]any{"rule_name": pattern, "enable_push": false}, nil)
}

// AddCollaborator gives another user a right: "read", "write" or "admin".
func (r *Repository) AddCollaborator(user, permission string) {
	r.server.t.Helper()
	r.call(http.MethodPut, "/collaborators/"+url.PathEscape(user), map[string]any{"permission": permission}, nil)
}

// Branches returns the names of the branches, sorted.
func (r *Repository) Branches() []string {
	r.server.t.Helper()
	var answer []struct {
		Name string `json:"name"`
	}
	r.call(http.MethodGet, "/branches", nil, &answer)
	names := make([]string, 0, len(answer))
	for _, branch := range answer {
		names = append(names, branch.Name)
	}
	slices.Sort(names)
	return names
}

// Read returns a file's text on a branch, and whether it is there.
func (r *Repository) Read(branch, path string) (text string, ok bool) {
	r.server.t.Helper()
	request := r.server.request(http.MethodGet, "/repos/"+r.Path+"/raw/"+escape(path)+"?ref="+url.QueryEscape(branch), nil)
	request.Header.Set("Authorization", "token "+r.server.admin)
	status, data := r.server.send(request)
	switch status {
	case http.StatusOK:
		return string(data), true
	case http.StatusNotFound:
		return "", false
	default:
		r.server.t.Fatalf("gitea: read %s: %d %s", path, status, data)
		return "", false
	}
}

// Commits returns those of a branch, the newest first.
func (r *Repository) Commits(branch string) []Commit {
	r.server.t.Helper()
	var answer []struct {
		Hash   string `json:"sha"`
		Commit struct {
			Message string `json:"message"`
			Author  struct {
				Name  string `json:"name"`
				Email string `json:"email"`
			} `json:"author"`
		} `json:"commit"`
	}
	r.call(http.MethodGet, "/commits?stat=false&files=false&sha="+url.QueryEscape(branch), nil, &answer)
	commits := make([]Commit, 0, len(answer))
	for _, c := range answer {
		commits = append(commits, Commit{Hash: c.Hash, Message: c.Commit.Message, Name: c.Commit.Author.Name, Email: c.Commit.Author.Email})
	}
	return commits
}

func (r *Repository) call(method, path string, body, answer any) {
	r.server.t.Helper()
	r.server.call(method, "/repos/"+r.Path+path, body, answer)
}

// escape escapes each part of a path, and leaves the slashes.
func escape(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}
