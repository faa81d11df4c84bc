package agentjobs

import (
	"context"
	"slices"
	"time"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
)

// run is the place of a job in the queue, and then its run.
type run struct {
	project access.Project
	id      database.JobID
	queued  time.Time
	// cancel ends the run; it is nil while the job is queued.
	cancel context.CancelCauseFunc
	// abandoned says that the job has left the run behind: it was cancelled, and what
	// the run comes to no longer matters.
	abandoned bool
	log       *logWriter
	ended     chan struct{}
}

// mayPost answers 429 where a project posted as many messages as it may, or too
// many jobs wait, and 404 where it was deleted meanwhile. The caller holds mu.
func (js *Jobs) mayPost(project access.Project) error {
	if js.deleted[uint64(project.Number)] {
		return access.ErrProjectUnknown
	}
	if len(js.queue) >= maxActive {
		return errManyActive
	}
	window := js.posted[project.ID]
	since := js.options.Now().Add(-time.Hour)
	window = slices.DeleteFunc(window, func(t time.Time) bool { return !t.After(since) })
	if len(window) == 0 {
		delete(js.posted, project.ID)
	} else {
		js.posted[project.ID] = window
	}
	if len(window) < js.options.RunsPerHour {
		return nil
	}
	return &api.Error{
		Status:     429,
		Message:    "the project has posted as many messages as it may in an hour",
		RetryAfter: window[len(window)-js.options.RunsPerHour].Sub(since),
	}
}

func (js *Jobs) enqueue(project access.Project, id database.JobID, now time.Time) {
	js.queue = append(js.queue, &run{project: project, id: id, queued: now, ended: make(chan struct{})})
}

func (js *Jobs) queued(id database.JobID) bool {
	return slices.ContainsFunc(js.queue, func(r *run) bool { return r.id == id })
}

// drop takes a job out of the queue.
func (js *Jobs) drop(id database.JobID) {
	js.queue = slices.DeleteFunc(js.queue, func(r *run) bool { return r.id == id })
}

// dispatch begins runs as long as there may be more of them. The caller holds mu.
func (js *Jobs) dispatch() {
	for js.started && len(js.running) < js.options.Concurrent {
		next := js.next()
		if next < 0 {
			return
		}
		r := js.queue[next]
		js.queue = slices.Delete(js.queue, next, next+1)
		js.running[r.id] = r
		js.metrics.wait.Observe(js.options.Now().Sub(r.queued).Seconds())
		ctx, cancel := context.WithCancelCause(js.ctx)
		r.cancel = cancel
		js.work.Go(func() {
			defer cancel(nil)
			js.perform(ctx, r)
		})
	}
}

// next is the place in the queue of the run that begins next, or -1: the first one of
// the projects that have the fewest runs, so that one project with many messages does
// not hold the others up. A job whose former run is still ending lets others go first.
func (js *Jobs) next() int {
	runs := make(map[string]int) // by project
	for _, r := range js.running {
		runs[r.project.ID]++
	}
	next := -1
	for i, r := range js.queue {
		if js.running[r.id] == nil && (next < 0 || runs[r.project.ID] < runs[js.queue[next].project.ID]) {
			next = i
		}
	}
	return next
}

// depth is how many jobs wait for a run.
func (js *Jobs) depth() float64 {
	js.mu.Lock()
	defer js.mu.Unlock()
	return float64(len(js.queue))
}
