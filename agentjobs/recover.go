package agentjobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/uuid"

	"footfall/agentjobs/agent"
	"footfall/internal/access"
	"footfall/internal/database"
)

// takeUpAll takes up what a former process left: it queues what is active, in the
// order in which it came, and forgets what is left over. The caller holds mu.
func (js *Jobs) takeUpAll() error {
	if err := js.forgetDeleted(); err != nil {
		return err
	}
	known := make(map[string]bool) // directories
	var active []*run
	for _, project := range js.options.Registry.Projects() {
		var begun []database.JobID
		queue := func(j *job) error {
			posted, err := js.postedAt(project, j)
			active = append(active, &run{project: project, id: j.ID, queued: posted, ended: make(chan struct{})})
			return err
		}
		err := js.eachJob(project, func(j *job) error {
			js.metrics.moved("", j.Status)
			if j.Status != Archived {
				known[uuid.UUID(j.ID).String()] = true
			}
			switch {
			case j.Status == Active && j.Run.Begun:
				begun = append(begun, j.ID)
			case j.Status == Active:
				if err := queue(j); err != nil {
					return err
				}
			}
			return js.recount(project, j)
		})
		if err != nil {
			return err
		}
		for _, id := range begun {
			j, err := js.takeUp(project, id)
			if err == nil && j.Status == Active {
				err = queue(j)
			}
			if err != nil {
				return err
			}
		}
		slices.SortFunc(js.posted[project.ID], time.Time.Compare)
	}
	slices.SortStableFunc(active, func(a, b *run) int { return a.queued.Compare(b.queued) })
	for _, r := range active {
		js.enqueue(r.project, r.id, r.queued)
	}
	return js.removeLeftovers(known)
}

// eachJob calls visit with the jobs of a project, the oldest first.
func (js *Jobs) eachJob(project access.Project, visit func(*job) error) error {
	err := js.db.View(func(txn *badger.Txn) error {
		return database.Each(txn, database.JobPrefix(project.Number), database.KindJob, func(key, payload []byte) error {
			j, err := decodeJob(key, payload)
			if err != nil {
				return err
			}
			return visit(j)
		})
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("reading the jobs of project %q: %w", project.ID, err)
	}
	return nil
}

// recount counts the messages of a job that came within the last hour.
func (js *Jobs) recount(project access.Project, j *job) error {
	since := js.options.Now().Add(-time.Hour)
	if !j.Updated.After(since) {
		return nil
	}
	return js.messages(project, j.ID, 0, func(m message) error {
		if m.Created.After(since) {
			js.posted[project.ID] = append(js.posted[project.ID], m.Created)
		}
		return nil
	})
}

// takeUp lets a job whose run the end of the process interrupted run again, once:
// whatever broke the process could break it each time.
func (js *Jobs) takeUp(project access.Project, id database.JobID) (*job, error) {
	j, err := js.change(project, id, func(_ *badger.Txn, j *job) error {
		j.Run.Begun = false
		if j.Run.Interruptions++; j.Run.Interruptions > interruptionsAllowed {
			j.fail(runFailed, errInterrupted.Error(), js.time())
		}
		return nil
	})
	if err == nil && j.Status == Failed {
		js.metrics.outcomes.WithLabelValues("interrupted").Inc()
		js.noteOnce(project, id, "The run failed: it was interrupted twice.")
	}
	return j, err
}

// postedAt is when the message was posted that a job runs next.
func (js *Jobs) postedAt(project access.Project, j *job) (at time.Time, err error) {
	err = js.messages(project, j.ID, j.Next, func(m message) error { at = m.Created; return errEnough })
	if errors.Is(err, errEnough) {
		err = nil
	}
	return at, err
}

// noteOnce appends a line to the log of a job that does not run.
func (js *Jobs) noteOnce(project access.Project, id database.JobID, text string) {
	log, err := openLog(js.db, project, id, js.options.Now, js.options.LogBytes, js.flushed)
	if err != nil {
		js.flushed(err)
		return
	}
	log.note(agent.KindStatus, "%s", text)
	log.close()
}

// forgetDeleted removes what is left of projects that were deleted.
func (js *Jobs) forgetDeleted() error {
	var dead [][]byte
	err := js.db.View(func(txn *badger.Txn) error {
		return database.EachJobsProject(txn, func(prefix []byte) error {
			number, err := database.JobsProject(prefix)
			if err == nil && !js.options.Registry.Live(number) {
				dead = append(dead, prefix)
			}
			return err
		})
	})
	if err != nil || len(dead) == 0 {
		return err
	}
	return js.db.Drop(dead...)
}

// removeLeftovers removes working copies of no job, and the sockets and checks of a
// process that did not end by itself. Directories may be large; they go in the
// background.
func (js *Jobs) removeLeftovers(known map[string]bool) error {
	entries, err := os.ReadDir(js.options.Dir)
	if err != nil {
		return fmt.Errorf("reading the directory of agent jobs: %w", err)
	}
	var left []string
	for _, entry := range entries {
		path := filepath.Join(js.options.Dir, entry.Name())
		name, trash := strings.CutSuffix(entry.Name(), trashSuffix)
		_, err := uuid.Parse(name)
		switch {
		case strings.HasSuffix(name, socketSuffix):
			if err := os.Remove(path); err != nil {
				js.logger.Warn("The socket of a run was not removed.", "error", err)
			}
		case trash, err == nil && !known[name], strings.HasPrefix(name, checkPrefix):
			left = append(left, filepath.Join(js.options.Dir, name))
		}
	}
	js.work.Go(func() {
		for _, dir := range left {
			if err := removeAll(dir); err != nil {
				js.logger.Warn("What is left of an agent job was not removed.", "error", err)
			}
		}
	})
	return nil
}

// removeCopy removes the working copy of a job.
func (js *Jobs) removeCopy(id database.JobID) {
	if err := removeAll(js.copyOf(id)); err != nil {
		js.logger.Warn("The working copy of an agent job was not removed.", "job", uuid.UUID(id), "error", err)
	}
}

// DeleteProject removes everything of a project's jobs and waits for those that run.
func (js *Jobs) DeleteProject(project access.Project) error {
	js.mu.Lock()
	js.deleted[uint64(project.Number)] = true
	js.queue = slices.DeleteFunc(js.queue, func(r *run) bool { return r.project.Number == project.Number })
	delete(js.posted, project.ID)
	var ending []*run
	for _, r := range js.running {
		if r.project.Number == project.Number {
			r.abandoned = true
			r.cancel(errCancelled)
			ending = append(ending, r)
		}
	}
	js.mu.Unlock()
	for _, r := range ending {
		select {
		case <-r.ended:
		case <-js.waiting.Done():
			// On a full disk a run does not end. The next start removes what is left.
			return fmt.Errorf("deleting the agent jobs of project %q: %w", project.ID, context.Cause(js.waiting))
		}
	}
	copies, err := js.dropJobs(project)
	for _, id := range copies {
		err = errors.Join(err, removeAll(js.copyOf(id)))
	}
	return err
}

// dropJobs removes what the database has of a project's jobs, and returns which have a
// working copy.
func (js *Jobs) dropJobs(project access.Project) (copies []database.JobID, err error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	err = js.eachJob(project, func(j *job) error {
		js.metrics.moved(j.Status, "")
		if j.Status != Archived {
			copies = append(copies, j.ID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := js.db.Drop(database.JobsPrefix(project.Number)); err != nil {
		return nil, fmt.Errorf("deleting the agent jobs of project %q: %w", project.ID, err)
	}
	js.watchers.wake()
	return copies, nil
}
