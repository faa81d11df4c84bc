package agentjobs_test

import (
	"testing"

	"footfall/agentjobs"
	"footfall/internal/database"
)

// Deleting a project ends what runs for it, and leaves nothing.
func TestDeleteProject(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *agentjobs.Options) { o.Concurrent = 1 })
	running := b.post("say here it is\nwait-cancel")
	b.post("say I wait")
	b.until("the agent works", func() bool { return b.said(running.ID, "here it is") })
	if len(b.keys(database.JobsPrefix(b.project.Number))) < 5 || len(b.copies()) < 2 {
		t.Fatalf("there is too little to delete: %q, %q", b.keys(database.JobsPrefix(b.project.Number)), b.copies())
	}
	if _, err := b.registry.DeleteProject("docs"); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteProject(b.project); err != nil {
		t.Fatal(err)
	}
	fetches := len(b.git.Requests())
	// Close waits for whatever was begun meanwhile.
	b.Close()
	if keys := b.keys(database.AllJobsPrefix()); len(keys) > 0 {
		t.Errorf("the database still has %q", keys)
	}
	if left := b.copies(); len(left) > 0 {
		t.Errorf("on the disk there is still %q", left)
	}
	if more := len(b.git.Requests()) - fetches; more > 0 {
		t.Errorf("the repository was asked %d times for a project that is gone", more)
	}
	if tips := b.git.Branches(repository); len(tips) != 1 {
		t.Errorf("the repository has the branches %q", tips)
	}
}

// What a project left because the process ended while it was deleted goes at the
// next start.
func TestStartForgetsDeletedProjects(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	b.post("say hello")
	b.Close()
	if _, err := b.registry.DeleteProject("docs"); err != nil {
		t.Fatal(err)
	}
	b.open()
	if keys := b.keys(database.AllJobsPrefix()); len(keys) > 0 {
		t.Errorf("the database still has %q", keys)
	}
	b.until("nothing is left on the disk", func() bool { return len(b.copies()) == 0 })
}
