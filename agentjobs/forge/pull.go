package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v84/github"
)

// State is what became of a pull request.
type State string

// The states of a pull request.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed" // without being merged
)

// PullRequest is a pull request as the forge last told.
type PullRequest struct {
	Number int    // within the repository, from 1
	URL    string // of its page, http or https
	Branch string // that it offers
	State  State
}

const (
	// pageSize is how many pull requests are asked for at once. Gitea does not know
	// GitHub's name of the parameter and answers its own number, 30 unless set up
	// otherwise.
	pageSize = 50

	// maxPages bounds the walk through the open pull requests, newest first.
	// GitHub filters by branch and needs one.
	maxPages = 40
)

// EnsurePullRequest returns the open pull request of a branch, and opens one
// where there is none. The base, the title and the body are those of a new one:
// an open one stays as it is, also where someone gave it another base. The
// branch has to be on the forge already.
//
// A title is cut after its first line and 240 characters, a body after 60,000:
// forges refuse longer ones.
func (f *Forge) EnsurePullRequest(ctx context.Context, branch, base, title, body string) (PullRequest, error) {
	var result PullRequest
	w := wanted{branch: branch, base: base, title: cutTitle(title), body: cutBody(body)}
	err := f.do(ctx, fmt.Sprintf("opening a pull request for %s", branch), func(c *call) (err error) {
		result, err = c.ensure(w)
		return err
	})
	return result, err
}

// PullRequest returns the pull request of a number.
func (f *Forge) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	var result PullRequest
	err := f.do(ctx, fmt.Sprintf("looking at pull request %d", number), func(c *call) error {
		answer, _, err := c.client.PullRequests.Get(c.ctx, f.owner, f.name, number)
		if err != nil {
			return c.missing(err, fmt.Sprintf("%s has no pull request %d in %s/%s, or the token may not see it.", f.kind, number, f.owner, f.name))
		}
		result, err = c.read(answer)
		return err
	})
	return result, err
}

// wanted is the pull request that is to be there.
type wanted struct{ branch, base, title, body string }

// ensure looks before it opens, also in a second try: the first may have opened
// one though its answer was lost.
func (c *call) ensure(w wanted) (PullRequest, error) {
	found, err := c.find(w)
	if err != nil || found.Number != 0 {
		return found, err
	}
	opened, err := c.open(w, c.forge.draft)
	if !refused(err) {
		return opened, err
	}
	// GitHub says 422 and Gitea 409 where a pull request exists, among other
	// reasons. Looking tells which; the words of the message are not for machines.
	if found, lookErr := c.find(w); lookErr == nil && found.Number != 0 {
		return found, nil
	}
	if c.forge.draft && c.forge.kind == GitHub {
		// Private repositories of free accounts have no drafts.
		return c.open(w, false)
	}
	return PullRequest{}, err
}

// refused says that the forge read a request and did not want it.
func refused(err error) bool {
	status := statusOf(err)
	return status == http.StatusUnprocessableEntity || status == http.StatusConflict
}

// find returns the open pull request of a branch, one to the wanted base before
// others, or none.
func (c *call) find(w wanted) (PullRequest, error) {
	options := &github.PullRequestListOptions{
		State: "open", Head: c.forge.owner + ":" + w.branch,
		ListOptions: github.ListOptions{PerPage: pageSize},
	}
	var other *github.PullRequest
	for page := 1; page <= maxPages; page++ {
		options.Page = page
		list, response, err := c.client.PullRequests.List(c.ctx, c.forge.owner, c.forge.name, options)
		if err != nil {
			return PullRequest{}, c.missing(err, c.unseen())
		}
		for _, p := range list {
			// Gitea ignores the filter, and a fork may have a branch of this name.
			if branchOf(p) != w.branch || !strings.EqualFold(p.GetHead().GetRepo().GetFullName(), c.forge.owner+"/"+c.forge.name) {
				continue
			}
			if p.GetBase().GetRef() == w.base {
				return c.read(p)
			}
			other = p
		}
		if response.NextPage == 0 {
			break
		}
	}
	if other == nil {
		return PullRequest{}, nil
	}
	return c.read(other)
}

func (c *call) open(w wanted, draft bool) (PullRequest, error) {
	request := &github.NewPullRequest{Title: &w.title, Head: &w.branch, Base: &w.base, Body: &w.body}
	switch {
	case draft && c.forge.kind == Gitea:
		// Gitea's first prefix of WORK_IN_PROGRESS_PREFIXES, unless set otherwise.
		request.Title = github.Ptr("WIP: " + w.title)
	case draft:
		request.Draft = &draft
	}
	answer, _, err := c.client.PullRequests.Create(c.ctx, c.forge.owner, c.forge.name, request)
	if err != nil {
		return PullRequest{}, c.explainOpening(err, w)
	}
	opened, err := c.read(answer)
	if err == nil && opened.Branch != w.branch {
		return PullRequest{}, c.unusable(fmt.Errorf("the pull request is of branch %q", opened.Branch))
	}
	return opened, err
}

// branchOf returns the branch that a pull request offers. Where the branch is
// gone, Gitea answers refs/pull/<number>/head as its ref and the branch's name
// as its label alone; GitHub's label is "owner:branch".
func branchOf(p *github.PullRequest) string {
	if ref := p.GetHead().GetRef(); !strings.HasPrefix(ref, "refs/") {
		return ref
	}
	return p.GetHead().GetLabel()
}

// read takes from an answer what we keep of it. The URL is shown to people as a
// link, so it is no other than a web page's.
func (c *call) read(p *github.PullRequest) (PullRequest, error) {
	result := PullRequest{Number: p.GetNumber(), URL: p.GetHTMLURL(), Branch: branchOf(p)}
	switch {
	case p.GetMerged() || p.MergedAt != nil:
		result.State = Merged
	case p.GetState() == "open":
		result.State = Open
	case p.GetState() == "closed":
		result.State = Closed
	default:
		return PullRequest{}, c.unusable(errors.New("the pull request has no state that we know"))
	}
	if result.Number < 1 || result.Branch == "" {
		return PullRequest{}, c.unusable(errors.New("the pull request has no number or no branch"))
	}
	u, err := url.Parse(result.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(result.URL) > 2048 {
		return PullRequest{}, c.unusable(errors.New("the pull request has no address that can be linked"))
	}
	result.URL = u.String()
	return result, nil
}
