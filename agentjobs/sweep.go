package agentjobs

import (
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/uuid"

	"footfall/agentjobs/checkout"
	"footfall/internal/access"
	"footfall/internal/database"
)

// sweepAlways archives and removes what is due, until Close.
func (js *Jobs) sweepAlways() {
	ticker := time.NewTicker(js.options.SweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-js.ctx.Done():
			return
		case <-ticker.C:
		}
		for _, project := range js.options.Registry.Projects() {
			if err := js.sweep(project); err != nil {
				js.logger.Error("Agent jobs that are due were not archived or removed.", "project", project.ID, "error", err)
			}
		}
	}
}

// sweepAtOnce bounds what a sweep archives and removes of a project; the next one goes
// on.
const sweepAtOnce = 1000

// sweep archives jobs to which nothing happened for long, and removes those that
// were archived long ago, and receipts whose time is over.
func (js *Jobs) sweep(project access.Project) error {
	now := js.options.Now()
	var idle, over []*job
	err := js.eachJob(project, func(j *job) error {
		switch {
		case js.ctx.Err() != nil || len(idle)+len(over) == sweepAtOnce:
			return errEnough
		case j.Status == Archived && !now.Before(j.Archived.Add(js.options.Retention)):
			over = append(over, j)
		case j.Status != Active && j.Status != Archived && js.idle(j, now):
			idle = append(idle, j)
		}
		return nil
	})
	for _, j := range over {
		if !js.runs(j.ID) { // A cancelled run that is still ending writes yet.
			err = errors.Join(err, js.remove(project, j))
		}
	}
	for _, j := range idle {
		js.mu.Lock()
		_, archiveErr := js.archive(project, j.ID, archiveDue)
		js.mu.Unlock()
		if !errors.Is(archiveErr, errStillActive) { // Something happened in between.
			err = errors.Join(err, archiveErr)
		}
	}
	return errors.Join(err, js.removeReceipts(project, now))
}

// idle reports whether nothing happened to a job for as long as it is kept open.
func (js *Jobs) idle(j *job, now time.Time) bool {
	return !now.Before(j.Updated.Add(js.options.ArchiveAfter))
}

// runs reports whether a run of a job has not ended yet.
func (js *Jobs) runs(id database.JobID) bool {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.running[id] != nil
}

// remove removes a job with its messages and its log.
func (js *Jobs) remove(project access.Project, j *job) error {
	keys := [][]byte{database.JobKey(project.Number, j.ID)}
	err := js.db.View(func(txn *badger.Txn) error {
		for _, prefix := range [][]byte{database.JobMessagePrefix(project.Number, j.ID), database.JobLogPrefix(project.Number, j.ID)} {
			err := database.EachKey(txn, prefix, func(key []byte) error {
				keys = append(keys, append([]byte(nil), key...))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("removing job %s: %w", uuid.UUID(j.ID), err)
	}
	// A transaction is bounded in its size. The job goes last, so that what a crash
	// leaves is found again.
	for i := len(keys) - 1; i >= 0; i -= 500 {
		some := keys[max(0, i-499) : i+1]
		err := js.db.Update(func(txn *badger.Txn) error {
			for _, key := range some {
				if err := txn.Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("removing job %s: %w", uuid.UUID(j.ID), err)
		}
	}
	js.metrics.moved(Archived, "")
	return removeAll(js.copyOf(j.ID))
}

// removeAll removes a directory that an agent could write to.
func removeAll(dir string) error {
	if err := checkout.Discard(dir, dir+trashSuffix); err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}

// trashSuffix ends the names of what is being removed.
const trashSuffix = ".trash"
