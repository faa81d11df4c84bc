package forgehost

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

var (
	//go:embed testdata/pull.json
	pullTemplate string
	//go:embed testdata/repository.json
	repositoryTemplate string
	//go:embed testdata/branch.json
	branchTemplate string
)

// fill makes an object of a template, with our names in its addresses.
func (h *Host) fill(template, repository string, more ...string) map[string]any {
	owner, name, _ := strings.Cut(repository, "/")
	replace := strings.NewReplacer(append(more,
		"https://api.github.com", strings.TrimSuffix(h.APIURL, "/"),
		"https://github.com", h.URL,
		"octocat/Hello-World", repository,
		`"octocat"`, `"`+owner+`"`,
		`"Hello-World"`, `"`+name+`"`,
	)...)
	var object map[string]any
	if err := json.Unmarshal([]byte(replace.Replace(template)), &object); err != nil {
		panic("forgehost: a template is not JSON: " + err.Error()) // Only a wrong file in testdata does that.
	}
	return object
}

func (h *Host) repository(repository string) map[string]any {
	return h.fill(repositoryTemplate, repository)
}

func (h *Host) branch(repository, branch, commit string) map[string]any {
	object := h.fill(branchTemplate, repository)
	object["name"] = branch
	object["commit"].(map[string]any)["sha"] = commit
	return object
}

func (h *Host) pull(p Pull, branches map[string]string) map[string]any {
	object := h.fill(pullTemplate, p.Repository, "1347", strconv.Itoa(p.Number))
	owner, _, _ := strings.Cut(p.Repository, "/")
	label := owner + ":"
	if h.options.Gitea {
		label = ""
	}
	for key, branch := range map[string]string{"head": p.Head, "base": p.Base} {
		side := object[key].(map[string]any)
		side["ref"], side["label"], side["sha"] = branch, label+branch, branches[branch]
	}
	if _, found := branches[p.Head]; !found && h.options.Gitea {
		object["head"].(map[string]any)["ref"] = "refs/pull/" + strconv.Itoa(p.Number) + "/head"
	}
	object["number"], object["state"] = p.Number, p.State
	object["title"], object["body"], object["draft"] = p.Title, p.Body, p.Draft
	object["merged"], object["locked"] = p.Merged, false
	if p.State == "open" {
		object["closed_at"] = nil
	}
	if !p.Merged {
		object["merged_at"], object["merge_commit_sha"], object["merged_by"] = nil, nil, nil
	}
	return object
}

// listed takes away what a list of pull requests does not tell.
func listed(pull map[string]any) map[string]any {
	for _, key := range []string{
		"merged", "mergeable", "mergeable_state", "merged_by", "comments", "review_comments",
		"maintainer_can_modify", "commits", "additions", "deletions", "changed_files",
	} {
		delete(pull, key)
	}
	return pull
}

const documentation = "https://docs.github.com/rest"

func (h *Host) refuse(w http.ResponseWriter, status int, message string) {
	h.answer(w, status, map[string]any{"message": message, "documentation_url": documentation, "status": strconv.Itoa(status)})
}

func (h *Host) invalid(w http.ResponseWriter, reason map[string]any) {
	h.answer(w, http.StatusUnprocessableEntity, map[string]any{
		"message": "Validation Failed", "errors": []any{reason}, "documentation_url": documentation, "status": "422",
	})
}

func custom(message string) map[string]any {
	return map[string]any{"resource": "PullRequest", "code": "custom", "message": message}
}

func (h *Host) answer(w http.ResponseWriter, status int, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		panic("forgehost: an answer can not be encoded: " + err.Error()) // It is maps and strings.
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // A client that left is no failure of the test.
}
