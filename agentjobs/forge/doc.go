// Package forge opens pull requests on GitHub and Gitea, and looks what became
// of them.
//
// The nouns:
//
//   - A forge is the web service around a repository: GitHub, or a Gitea
//     somewhere. A Forge is its API, for one repository and with one token.
//   - A pull request offers the commits of a branch to its base, another branch
//     of the same repository. It is open, merged or closed.
//   - A Failure is why a call failed, as a sentence for a person.
//
// Gitea's /api/v1 answers the few calls needed in GitHub's form, so one client
// serves both. What differs is said where it matters: Gitea's list does not
// filter by branch, and it marks a draft by its title.
//
// The token goes to the API's host alone: in a header, over https, and not after
// a redirect. It is read anew at each call.
//
// No connection outlives a call, so a Forge has nothing to close.
package forge
