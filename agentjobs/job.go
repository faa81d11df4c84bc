package agentjobs

import (
	"time"

	"github.com/google/uuid"

	"footfall/agentjobs/checkout"
	"footfall/internal/database"
)

// job is a job as the database keeps it, under its project and ID.
type job struct {
	ID         database.JobID `json:"-"`
	Status     Status         `json:"status"`
	Repository string         `json:"repository"`
	BaseRef    string         `json:"baseRef"`
	Created    time.Time      `json:"created"`
	Updated    time.Time      `json:"updated"`
	Archived   time.Time      `json:"archived,omitzero"`
	// Failure is why the last run failed, in a sentence; empty where it did not.
	Failure string `json:"failure,omitempty"`
	// Messages is how many were posted; they are numbered from 0. Next is the number
	// of the one that runs, or runs next; it is Messages when there is none.
	Messages uint32 `json:"messages"`
	Next     uint32 `json:"next"`
	result
}

// result is what the runs of a job made. Only they change it.
type result struct {
	// Model is the model of the last run.
	Model  string `json:"model"`
	Branch string `json:"branch"`
	// Branches is how many branches the job had: each pull request that was merged
	// or closed leaves the next message to a new one.
	Branches int `json:"branches"`
	// BaseCommit is the commit that the branch was made from; Stat is how far the
	// branch is from it.
	BaseCommit string        `json:"baseCommit,omitempty"`
	Stat       checkout.Stat `json:"stat,omitzero"`
	// PullRequest is the latest one; nil while there was none.
	PullRequest *pullRequest `json:"pullRequest,omitempty"`
	// Session is what the agent knows the job by, Answer what it said last.
	Session string `json:"session,omitempty"`
	Answer  string `json:"answer,omitempty"`
	// Run is how far the message Next was worked on.
	Run progress `json:"run,omitzero"`
}

type pullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Branch string `json:"branch"`
}

// progress is how far a message was worked on, for a start after a crash.
type progress struct {
	// Begun says that a run has the message now, or had it when the process ended.
	Begun bool `json:"begun,omitempty"`
	// Interruptions is how often the process ended in such a run.
	Interruptions int `json:"interruptions,omitempty"`
	// Commit is what the run committed. The agent is not asked again then: what is
	// left is to push it and to open the pull request, both of which may be repeated.
	Commit string `json:"commit,omitempty"`
}

// message is an instruction as the database keeps it.
type message struct {
	Prompt  string    `json:"prompt"`
	Created time.Time `json:"created"`
	// Ran says that it had a run. Else it waits, or was discarded.
	Ran bool `json:"ran,omitempty"`
}

// waiting is how many messages wait behind the one that runs or runs next.
func (j *job) waiting() int {
	if j.Next == j.Messages {
		return 0
	}
	return int(j.Messages - j.Next - 1)
}

// interruptionsAllowed is how often a message is taken up again after the process
// ended in its run.
const interruptionsAllowed = 1

// Job is what a client is told of a job.
type Job struct {
	ID            string        `json:"id"` // a UUID of version 7
	Status        Status        `json:"status"`
	Source        Source        `json:"source"`
	Model         string        `json:"model"`
	PRLink        *string       `json:"prLink"` // null while active, and where there is none
	CreatedAt     time.Time     `json:"createdAt"`
	ArchivedAt    *time.Time    `json:"archivedAt"`
	BaseRef       string        `json:"baseRef"`
	UpdatedAt     time.Time     `json:"updatedAt"`
	FailureReason *string       `json:"failureReason"`
	Messages      uint32        `json:"messages"`
	DiffStat      checkout.Stat `json:"diffStat"` // of the branch against where it was made
}

// Source is where a job works.
type Source struct {
	Repository string `json:"repository"`
	Ref        string `json:"ref"` // the branch that the agent works on
}

func (j *job) told() Job {
	told := Job{
		ID:        uuid.UUID(j.ID).String(),
		Status:    j.Status,
		Source:    Source{Repository: j.Repository, Ref: j.Branch},
		Model:     j.Model,
		CreatedAt: j.Created,
		BaseRef:   j.BaseRef,
		UpdatedAt: j.Updated,
		Messages:  j.Messages,
		DiffStat:  j.Stat,
	}
	if j.Status != Active && j.PullRequest != nil {
		told.PRLink = &j.PullRequest.URL
	}
	if !j.Archived.IsZero() {
		told.ArchivedAt = &j.Archived
	}
	if j.Failure != "" {
		told.FailureReason = &j.Failure
	}
	return told
}

// decodeJob reads a job from what stands under its key.
func decodeJob(key, payload []byte) (*job, error) {
	j := new(job)
	if err := database.DecodeJSON(key, payload, j); err != nil {
		return nil, err
	}
	copy(j.ID[:], key[len(key)-len(j.ID):])
	return j, nil
}
