package forgehost

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// serve answers a request as the forge would.
func (h *Host) serve(w http.ResponseWriter, r *http.Request, path string) {
	if r.Header.Get("Authorization") != "Bearer "+h.options.Token {
		h.refuse(w, http.StatusUnauthorized, "Bad credentials")
		return
	}
	parts := append(strings.SplitN(path, "/", 5), "", "", "", "") // repos/owner/name/what/which
	what, which := parts[3], parts[4]
	if parts[0] != "repos" {
		h.refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	repository := parts[1] + "/" + parts[2]
	branches := h.options.Branches(repository)
	if branches == nil {
		h.refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	switch {
	case what == "" && r.Method == http.MethodGet:
		h.answer(w, http.StatusOK, h.repository(repository))
	case what == "branches" && which != "" && r.Method == http.MethodGet:
		commit, found := branches[which]
		if !found {
			h.refuse(w, http.StatusNotFound, "Branch not found")
			return
		}
		h.answer(w, http.StatusOK, h.branch(repository, which, commit))
	case what == "pulls" && which == "" && r.Method == http.MethodGet:
		h.list(w, r, repository, branches)
	case what == "pulls" && which == "" && r.Method == http.MethodPost:
		h.open(w, r, repository, branches)
	case what == "pulls" && r.Method == http.MethodGet:
		h.show(w, repository, branches, which)
	default:
		h.refuse(w, http.StatusNotFound, "Not Found")
	}
}

func (h *Host) show(w http.ResponseWriter, repository string, branches map[string]string, which string) {
	number, err := strconv.Atoi(which)
	pulls := h.Pulls()
	if err != nil || number < 1 || number > len(pulls) || pulls[number-1].Repository != repository {
		h.refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	h.answer(w, http.StatusOK, h.pull(pulls[number-1], branches))
}

// list answers the newest pull requests first, page by page.
func (h *Host) list(w http.ResponseWriter, r *http.Request, repository string, branches map[string]string) {
	query := r.URL.Query()
	owner, _, _ := strings.Cut(repository, "/")
	var fitting []Pull
	for _, p := range h.Pulls() {
		state, head := query.Get("state"), query.Get("head")
		isAsked := p.Repository == repository &&
			(p.State == state || state == "all" || state == "" && p.State == "open") &&
			(h.options.Gitea || head == "" || head == owner+":"+p.Head)
		if isAsked {
			fitting = append(fitting, p)
		}
	}
	slices.Reverse(fitting)
	size := 30
	if n, err := strconv.Atoi(query.Get("per_page")); err == nil && n > 0 && !h.options.Gitea {
		size = min(n, 100)
	}
	page, err := strconv.Atoi(query.Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	from, to := min((page-1)*size, len(fitting)), min(page*size, len(fitting))
	if to < len(fitting) {
		query.Set("page", strconv.Itoa(page+1))
		w.Header().Set("Link", fmt.Sprintf(`<%srepos/%s/pulls?%s>; rel="next"`, h.APIURL, repository, query.Encode()))
	}
	answer := []map[string]any{}
	for _, p := range fitting[from:to] {
		answer = append(answer, listed(h.pull(p, branches)))
	}
	h.answer(w, http.StatusOK, answer)
}

// open keeps a new pull request, or says what is in its way.
func (h *Host) open(w http.ResponseWriter, r *http.Request, repository string, branches map[string]string) {
	var asked struct {
		Title, Head, Base, Body string
		Draft                   bool
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		h.refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	owner, _, _ := strings.Cut(repository, "/")
	head := strings.TrimPrefix(asked.Head, owner+":")
	_, hasHead := branches[head]
	_, hasBase := branches[asked.Base]
	same := head == asked.Base || branches[head] == branches[asked.Base] && !h.options.Gitea
	switch {
	case h.options.Gitea && head != asked.Base && (!hasHead || !hasBase):
		h.refuse(w, http.StatusNotFound, "The target couldn't be found.")
		return
	case !hasBase:
		h.invalid(w, map[string]any{"resource": "PullRequest", "field": "base", "code": "invalid"})
		return
	case !hasHead:
		h.invalid(w, map[string]any{"resource": "PullRequest", "field": "head", "code": "invalid"})
		return
	case asked.Title == "":
		h.invalid(w, map[string]any{"resource": "PullRequest", "field": "title", "code": "missing_field"})
		return
	case same:
		h.invalid(w, custom(fmt.Sprintf("No commits between %s and %s", asked.Base, head)))
		return
	}

	h.mu.Lock()
	isOpen := func(p *Pull) bool {
		return p.Repository == repository && p.Head == head && p.Base == asked.Base && p.State == "open"
	}
	exists := slices.ContainsFunc(h.pulls, isOpen)
	p := &Pull{
		Repository: repository, Number: len(h.pulls) + 1, Head: head, Base: asked.Base,
		Title: asked.Title, Body: asked.Body, State: "open",
		Draft: asked.Draft && !h.options.Gitea || h.options.Gitea && strings.HasPrefix(asked.Title, "WIP:"),
	}
	if !exists {
		h.pulls = append(h.pulls, p)
	}
	h.mu.Unlock()

	switch {
	case exists && h.options.Gitea:
		h.refuse(w, http.StatusConflict, "pull request already exists for these targets")
	case exists:
		h.invalid(w, custom(fmt.Sprintf("A pull request already exists for %s:%s.", owner, head)))
	default:
		h.answer(w, http.StatusCreated, h.pull(*p, branches))
	}
}
