package agentjobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/uuid"

	"footfall/agentjobs/agent"
	"footfall/agentjobs/checkout"
	"footfall/agentjobs/forge"
	"footfall/agentjobs/secret"
	"footfall/internal/database"
)

// task is what a run works with.
type task struct {
	*run
	js       *Jobs
	job      *job // as it was when the run began; its result is the run's own
	settings Settings
	prompt   string
	checkout *checkout.Checkout
	forge    *forge.Forge
	start    string // the commit that the agent works on
}

// perform works on the next message of a job, and keeps what came of it.
func (js *Jobs) perform(ctx context.Context, r *run) {
	began := js.options.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, js.options.RunTimeout, errDeadline)
	defer cancel()
	t := &task{run: r, js: js}
	err := t.attempt(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && (!errors.Is(cause, errDeadline) || !ownReason(err)) {
		err = cause // What broke is for want of time or because of the cancellation.
	}
	js.finish(t, err, js.options.Now().Sub(began))
}

// attempt begins the run and does its work. A mistake of ours is the run's failure,
// not the end of the process, which others rely on.
func (t *task) attempt(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	if err := t.begin(); err != nil {
		return err
	}
	return t.carryOut(ctx)
}

// begin reads what the run needs, and keeps that it has begun.
func (t *task) begin() (err error) {
	js := t.js
	if t.log, err = openLog(js.db, t.project, t.id, js.options.Now, js.options.LogBytes, js.flushed); err != nil {
		return err
	}
	if err := t.takeMessage(); err != nil {
		return err
	}
	settings, found, err := js.Settings(t.project)
	if err != nil {
		return err
	}
	if !found {
		return errNoRepository
	}
	if settings.Repository != t.job.Repository {
		return errMoved
	}
	t.settings = settings
	t.job.Model = settings.Model
	token := func() (string, error) { return readSecret("forge-token-file", settings.ForgeTokenFile) }
	t.forge, err = js.newForge(settings, token)
	if err != nil {
		return err
	}
	t.checkout, err = js.newCheckout(settings, js.copyOf(t.id), token)
	return err
}

// takeMessage reads the job and its message, and keeps that the run has it.
func (t *task) takeMessage() error {
	t.js.mu.Lock()
	defer t.js.mu.Unlock()
	if t.abandoned { // Since it was dispatched: the message may be gone.
		return errCancelled
	}
	j, err := t.js.change(t.project, t.id, func(txn *badger.Txn, j *job) (err error) {
		j.Run.Begun = true
		t.prompt, err = t.js.take(txn, t.project, j)
		return err
	})
	if err == nil {
		t.job = j
	}
	return err
}

func (js *Jobs) newForge(s Settings, token func() (string, error)) (*forge.Forge, error) {
	return forge.New(forge.Options{
		Kind: s.Forge, APIURL: s.ForgeURL, Repository: s.Repository, Token: token,
		Draft: s.Draft, Insecure: js.options.Insecure, Logger: js.logger,
	})
}

func (js *Jobs) newCheckout(s Settings, dir string, token func() (string, error)) (*checkout.Checkout, error) {
	return checkout.New(checkout.Options{
		Dir: dir, Remote: s.Repository, Token: token,
		Insecure: js.options.Insecure, DocsPath: s.DocsPath, Author: js.options.Author, Now: js.options.Now,
	})
}

// carryOut does what a run is for.
func (t *task) carryOut(ctx context.Context) error {
	t.log.note(agent.KindStatus, "The run begins: message %d on branch %s.", t.job.Next+1, t.job.Branch)
	if err := t.chooseBranch(ctx); err != nil {
		return err
	}
	if err := t.js.checkRoom(); err != nil {
		return err
	}
	if t.job.Run.Commit == "" || !t.checkout.At(ctx, t.job.Run.Commit) {
		changed, err := t.letAgentWork(ctx)
		if err != nil {
			return err
		}
		if !changed {
			t.log.note(agent.KindStatus, "Nothing was changed.")
			return nil
		}
	}
	if err := t.patiently(ctx, func() error { return t.checkout.Push(ctx, t.job.Branch) }); err != nil {
		return err
	}
	t.log.note(agent.KindStatus, "Branch %s was pushed.", t.job.Branch)
	pull, err := t.forge.EnsurePullRequest(ctx, t.job.Branch, t.job.BaseRef, title(t.firstPrompt()), t.description())
	if err != nil {
		return err
	}
	t.job.PullRequest = &pullRequest{Number: pull.Number, URL: pull.URL, Branch: t.job.Branch}
	t.log.note(agent.KindStatus, "Pull request: %s", pull.URL)
	return nil
}

