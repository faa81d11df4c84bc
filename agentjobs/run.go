package agentjobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
	job      *job // as it was when the run began; its work is the run's own
	settings Settings
	prompt   string
	checkout *checkout.Checkout
	forge    *forge.Forge
}

// perform works on the next message of a job, and keeps what came of it.
func (js *Jobs) perform(ctx context.Context, r *run) {
	began := js.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, js.RunTimeout, errDeadline)
	defer cancel()
	t := &task{run: r, js: js}
	err := t.begin()
	if err == nil {
		err = t.work(ctx)
	}
	if err != nil && ctx.Err() != nil {
		// What broke is for want of time or because of the cancellation.
		err = context.Cause(ctx)
	}
	js.finish(t, err, js.Now().Sub(began))
}

// begin reads what the run needs, and keeps that it has begun.
func (t *task) begin() (err error) {
	js := t.js
	if t.log, err = openLog(js.db, t.project, t.id, js.Now, js.LogBytes, js.flushed); err != nil {
		return err
	}
	js.mu.Lock()
	t.job, err = js.change(t.project, t.id, func(txn *badger.Txn, j *job) error {
		j.Run.Begun = true
		t.prompt, err = js.take(txn, t.project, j)
		return err
	})
	js.mu.Unlock()
	if err != nil {
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
	token := func() (string, error) { return readSecret("forge-token-file", settings.ForgeTokenFile) }
	t.forge, err = js.newForge(settings, token)
	if err != nil {
		return err
	}
	t.checkout, err = js.newCheckout(settings, js.copyOf(t.id), token)
	return err
}

func (js *Jobs) newForge(s Settings, token func() (string, error)) (*forge.Forge, error) {
	return forge.New(forge.Options{
		Kind: s.Forge, APIURL: s.ForgeURL, Repository: s.Repository, Token: token,
		Draft: s.Draft, Insecure: js.insecure, Logger: js.logger,
	})
}

func (js *Jobs) newCheckout(s Settings, dir string, token func() (string, error)) (*checkout.Checkout, error) {
	return checkout.New(checkout.Options{
		Dir: dir, Remote: s.Repository, Token: token,
		Insecure: js.insecure, DocsPath: s.DocsPath, Author: js.Author, Now: js.Now,
	})
}

// work does what a run is for.
func (t *task) work(ctx context.Context) error {
	t.log.note(agent.KindStatus, "The run begins: message %d on branch %s.", t.job.Next+1, t.job.Branch)
	if err := t.chooseBranch(ctx); err != nil {
		return err
	}
	changed := true
	if t.job.Run.Commit == "" {
		var err error
		if changed, err = t.change(ctx); err != nil {
			return err
		}
	}
	if !changed {
		t.log.note(agent.KindStatus, "Nothing was changed.")
		return nil
	}
	if err := t.checkout.Push(ctx, t.job.Branch); err != nil {
		return err
	}
	t.log.note(agent.KindStatus, "Branch %s was pushed.", t.job.Branch)
	pull, err := t.forge.EnsurePullRequest(ctx, t.job.Branch, t.job.BaseRef, title(t.firstPrompt()), t.description())
	if err != nil {
		return err
	}
	t.job.PullRequest = &pullRequest{Number: pull.Number, URL: pull.URL}
	t.log.note(agent.KindStatus, "Pull request: %s", pull.URL)
	return nil
}

// chooseBranch takes a new branch where the last one's pull request was merged or
// closed: what is pushed there would reach nobody.
func (t *task) chooseBranch(ctx context.Context) error {
	if t.job.PullRequest == nil || t.job.Run.Commit != "" {
		return nil
	}
	pull, err := t.forge.PullRequest(ctx, t.job.PullRequest.Number)
	if err != nil {
		return err
	}
	if pull.State == forge.Open {
		return nil
	}
	t.job.nextBranch()
	t.log.note(agent.KindStatus, "Pull request %s is %s; branch %s is new.", t.job.PullRequest.URL, pull.State, t.job.Branch)
	return nil
}

// change lets the agent work on a clean checkout and commits what it changed.
// changed is false where there is nothing to push.
func (t *task) change(ctx context.Context) (changed bool, err error) {
	start, err := t.checkout.Prepare(ctx, t.job.Branch, t.job.BaseRef)
	if err != nil {
		return false, err
	}
	if t.job.BaseCommit == "" {
		t.job.BaseCommit = start.Base
	}
	t.log.note(agent.KindStatus, "The agent works on commit %s.", start.Commit)
	if err := t.ask(ctx); err != nil {
		return false, err
	}
	made, err := t.checkout.Commit(ctx, commitMessage(t.prompt, t.job.ID))
	if err != nil {
		return false, err
	}
	if t.job.Stat, err = t.checkout.Stat(ctx, t.job.BaseCommit); err != nil {
		return false, err
	}
	if !made.Changed {
		// A branch that was pushed without a pull request still gets one.
		return start.Existed && t.job.PullRequest == nil && t.job.Stat.Files > 0, nil
	}
	t.log.note(agent.KindStatus, "Commit %s. Files: %d, insertions: %d, deletions: %d.", made.Commit, made.Stat.Files, made.Stat.Insertions, made.Stat.Deletions)
	diff, err := t.checkout.Diff(ctx, agent.MaxEventText)
	if err != nil {
		return false, err
	}
	t.log.agentSaid(agent.Event{Kind: agent.KindDiff, Text: diff})
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
	return filepath.Join(js.Dir, uuid.UUID(id).String())
}

// socketOf is where the gate of a job's run listens. A socket's path is limited to
// 107 bytes, so it is short.
func (js *Jobs) socketOf(id database.JobID) string {
	return filepath.Join(js.Dir, fmt.Sprintf("%x%s", id[8:], socketSuffix))
}

const socketSuffix = ".sock"

// finish keeps what a run came to, and lets the next ones begin.
func (js *Jobs) finish(t *task, err error, took time.Duration) {
	stopping := errors.Is(err, errStopping)
	if t.log != nil {
		t.noteEnd(err)
		t.log.close()
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.running, t.id)
	defer close(t.ended)
	j, changeErr := js.change(t.project, t.id, func(_ *badger.Txn, j *job) error {
		if t.job != nil {
			j.result = t.job.result
		}
		switch {
		case stopping && !t.abandoned:
			j.Run.Begun = false
			return nil
		case t.abandoned: // What became of the job was decided then.
		case err != nil:
			j.fail(runFailed, reasonOf(err), js.time())
		default:
			j.Next++
			j.Updated = js.time()
			if j.Next == j.Messages {
				j.move(runsEnded)
			}
		}
		j.Run = progress{}
		return nil
	})
	if changeErr != nil && !errors.Is(changeErr, errUnknown) {
		js.logger.Error("What a run of an agent job came to was not kept.", "job", uuid.UUID(t.id), "error", changeErr)
	}
	if !t.abandoned && !stopping {
		js.metrics.ended(err, took)
	}
	if err != nil && !t.abandoned && !stopping && internal(err) {
		js.logger.Error("A run of an agent job failed.", "job", uuid.UUID(t.id), "project", t.project.ID, "error", err)
	}
	switch {
	case changeErr == nil && j.Status == Archived, errors.Is(changeErr, errUnknown):
		js.work.Go(func() { js.removeCopy(t.id) })
	case changeErr == nil && j.Status == Active && !stopping && !js.deleted[uint64(t.project.Number)] && !js.queued(t.id):
		js.enqueue(t.project, t.id, js.Now())
	}
	js.dispatch()
	js.watchers.wake()
}

func (t *task) noteEnd(err error) {
	switch {
	case err == nil:
		t.log.note(agent.KindStatus, "The run ended well.")
	case errors.Is(err, errStopping):
		t.log.note(agent.KindStatus, "The service stops. The run begins again when it is back.")
	default:
		t.log.note(agent.KindError, "The run failed: %s", reasonOf(err))
	}
}
