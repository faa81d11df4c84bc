package agentjobs

import (
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

// recover takes up what a former process left: it queues what is active, in the
// order in which it came, and forgets what is left over. The caller holds mu.
func (js *Jobs) recover() error {
	if err := js.forgetDeleted(); err != nil {
		return err
	}
	known := make(map[string]bool) // directories
	var active []*run
	for _, project := range js.Registry.Projects() {
		jobs, err := js.all(project)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			js.metrics.moved("", j.Status)
			if j.Status != Archived {
				known[uuid.UUID(j.ID).String()] = true
			}
			if err := js.recount(project, j); err != nil {
				return err
			}
			if j.Status != Active {
				continue
			}
			taken, err := js.takeUp(project, j.ID)
			if err != nil {
				return err
			}
			if taken {
				active = append(active, &run{project: project, id: j.ID, queued: j.Updated, ended: make(chan struct{})})
			}
		}
	}
	slices.SortStableFunc(active, func(a, b *run) int { return a.queued.Compare(b.queued) })
	for _, r := range active {
		js.enqueue(r.project, r.id, r.queued)
	}
	return js.removeLeftovers(known)
}

// all returns the jobs of a project.
func (js *Jobs) all(project access.Project) (jobs []*job, err error) {
	err = js.db.View(func(txn *badger.Txn) error {
		return database.Each(txn, database.JobPrefix(project.Number), database.KindJob, func(key, payload []byte) error {
			j, err := decodeJob(key, payload)
			jobs = append(jobs, j)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading the jobs of project %q: %w", project.ID, err)
	}
	return jobs, nil
}

// recount counts the messages of a job that came within the last hour.
func (js *Jobs) recount(project access.Project, j *job) error {
	since := js.Now().Add(-time.Hour)
	if !j.Updated.After(since) {
		return nil
	}
	err := js.messages(project, j.ID, 0, func(m message) error {
		if m.Created.After(since) {
			js.posted[project.ID] = append(js.posted[project.ID], m.Created)
		}
		return nil
	})
	slices.SortFunc(js.posted[project.ID], time.Time.Compare)
	return err
}

// takeUp says whether an active job runs again. One whose run the end of the process
// interrupted does so once; whatever broke the process could break it each time.
func (js *Jobs) takeUp(project access.Project, id database.JobID) (taken bool, err error) {
	j, err := js.change(project, id, func(_ *badger.Txn, j *job) error {
		if !j.Run.Begun {
			return nil
		}
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
	return j.Status == Active, err
}

// noteOnce appends a line to the log of a job that does not run.
func (js *Jobs) noteOnce(project access.Project, id database.JobID, text string) {
	log, err := openLog(js.db, project, id, js.Now, js.LogBytes, js.flushed)
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
			if err == nil && !js.Registry.Live(number) {
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
// process that did not end by itself.
func (js *Jobs) removeLeftovers(known map[string]bool) error {
	entries, err := os.ReadDir(js.Dir)
	if err != nil {
		return fmt.Errorf("reading the directory of agent jobs: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		_, parsed := uuid.Parse(name)
		left := strings.HasSuffix(name, socketSuffix) || strings.HasPrefix(name, checkPrefix)
		if known[name] || parsed != nil && !left {
			continue
		}
		if err := removeAll(filepath.Join(js.Dir, name)); err != nil {
			js.logger.Warn("What is left of an agent job was not removed.", "error", err)
		}
	}
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
		<-r.ended
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	jobs, err := js.all(project)
	if err != nil {
		return err
	}
	if err := js.db.Drop(database.JobsPrefix(project.Number)); err != nil {
		return fmt.Errorf("deleting the agent jobs of project %q: %w", project.ID, err)
	}
	js.watchers.wake()
	for _, j := range jobs {
		js.metrics.moved(j.Status, "")
		err = errors.Join(err, removeAll(js.copyOf(j.ID)))
	}
	return err
}
