package agentjobs

import (
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/uuid"

	"footfall/agentjobs/checkout"
	"footfall/internal/access"
	"footfall/internal/database"
)

// move changes the state of a job. The caller has looked whether its state allows it.
func (j *job) move(h happening) {
	next, allowed := j.Status.after(h)
	if !allowed {
		panic(fmt.Sprintf("%s happened to a job that is %s", h, j.Status))
	}
	j.Status = next
}

// fail makes a job failed and discards what waits.
func (j *job) fail(h happening, reason string, now time.Time) {
	j.move(h)
	j.Failure = reason
	j.Next = j.Messages
	j.Run = progress{}
	j.Updated = now
}

// nextBranch gives a job a branch that it did not have.
func (j *job) nextBranch() {
	j.Branches++
	j.Branch = "footfall/" + uuid.UUID(j.ID).String()
	if j.Branches > 1 {
		j.Branch += fmt.Sprintf("-%d", j.Branches)
	}
	j.BaseCommit, j.Stat = "", checkout.Stat{}
}

func (js *Jobs) save(txn *badger.Txn, project access.Project, j *job) error {
	return database.SetJSON(txn, database.JobKey(project.Number, j.ID), database.KindJob, j)
}

// get reads a job. errUnknown says that the project has none of this ID.
func (js *Jobs) get(txn *badger.Txn, project access.Project, id database.JobID) (*job, error) {
	key := database.JobKey(project.Number, id)
	payload, found, err := database.Get(txn, key, database.KindJob)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errUnknown
	}
	return decodeJob(key, payload)
}

// load reads a job. It is an empty one beside an error.
func (js *Jobs) load(project access.Project, id database.JobID) (j *job, err error) {
	err = js.db.View(func(txn *badger.Txn) error {
		j, err = js.get(txn, project, id)
		return err
	})
	if err != nil {
		return new(job), fmt.Errorf("job %s of project %q: %w", uuid.UUID(id), project.ID, err)
	}
	return j, nil
}

// change reads a job, lets fn change it, and keeps what it became, in one step. The
// caller holds mu. It is an empty job beside an error, and then nothing is changed.
func (js *Jobs) change(project access.Project, id database.JobID, fn func(*badger.Txn, *job) error) (*job, error) {
	var j *job
	var before Status
	err := js.db.Update(func(txn *badger.Txn) (err error) {
		if j, err = js.get(txn, project, id); err != nil {
			return err
		}
		before = j.Status
		if err := fn(txn, j); err != nil {
			return err
		}
		return js.save(txn, project, j)
	})
	if err != nil {
		return new(job), fmt.Errorf("job %s of project %q: %w", uuid.UUID(id), project.ID, err)
	}
	js.metrics.moved(before, j.Status)
	return j, nil
}

// take returns the prompt of the message that runs, and marks that it had a run.
func (js *Jobs) take(txn *badger.Txn, project access.Project, j *job) (prompt string, err error) {
	key := database.JobMessageKey(project.Number, j.ID, j.Next)
	var m message
	found, err := database.GetJSON(txn, key, database.KindJobMessage, &m)
	if err != nil {
		return "", err
	}
	if !found {
		return "", fmt.Errorf("message %d is not there", j.Next)
	}
	m.Ran = true
	return m.Prompt, database.SetJSON(txn, key, database.KindJobMessage, m)
}

// messages calls visit with the messages of a job from a number on.
func (js *Jobs) messages(project access.Project, id database.JobID, from uint32, visit func(message) error) error {
	return js.db.View(func(txn *badger.Txn) error {
		prefix := database.JobMessagePrefix(project.Number, id)
		start := database.JobMessageKey(project.Number, id, from)
		return database.EachFrom(txn, prefix, start, database.KindJobMessage, func(key, payload []byte) error {
			var m message
			if err := database.DecodeJSON(key, payload, &m); err != nil {
				return err
			}
			return visit(m)
		})
	})
}

// List returns jobs of a project, the newest first: those of a status, or all where
// it is empty, from offset on, at most limit. more says that others follow.
func (js *Jobs) List(project access.Project, status Status, limit, offset int) (list []Job, more bool, err error) {
	list = []Job{}
	err = js.db.View(func(txn *badger.Txn) error {
		return database.Newest(txn, database.JobPrefix(project.Number), database.KindJob, func(key, payload []byte) (bool, error) {
			j, err := decodeJob(key, payload)
			switch {
			case err != nil:
				return false, err
			case status != "" && j.Status != status:
			case offset > 0:
				offset--
			case len(list) == limit:
				more = true
				return false, nil
			default:
				list = append(list, j.told())
			}
			return true, nil
		})
	})
	if err != nil {
		return nil, false, fmt.Errorf("listing the jobs of project %q: %w", project.ID, err)
	}
	return list, more, nil
}
