package agentjobs

import (
	"errors"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/uuid"

	"footfall/agentjobs/agent"
)

// finish keeps what a run came to, and lets the next ones begin.
func (js *Jobs) finish(t *task, err error, took time.Duration) {
	stopping := errors.Is(err, errStopping)
	if t.checkout != nil {
		// Each run makes the tree anew. Jobs are kept for long, and repositories are large.
		if err := t.checkout.DiscardTree(); err != nil {
			js.logger.Warn("The tree of an agent job was not removed.", "job", uuid.UUID(t.id), "error", err)
		}
	}
	if t.log != nil {
		t.noteEnd(err)
		t.log.close()
	}
	if err != nil && internal(err) && !stopping && !errors.Is(err, errCancelled) {
		js.logger.Error("A run of an agent job failed.", "job", uuid.UUID(t.id), "project", t.project.ID, "error", err)
	}
	for !js.settle(t, err, stopping) {
		// Until it is kept the job still runs, as far as anybody is told: on a full disk
		// it would else be active and never run again.
		select {
		case <-js.ctx.Done():
			return
		case <-time.After(settleEvery):
		}
	}
	if !t.abandoned && !stopping {
		js.metrics.ended(err, took)
	}
}

// settleEvery is how often an outcome is tried to be kept.
const settleEvery = time.Second

// settle makes the outcome of a run that of its job, and lets the next runs begin.
// kept is false where the database did not take it.
func (js *Jobs) settle(t *task, err error, stopping bool) (kept bool) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j, changeErr := js.change(t.project, t.id, func(_ *badger.Txn, j *job) error {
		if t.job != nil {
			j.result = t.job.result
		}
		switch {
		case t.abandoned: // What became of the job was decided then.
		case stopping:
			j.Run.Begun = false
			return nil
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
	gone := errors.Is(changeErr, errUnknown)
	if changeErr != nil && !gone {
		js.logger.Error("What a run of an agent job came to was not kept.", "job", uuid.UUID(t.id), "error", changeErr)
		return false
	}
	delete(js.running, t.id)
	close(t.ended)
	switch {
	case gone, j.Status == Archived:
		js.work.Go(func() { js.removeCopy(t.id) })
	case j.Status == Active && !stopping && !js.deleted[uint64(t.project.Number)] && !js.queued(t.id):
		js.enqueue(t.project, t.id, js.options.Now())
	}
	js.dispatch()
	js.watchers.wake()
	return true
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
