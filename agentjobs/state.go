package agentjobs

// Status is the state of a job.
type Status string

// The states.
const (
	Active    Status = "active"    // a message of it runs or waits
	Completed Status = "completed" // the last run ended well
	Failed    Status = "failed"    // the last run did not; the job says why
	Archived  Status = "archived"  // nothing more comes
)

var statuses = []Status{Active, Completed, Failed, Archived}

// happening is what may happen to a job.
type happening string

const (
	// messagePosted: a client posted a message. The first one makes the job.
	messagePosted happening = "message"
	// runsEnded: a run ended well, and no message waits.
	runsEnded happening = "end"
	// runFailed: a run ended with an error, a deadline, or a refused push or pull
	// request. Messages that wait are discarded.
	runFailed happening = "failure"
	// cancelAsked: a client cancelled. It is a failure of a job that is active.
	cancelAsked happening = "cancel"
	// archiveAsked: a client archived.
	archiveAsked happening = "archive"
	// archiveDue: nothing happened to the job for long.
	archiveDue happening = "age"
)

// transitions is the one table of states: what a happening makes of a job in a
// state. docs/agentjobs.md has the same table, and a test compares them. A state
// that is left out means that it is refused.
var transitions = map[happening]map[Status]Status{
	messagePosted: {Active: Active, Completed: Active, Failed: Active},
	runsEnded:     {Active: Completed},
	runFailed:     {Active: Failed},
	cancelAsked:   {Active: Failed, Completed: Completed, Failed: Failed, Archived: Archived},
	archiveAsked:  {Completed: Archived, Failed: Archived, Archived: Archived},
	archiveDue:    {Completed: Archived, Failed: Archived},
}

// after returns the state of a job after a happening. allowed is false for one that
// its state refuses.
func (s Status) after(h happening) (next Status, allowed bool) {
	next, allowed = transitions[h][s]
	return next, allowed
}
