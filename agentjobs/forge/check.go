package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v84/github"
)

// Check tells whether pull requests to a branch could be opened: the token is
// accepted, the repository is there and not archived, the token's owner may push
// to it, the base exists, and the token may list and open pull requests. Nothing
// is changed. Whether the token may push is told by git alone.
func (f *Forge) Check(ctx context.Context, base string) error {
	return f.do(ctx, "checking the forge", func(c *call) error {
		repository, _, err := c.client.Repositories.Get(c.ctx, f.owner, f.name)
		if err != nil {
			return c.missing(err, fmt.Sprintf("%s has no repository %s/%s, or the token may not see it.", f.kind, f.owner, f.name))
		}
		if repository.GetArchived() || repository.GetDisabled() {
			return &Failure{Reason: fmt.Sprintf("%s/%s is archived or disabled on %s: nothing can be pushed.", f.owner, f.name, f.kind)}
		}
		// Who may not even read a repository that was just answered is no person, but
		// an app: GitHub answers no for all of its rights, whatever they are.
		rights := repository.GetPermissions()
		if rights != nil && rights.GetPull() && !rights.GetPush() {
			return &Failure{Reason: fmt.Sprintf("The token's owner may read %s/%s on %s, and not push to it.", f.owner, f.name, f.kind)}
		}
		if err := c.branch(base); err != nil {
			return err
		}
		options := &github.PullRequestListOptions{State: "open", ListOptions: github.ListOptions{PerPage: 1}}
		if _, _, err := c.client.PullRequests.List(c.ctx, f.owner, f.name, options); err != nil {
			return c.missing(err, c.unseen())
		}
		return c.probe(base)
	})
}

// probe asks for a pull request of the base to itself. No forge opens one, and
// it says so only to a token that might open others: what a token may do is told
// by neither API, and it can be less than what its owner may.
func (c *call) probe(base string) error {
	opened, err := c.open(wanted{branch: base, base: base, title: "Nothing"}, false)
	switch {
	case refused(err):
		return nil
	case err == nil:
		return c.unusable(fmt.Errorf("it opened pull request %d of %q to itself", opened.Number, base))
	}
	return err
}

// branch returns an error where a branch is not there, with status 404. It sends
// the request itself: go-github's method for it makes every status one error.
func (c *call) branch(name string) error {
	if strings.Trim(name, ".") == "" {
		// No branch has such a name, and in a URL it is a way to somewhere else.
		return &Failure{Status: http.StatusNotFound, Reason: c.noBranch(name)}
	}
	path := fmt.Sprintf("repos/%s/%s/branches/%s", c.forge.owner, c.forge.name, url.PathEscape(name))
	request, err := c.client.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return c.classify(err)
	}
	var answer github.Branch
	if _, err := c.client.Do(c.ctx, request, &answer); err != nil {
		return c.missing(err, c.noBranch(name))
	}
	if answer.GetName() != name {
		return c.unusable(fmt.Errorf("the branch is %q", answer.GetName()))
	}
	return nil
}