// patiently tries what may be repeated up to three times where the remote can not be
// reached: it would be a pity about the agent's work.
func (t *task) patiently(ctx context.Context, try func() error) error {
	for _, wait := range []time.Duration{2 * time.Second, 10 * time.Second} {
		err := try()
		if !errors.Is(err, checkout.ErrUnreachable) && !errors.Is(err, checkout.ErrTimeout) {
			return err
		}
		t.log.note(agent.KindStatus, "The repository is asked again in %v: %v", wait, err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
	return try()
}

// chooseBranch takes a new branch where the pull request of the last one was merged or
// closed: what is pushed there would reach nobody. A branch that has no pull request
// yet is kept.
func (t *task) chooseBranch(ctx context.Context) error {
	if !t.hasPullRequest() || t.job.Run.Commit != "" {
		return nil
	}
	pull, err := t.forge.PullRequest(ctx, t.job.PullRequest.Number)
	var failure *forge.Failure
	switch {
	case errors.As(err, &failure) && failure.Status == http.StatusNotFound:
		pull.State = forge.Closed // It was deleted.
	case err != nil:
		return err
	case pull.State == forge.Open:
		return nil
	}
	t.job.nextBranch()
	t.log.note(agent.KindStatus, "Pull request %s is %s; branch %s is new.", t.job.PullRequest.URL, pull.State, t.job.Branch)
	return nil
}

// hasPullRequest reports whether the job's branch has a pull request.
func (t *task) hasPullRequest() bool {
	return t.job.PullRequest != nil && t.job.PullRequest.Branch == t.job.Branch
}

// letAgentWork lets the agent work on a clean checkout and commits what it changed.
// changed is false where there is nothing to push.
func (t *task) letAgentWork(ctx context.Context) (changed bool, err error) {
	var start checkout.Start
	err = t.patiently(ctx, func() (err error) {
		start, err = t.checkout.Prepare(ctx, t.job.Branch, t.job.BaseRef)
		return err
	})
	if err != nil {
		return false, err
	}
	if t.job.BaseCommit == "" || !start.Existed {
		t.job.BaseCommit = start.Base
	}
	t.start = start.Commit
	t.log.note(agent.KindStatus, "The agent works on commit %s.", start.Commit)
	if err := t.ask(ctx); err != nil {
		return false, err
	}
	made, err := t.checkout.Commit(ctx, commitMessage(t.prompt, t.job.ID))
	if err != nil {
		return false, err
	}
	t.job.Stat, err = t.checkout.Stat(ctx, t.job.BaseCommit)
	if errors.Is(err, checkout.ErrNotFound) {
		// The working copy was lost, and the base has moved on since.
		t.job.BaseCommit = start.Base
		t.job.Stat, err = t.checkout.Stat(ctx, t.job.BaseCommit)
	}
	if err != nil {
		return false, err
	}
	if !made.Changed {
		// A branch that was pushed without a pull request still gets one.
		return start.Existed && !t.hasPullRequest() && t.job.Stat.Files > 0, nil
	}
	t.log.note(agent.KindStatus, "Commit %s. Files: %d, insertions: %d, deletions: %d.", made.Commit, made.Stat.Files, made.Stat.Insertions, made.Stat.Deletions)
	diff, err := t.checkout.Diff(ctx, agent.MaxEventText)
	if err != nil {
		return false, err
	}
	t.log.agentSaid(agent.Event{Kind: agent.KindDiff, Text: agent.Clean(diff)})
	t.job.Run.Commit = made.Commit
	return true, t.keep()
}

// keep keeps what the run made so far, for a start after a crash.
func (t *task) keep() error {
	t.js.mu.Lock()
	defer t.js.mu.Unlock()
	if t.abandoned {
		return errCancelled
	}
	_, err := t.js.change(t.project, t.id, func(_ *badger.Txn, j *job) error {
		j.result = t.job.result
		return nil
	})
	return err
}

// ask gives the message to the agent and waits until it is done.
func (t *task) ask(ctx context.Context) error {
	result, err := t.js.converse(ctx, conversation{
		settings: t.settings,
		tree:     t.checkout.Tree(),
		home:     filepath.Join(t.js.copyOf(t.id), "home"),
		socket:   t.js.socketOf(t.id),
		prompt:   t.instructions(),
		session:  t.job.Session,
		summary:  t.summary(),
		event:    t.log.agentSaid,
	})
	if result.SessionID != "" {
		t.job.Session, t.job.Answer = result.SessionID, result.Message
	}
	return err
}

func readSecret(flag, name string) (string, error) {
	text, err := secret.Read(name)
	if err != nil {
		return "", &secretError{flag: flag, cause: err}
	}
	return text, nil
}

// copyOf is the directory of a job: its checkout and the home of its agent.
func (js *Jobs) copyOf(id database.JobID) string {
	return filepath.Join(js.options.Dir, uuid.UUID(id).String())
}

// socketOf is where the gate of a job's run listens.
func (js *Jobs) socketOf(id database.JobID) string {
	return filepath.Join(js.sockets, fmt.Sprintf("%x%s", id[8:], socketSuffix))
}

const (
	socketSuffix = ".sock"
	// maxSocketPath is what a unix socket's address holds (unix(7)).
	maxSocketPath = 107
)

// socketDir returns a directory for sockets: that of the jobs, or a short one where
// their paths would be too long.
func socketDir(dir string) (string, error) {
	if longest := len(dir) + len("/check-0123456789") + len(socketSuffix); longest <= maxSocketPath {
		return dir, nil
	}
	short, err := os.MkdirTemp("", "footfall-*")
	if err != nil {
		return "", fmt.Errorf("making a directory for sockets: %w", err)
	}
	return short, nil
}
