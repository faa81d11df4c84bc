package agentjobs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/uuid"

	"footfall/agentjobs"
	"footfall/internal/database"
)

// A start takes up what waited, in its order, and what ran; a stop is no failure.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *agentjobs.Options) { o.Concurrent = 1 })
	settings, _, err := b.Settings(b.project)
	if err != nil {
		t.Fatal(err)
	}
	done := b.await(b.post("write docs/done.md done").ID)
	// It waits in its first run and goes on in its second: HOME is kept.
	ran := b.post("write docs/ran.md half\nshell test -e $HOME/again || { touch $HOME/again; echo first; sleep 600; }\nappend docs/ran.md whole")
	b.until("the agent waits", func() bool {
		_, err := os.Stat(filepath.Join(b.options.Dir, ran.ID, "home", "again"))
		return err == nil
	})
	jobs := []string{ran.ID}
	for range 4 {
		jobs = append(jobs, b.post("say hello").ID)
	}
	b.message(jobs[1], "say more")
	// Jobs of all projects are in one order.
	other := projectOf(t, b, "another")
	if _, err := b.SetSettings(other, settings); err != nil {
		t.Fatal(err)
	}
	elsewhere := bearer(b.newKey("admin", "another"))
	theirs := b.want(b.send("POST", "/v2/agent/another/job", prompt("say hello"), elsewhere), 201)
	cancelled := b.post("say no")
	b.do("POST", "/job/"+cancelled.ID+"/cancel", "")
	b.Close()
	b.open()

	if again, found, err := b.Settings(b.project); err != nil || !found || again != settings {
		t.Errorf("the settings are %+v, %v; they were %+v", again, err, settings)
	}
	if is := b.job(done.ID); b.told(done.ID) == "" || is.Status != agentjobs.Completed || *is.PRLink != *done.PRLink {
		t.Errorf("what was done is now %+v", is)
	}
	if is := b.job(cancelled.ID); is.Status != agentjobs.Failed {
		t.Errorf("what was cancelled is now %+v", is)
	}
	var last time.Time
	for _, id := range jobs {
		j := b.await(id)
		if j.Status != agentjobs.Completed {
			t.Fatalf("the job ended as %+v: %s", j, reason(j))
		}
		if id != jobs[1] && j.UpdatedAt.Before(last) { // That one had a second turn.
			t.Errorf("job %s ended before the one that came before it", id)
		}
		last = j.UpdatedAt
		if id == jobs[1] {
			last = time.Time{}
		}
	}
	b.until("the other project's job has run", func() bool {
		theirs = b.want(b.send("GET", "/v2/agent/another/job/"+theirs.ID, "", elsewhere), 200)
		return theirs.Status == agentjobs.Completed
	})
	if theirs.UpdatedAt.Before(last) {
		t.Error("the other project's job ended before those that came before it")
	}
	if j := b.job(jobs[1]); j.Messages != 2 || !b.said(j.ID, "more") {
		t.Errorf("the job with a message that waited is %+v", j)
	}
	ran = b.job(ran.ID)
	if got := b.git.Read(repository, ran.Source.Ref, "docs/ran.md"); got != "half\nwhole\n" {
		t.Errorf("the file is %q", got)
	}
	if !b.said(ran.ID, "The service stops. The run begins again when it is back.") {
		t.Errorf("the log does not say that the service stopped: %+v", b.lines(ran.ID))
	}
	if pulls := b.forge.Pulls(); len(pulls) != 2 {
		t.Errorf("the pull requests are %+v", pulls)
	}
}

// Stopping in the middle of a run any number of times is no interruption by the job.
func TestManyRestarts(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	release := b.hold()
	j := b.post("write docs/new.md hello")
	for range 4 {
		b.until("the run begins", func() bool { return strings.Count(b.do("GET", "/job/"+j.ID+"/log", "").text, "The run begins") > 0 })
		b.Close()
		b.open()
	}
	release()
	if j = b.await(j.ID); j.Status != agentjobs.Completed || len(b.forge.Pulls()) != 1 {
		t.Errorf("the job ended as %+v: %s", j, reason(j))
	}
}

// A start removes what a process that was killed left in the directory, and nothing
// that is a job's.
func TestStartRemovesLeftovers(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("write docs/new.md hello").ID)
	b.Close()
	for _, name := range []string{"01a1ffd5-9d51-7142-b309-481b0ab620e7", "b309481b0ab620e7.sock", "check-123", "check-123.sock"} {
		if err := os.MkdirAll(filepath.Join(b.options.Dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.open()
	b.until("only the job's directory is left", func() bool { return slices.Equal(b.copies(), []string{j.ID}) })
}

// A run that the end of the process interrupted is taken up again once.
func TestInterruptedRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	release := b.hold()
	j := b.post("write docs/new.md hello")
	b.message(j.ID, "say more")
	b.until("the run begins", func() bool { return b.said(j.ID, "The run begins") })
	b.Close()
	b.interrupt(j.ID)
	b.open()
	if is := b.job(j.ID); is.Status != agentjobs.Active {
		t.Fatalf("after one interruption the job is %+v: %s", is, reason(is))
	}
	b.Close()
	b.interrupt(j.ID)
	b.open()
	release()
	is := b.job(j.ID)
	if is.Status != agentjobs.Failed || reason(is) != "interrupted" || !b.said(j.ID, "interrupted") {
		t.Fatalf("after two interruptions the job is %+v: %s", is, reason(is))
	}
	if branches := b.git.Branches(repository); len(branches) != 1 {
		t.Errorf("the repository has the branches %q", branches)
	}
	// The next message begins to count anew.
	b.message(j.ID, "write docs/new.md hello")
	b.Close()
	b.interrupt(j.ID)
	b.open()
	if is := b.await(j.ID); is.Status != agentjobs.Completed || is.Messages != 3 {
		t.Errorf("the job ended as %+v: %s", is, reason(is))
	}
}

// interrupt makes the record of a job what it is while it runs, as it stays when the
// process is killed.
func (b *bench) interrupt(id string) {
	b.t.Helper()
	key := database.JobKey(b.project.Number, database.JobID(uuid.MustParse(id)))
	err := b.options.Database.Update(func(txn *badger.Txn) error {
		var record map[string]any
		if found, err := database.GetJSON(txn, key, database.KindJob, &record); err != nil || !found {
			b.t.Fatalf("job %s: %v, %v", id, found, err)
		}
		run, is := record["run"].(map[string]any)
		if !is {
			run = make(map[string]any)
		}
		run["begun"] = true
		record["run"] = run
		return database.SetJSON(txn, key, database.KindJob, record)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
