package forge

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/google/go-github/v84/github"
)

// Failure is why a call failed.
type Failure struct {
	Status    int    // of the forge's answer; 0 where there was none
	Reason    string // one or more whole sentences for a person, without the token
	Retryable bool   // the same call may succeed later, with nothing changed

	doing string
	after time.Duration // the forge takes requests again; 0 where it does not say
	cause error
}

// Error returns what was done and the reason. The cause is left out: it may
// quote what the forge said without a bound.
func (f *Failure) Error() string {
	if f.doing == "" {
		return f.Reason
	}
	return f.doing + ": " + f.Reason
}

// Unwrap returns the cause: the context's error, the transport's, one of
// go-github's, or that of Options.Token. It may be nil.
func (f *Failure) Unwrap() error { return f.cause }

// answer is what an error of go-github's keeps of the forge's answer.
type answer struct {
	status int
	header http.Header
}

// answerOf returns the answer that an error is about, and whether there is one.
func answerOf(err error) (answer, bool) {
	var (
		plain     *github.ErrorResponse
		primary   *github.RateLimitError
		secondary *github.AbuseRateLimitError
		redirect  *github.RedirectionError
		twoFactor *github.TwoFactorAuthError
	)
	of := func(r *http.Response) (answer, bool) { return answer{r.StatusCode, r.Header}, true }
	switch {
	case errors.As(err, &plain):
		return of(plain.Response)
	case errors.As(err, &primary):
		return of(primary.Response)
	case errors.As(err, &secondary):
		return of(secondary.Response)
	case errors.As(err, &redirect):
		return of(redirect.Response)
	case errors.As(err, &twoFactor):
		return of(twoFactor.Response)
	}
	return answer{}, false
}

func statusOf(err error) int {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Status
	}
	a, _ := answerOf(err)
	return a.status
}

// classify makes a Failure of any error, and nil of none.
func (c *call) classify(err error) *Failure {
	var failure *Failure
	a, answered := answerOf(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failure):
		return failure
	case answered:
		return c.refusal(a, err)
	case c.ctx.Err() != nil:
		return c.stopped(err)
	}
	return c.broken(err)
}

// refusal explains an answer with a status of an error.
func (c *call) refusal(a answer, err error) *Failure {
	forge, repository := c.forge.kind, c.forge.owner+"/"+c.forge.name
	f := &Failure{Status: a.status, cause: err}
	if limited, after := limitOf(a, err); limited {
		f.Retryable, f.after = true, after
		f.Reason = fmt.Sprintf("%s takes no more requests with this token for the moment. It asks to wait %s.", forge, after.Round(time.Second))
		if after == 0 {
			f.Reason = fmt.Sprintf("%s takes no more requests with this token for the moment.", forge)
		}
		return f
	}
	switch status := a.status; {
	case status == http.StatusUnauthorized:
		f.Reason = fmt.Sprintf("%s does not accept the token: it is wrong, has expired or was revoked.", forge)
	case status == http.StatusForbidden && a.header.Get("X-GitHub-SSO") != "":
		f.Reason = "The organization demands single sign-on, and the token is not authorized for that."
	case status == http.StatusForbidden:
		f.Reason = fmt.Sprintf("%s does not allow this with the token, which needs %s for %s.", forge, rights(forge), repository) + c.quote(err)
	case status == http.StatusNotFound:
		f.Reason = c.unseen()
	case status == http.StatusConflict:
		f.Reason = fmt.Sprintf("%s finds a conflict with what is there already.", forge) + c.quote(err)
	case status == http.StatusGone:
		f.Reason = fmt.Sprintf("%s has pull requests of %s no longer, or they are turned off there.", forge, repository) + c.quote(err)
	case status == http.StatusUnprocessableEntity:
		f.Reason = fmt.Sprintf("%s refuses the request as it is.", forge) + c.quote(err)
	case status == http.StatusLocked:
		f.Reason = fmt.Sprintf("%s is archived or locked on %s.", repository, forge) + c.quote(err)
	case status == http.StatusUnavailableForLegalReasons:
		f.Reason = fmt.Sprintf("%s has closed %s for legal reasons.", forge, repository)
	case status >= 300 && status < 400:
		f.Reason = fmt.Sprintf("%s says that %s is elsewhere now: it was renamed or moved, or the address of the API is wrong. "+
			"The token is not sent after it: set the new address.", forge, repository)
	case status >= 500 && status != http.StatusNotImplemented:
		f.Retryable, f.after = true, retryAfter(a.header)
		f.Reason = fmt.Sprintf("%s has a fault of its own (status %d).", forge, status)
	default:
		f.Reason = fmt.Sprintf("%s answers with status %d.", forge, status) + c.quote(err)
	}
	return f
}

