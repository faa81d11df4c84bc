package forge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/go-github/v84/github"
)

const (
	// maxTries is how often a call is made, the first time included.
	maxTries = 3

	// maxTime bounds a call with its repetitions and the waiting between them. A
	// run waits for it, and a forge that asks for more patience fails the run with
	// that as its reason.
	maxTime = time.Minute

	// maxRequest bounds one request with its answer.
	maxRequest = 20 * time.Second
)

// pause is the time after a try where the forge names none.
func pause(try int) time.Duration {
	return []time.Duration{time.Second, 5 * time.Second}[min(try, maxTries-1)-1]
}

// call is one try of one method: the client with the token of this moment.
type call struct {
	ctx    context.Context
	forge  *Forge
	client *github.Client
	token  string
}

// do runs a method, again where that can help. A method that changes something
// has to look first whether an earlier try did it.
func (f *Forge) do(ctx context.Context, what string, method func(*call) error) error {
	defer f.idle()
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var waited time.Duration
	for try := 1; ; try++ {
		failure := f.try(ctx, method)
		if failure == nil {
			return nil
		}
		failure.doing = what
		delay := max(failure.after, pause(try))
		deadline, _ := ctx.Deadline()
		switch {
		case !failure.Retryable || try == maxTries || ctx.Err() != nil:
			return failure
		case waited+delay > maxTime || delay > time.Until(deadline):
			return failure // It would be in vain to wait for a part of it.
		}
		f.logger.Warn("asking the forge again",
			slog.String("doing", what), slog.String("repository", f.owner+"/"+f.name),
			slog.Int("status", failure.Status), slog.String("reason", failure.Reason), slog.Duration("wait", delay))
		if err := f.wait(ctx, delay); err != nil {
			failure.cause = errors.Join(failure.cause, err)
			return failure
		}
		waited += delay
	}
}

func (f *Forge) try(ctx context.Context, method func(*call) error) *Failure {
	c := &call{ctx: ctx, forge: f}
	token, err := f.token()
	if err != nil {
		return &Failure{Reason: fmt.Sprintf("The token for %s can not be read: %s", f.kind, sentence(err.Error(), "")), cause: err}
	}
	if !isToken(token) {
		return &Failure{Reason: fmt.Sprintf("The token for %s is empty or has characters that no token has.", f.kind)}
	}
	c.token = token
	c.client = github.NewClient(&http.Client{
		Transport: &exchange{token: token, base: f.transport},
		// A redirect could lead the token to another host, and the answer of another
		// repository to us.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	c.client.BaseURL = f.api
	c.client.UserAgent = "footfall"
	// The client would remember limits and answer from memory. Each call has a
	// client of its own, and what a limit means for it is decided in do.
	c.client.DisableRateLimitCheck = true
	return c.classify(method(c))
}

// isToken says whether a text can stand in a header (RFC 6750, section 2.1,
// allows less than visible ASCII; the forges' tokens are within that).
func isToken(text string) bool {
	for _, b := range []byte(text) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return text != ""
}
