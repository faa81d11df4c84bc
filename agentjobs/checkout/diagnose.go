package checkout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// The two services of git's protocol (gitprotocol-http(5)).
const (
	reading = "git-upload-pack"
	writing = "git-receive-pack"
)

// askTimeout is how long the first answer of a remote may take.
const askTimeout = 30 * time.Second

// explain returns why a command that spoke to the remote failed. Git exits with 128
// for a wrong token, a missing repository and a dead host alike, and tells them apart
// in sentences only. So the remote is asked once more, for the first request that the
// command made, and its status code is the reason. Where that succeeds, the command
// failed later, and git's words are all there is.
func (c *Checkout) explain(ctx context.Context, service string, failure error) error {
	var failed *commandError
	if !errors.As(failure, &failed) {
		return failure
	}
	if err := c.ask(ctx, service); err != nil {
		return err
	}
	return failure
}

// ask reads the beginning of the remote's answer to a client that is about to fetch or
// push. Nil: such a client is welcome.
func (c *Checkout) ask(ctx context.Context, service string) error {
	if c.scheme() == "file" {
		return c.askFile()
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, min(c.options.Limits.Timeout, askTimeout))
	defer cancel()
	address := strings.TrimSuffix(c.options.Remote, "/") + "/info/refs?service=" + service
	request, err := http.NewRequestWithContext(limited, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", c.options.Remote, err)
	}
	if token != "" {
		request.Header.Set("Authorization", c.basic(token))
	}
	// Forges answer a browser with a page.
	request.Header.Set("User-Agent", "git/2")
	transport := &http.Transport{DisableKeepAlives: true} // and no proxy, as for git
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return c.unanswered(ctx, limited, err, token)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxText)
	return c.answered(service, response, token)
}

// unanswered names the failure of a request that got no response.
func (c *Checkout) unanswered(ctx, limited context.Context, err error, token string) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask %s: %w", c.options.Remote, context.Cause(ctx))
	case limited.Err() != nil:
		return fmt.Errorf("%s: %w", c.options.Remote, ErrTimeout)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the address, which is named already
	}
	return fmt.Errorf("%s: %w: %s", c.options.Remote, ErrUnreachable, reason(c.clean(err.Error(), token)))
}

// answered names the failure that a response tells of.
func (c *Checkout) answered(service string, response *http.Response, token string) error {
	remote, code := c.options.Remote, response.StatusCode
	fail := func(sentinel error, format string, args ...any) error {
		return fmt.Errorf("%s: %w: %s (%d)", remote, sentinel, fmt.Sprintf(format, args...), code)
	}
	switch {
	case code == http.StatusUnauthorized && token == "":
		return fail(ErrUnauthorized, "it wants a token")
	case code == http.StatusUnauthorized:
		return fail(ErrUnauthorized, "the token is not valid, or has no right to the repository")
	case code == http.StatusForbidden && service == writing:
		return fail(ErrUnauthorized, "the token may not push")
	case code == http.StatusForbidden:
		return fail(ErrUnauthorized, "the token may not read the repository")
	case code == http.StatusNotFound || code == http.StatusGone:
		return fail(ErrNotFound, "there is no such repository, or the token may not see it")
	case code >= 300 && code < 400:
		return fail(ErrRedirected, "it redirects to %q", reason(c.clean(response.Header.Get("Location"), token)))
	case code != http.StatusOK:
		return fail(ErrUnreachable, "it answers %q", http.StatusText(code))
	case response.Header.Get("Content-Type") != "application/x-"+service+"-advertisement":
		return fail(ErrNotFound, "what it answers is no git repository")
	}
	return nil
}

func (c *Checkout) askFile() error {
	u, err := url.Parse(c.options.Remote)
	if err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	if _, err := os.Stat(u.Path); err != nil {
		return fmt.Errorf("%s: %w: %w", c.options.Remote, ErrNotFound, err)
	}
	return nil
}
