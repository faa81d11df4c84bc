package forge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Kind is the software of a forge.
type Kind string

const (
	// GitHub is github.com, or a GitHub Enterprise Server.
	GitHub Kind = "github"
	// Gitea is any host of Gitea. Its version 1.26 is the one tried.
	Gitea Kind = "gitea"
)

// String returns the name as the forge itself writes it.
func (k Kind) String() string {
	switch k {
	case GitHub:
		return "GitHub"
	case Gitea:
		return "Gitea"
	}
	return fmt.Sprintf("forge %q", string(k))
}

// ErrOptions is matched by every error of New.
var ErrOptions = errors.New("forge is set up wrongly")

// Options are what a Forge is made of.
type Options struct {
	Kind Kind

	// APIURL is the base of the API. Empty, it follows from Repository:
	// https://api.github.com/ for github.com, https://host/api/v3/ for another
	// GitHub, https://host/api/v1/ for Gitea, below its path if it has one.
	APIURL string

	// Repository is the URL that the repository is cloned from,
	// https://host[/path]/owner/name, with or without .git at its end.
	Repository string

	// Token returns the token. It is asked at each call. Its error is shown to the
	// operator and must not hold the token.
	Token func() (string, error)

	// Draft says that pull requests are opened as drafts, where the forge can.
	Draft bool

	// Insecure allows http, to loopback addresses alone. It is meant for tests.
	Insecure bool

	// Transport carries the requests. Nil stands for one that connects directly:
	// a proxy that the environment names would be one more place that decides
	// where the token goes. No transport is used to follow a redirect.
	Transport http.RoundTripper

	// Wait returns after a time, or with the context's error when that ends
	// before. Nil stands for a timer.
	Wait func(context.Context, time.Duration) error

	// Logger is told of tries that failed and are repeated. It may be nil.
	Logger *slog.Logger
}

// Forge is the API of a forge for one repository. Its methods may be called
// concurrently. Every error of theirs is a *Failure.
type Forge struct {
	kind      Kind
	api       *url.URL
	owner     string
	name      string
	token     func() (string, error)
	draft     bool
	transport http.RoundTripper
	idle      func() // closes connections that no call uses
	wait      func(context.Context, time.Duration) error
	logger    *slog.Logger
}

// New makes a Forge. It does not ask the forge anything: Check does. The error
// matches ErrOptions and says which option is wrong.
func New(o Options) (*Forge, error) {
	if o.Kind != GitHub && o.Kind != Gitea {
		return nil, fmt.Errorf("%w: the kind %q is neither %q nor %q", ErrOptions, string(o.Kind), string(GitHub), string(Gitea))
	}
	if o.Token == nil {
		return nil, fmt.Errorf("%w: there is no token", ErrOptions)
	}
	place, err := parseRepository(o.Repository, o.Insecure)
	if err != nil {
		return nil, fmt.Errorf("%w: the repository's URL %w", ErrOptions, err)
	}
	api, err := apiURL(o, place)
	if err != nil {
		return nil, fmt.Errorf("%w: the API's URL %w", ErrOptions, err)
	}
	f := &Forge{
		kind: o.Kind, api: api, owner: place.owner, name: place.name, token: o.Token, draft: o.Draft,
		transport: o.Transport, idle: func() {}, wait: o.Wait, logger: o.Logger,
	}
	if f.transport == nil {
		direct := directTransport()
		f.transport, f.idle = direct, direct.CloseIdleConnections
	}
	if f.wait == nil {
		f.wait = waitTimer
	}
	if f.logger == nil {
		f.logger = slog.New(slog.DiscardHandler)
	}
	return f, nil
}

// Repository returns the owner and the name of the repository on the forge.
func (f *Forge) Repository() (owner, name string) { return f.owner, f.name }

func waitTimer(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