func rights(kind Kind) string {
	if kind == Gitea {
		return "the scope write:repository and the right to write"
	}
	return "read and write access to contents and pull requests"
}

// stopped explains the end of the time, or of the caller's patience.
func (c *call) stopped(err error) *Failure {
	f := &Failure{cause: errors.Join(err, c.ctx.Err()), Reason: "The call was stopped."}
	if errors.Is(c.ctx.Err(), context.DeadlineExceeded) {
		f.Reason, f.Retryable = fmt.Sprintf("%s did not answer in time.", c.forge.kind), true
	}
	return f
}

// broken explains an exchange without an answer that can be used.
func (c *call) broken(err error) *Failure {
	forge, host := c.forge.kind, c.forge.api.Host
	f := &Failure{cause: err}
	var (
		network     *url.Error
		dial        *net.OpError
		certificate *tls.CertificateVerificationError
		syntax      *json.SyntaxError
		shape       *json.UnmarshalTypeError
		accepted    *github.AcceptedError
	)
	switch {
	case errors.Is(err, errTooLarge):
		f.Reason = fmt.Sprintf("%s answers with more than %d MB.", forge, maxAnswer>>20)
	case errors.As(err, &certificate):
		f.Reason = fmt.Sprintf("The certificate of %s can not be trusted: %s", host, sentence(certificate.Err.Error(), c.token))
	case errors.As(err, &network) && network.Timeout():
		f.Retryable = true
		f.Reason = fmt.Sprintf("%s did not answer in time.", forge)
	case errors.As(err, &dial) && dial.Op == "dial":
		f.Retryable = true
		f.Reason = fmt.Sprintf("%s can not be reached: %s", forge, sentence(dial.Error(), c.token))
	case errors.As(err, &network):
		f.Retryable = true
		f.Reason = fmt.Sprintf("The connection to %s broke: %s", forge, sentence(network.Err.Error(), c.token))
	case errors.As(err, &syntax), errors.As(err, &shape), errors.As(err, &accepted), errors.Is(err, io.ErrUnexpectedEOF):
		f.Reason = fmt.Sprintf("What %s answers is not what the API of %s answers: its address may be wrong.", host, forge)
	default:
		f.Reason = fmt.Sprintf("%s can not be asked: %s", forge, sentence(err.Error(), c.token))
	}
	return f
}

// unusable explains an answer that is JSON and yet of no use.
func (c *call) unusable(cause error) error {
	return &Failure{
		Reason: fmt.Sprintf("%s answers without what its API promises: %s", c.forge.kind, sentence(cause.Error(), c.token)),
		cause:  cause,
	}
}

// missing gives an error another reason where it is a 404.
func (c *call) missing(err error, reason string) error {
	if statusOf(err) != http.StatusNotFound {
		return c.classify(err)
	}
	return &Failure{Status: http.StatusNotFound, Reason: reason, cause: err}
}

// unseen is the reason where a repository is not there: a forge answers so, too,
// where it is there and the token does not cover it.
func (c *call) unseen() string {
	return fmt.Sprintf("%s has no repository %s/%s with pull requests, or the token may not see it.", c.forge.kind, c.forge.owner, c.forge.name)
}

// explainOpening finds the reason why no pull request was opened.
func (c *call) explainOpening(err error, w wanted) error {
	status := statusOf(err)
	var plain *github.ErrorResponse
	if status == http.StatusUnprocessableEntity && errors.As(err, &plain) {
		for _, e := range plain.Errors {
			// GitHub's answer for a branch that it does not have.
			if e.Code == "invalid" && (e.Field == "base" || e.Field == "head") {
				branch := map[string]string{"base": w.base, "head": w.branch}[e.Field]
				return &Failure{Status: status, Reason: c.noBranch(branch), cause: err}
			}
		}
	}
	if status != http.StatusNotFound {
		return c.classify(err)
	}
	// Gitea does not say which branch is missing. The list was answered before, so
	// it is not the repository.
	for _, branch := range []string{w.base, w.branch} {
		if lookErr := c.branch(branch); statusOf(lookErr) == http.StatusNotFound {
			return lookErr
		}
	}
	return c.missing(err, fmt.Sprintf("%s does not let this token open pull requests in %s/%s. It needs %s.",
		c.forge.kind, c.forge.owner, c.forge.name, rights(c.forge.kind)))
}

func (c *call) noBranch(branch string) string {
	return fmt.Sprintf("%s has no branch %q in %s/%s.", c.forge.kind, cut(branch, 250), c.forge.owner, c.forge.name)
}
