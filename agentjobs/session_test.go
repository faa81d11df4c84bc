package agentjobs_test

import (
	"slices"
	"strings"
	"testing"

	"footfall/agentjobs"
)

// A follow-up goes on with the agent's session.
func TestSessionGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	j := b.await(b.post("remember the colour blue\nsay noted").ID)
	b.message(j.ID, "recall")
	if j = b.await(j.ID); j.Status != agentjobs.Completed || !b.said(j.ID, "remembered: the colour blue") {
		t.Errorf("the job ended as %+v: %s, %+v", j, reason(j), b.lines(j.ID))
	}
	// What the agent repeats as it loads the session is no news.
	if said := b.count(j.ID, "noted"); said != 1 {
		t.Errorf("the log has what the agent said %d times", said)
	}
	// The session also outlasts a run that failed, and the service.
	b.message(j.ID, "remember the number seven\nwrite .git/x y")
	if failed := b.await(j.ID); failed.Status != agentjobs.Failed {
		t.Errorf("the job ended as %+v", failed)
	}
	b.Close()
	b.open()
	b.message(j.ID, "recall")
	if j = b.await(j.ID); j.Status != agentjobs.Completed || !b.said(j.ID, "remembered: the colour blue, the number seven") {
		t.Errorf("the job ended as %+v: %s, %+v", j, reason(j), b.lines(j.ID))
	}
}

// An agent that can not load sessions is told what went before, and how it is to work.
func TestNewSessionGetsSummary(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.set(func(s *agentjobs.Settings) {
		agentArgv(t, testAgent, "-no-load")(s)
		s.DocsPath = "docs"
	})
	j := b.await(b.post("Please describe the installer\nsay I described it.").ID)
	before := len(b.lines(j.ID))
	b.message(j.ID, "Please describe the rest")
	if j = b.await(j.ID); j.Status != agentjobs.Completed {
		t.Fatalf("the job ended as %+v: %s", j, reason(j))
	}
	var told strings.Builder // It says back what it does not understand.
	for _, l := range b.lines(j.ID)[before:] {
		told.WriteString(l.Text + "\n")
	}
	for _, text := range []string{"You were asked:\n- Please describe the installer\n", "You said last: ", "only files in docs", "Do not use git", "Please describe the rest\n"} {
		if !strings.Contains(told.String(), text) {
			t.Errorf("the agent was not told %q: %s", text, told.String())
		}
	}
	if strings.Contains(told.String(), "- Please describe the rest") {
		t.Errorf("the new message is in the summary too: %s", told.String())
	}
}

func (b *bench) count(id, text string) (n int) {
	for _, l := range b.lines(id) {
		if strings.Contains(l.Text, text) {
			n++
		}
	}
	return n
}

// What the model says of the key, the agent may tell; the key itself never comes so far.
func TestModelRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.secret("key", "a-key-that-the-model-does-not-know")
	j := b.await(b.post("model hello\nenv OPENAI_API_KEY\nshell cat /proc/1/environ /proc/self/environ; ls -R /run /etc; true").ID)
	lines := b.do("GET", "/job/"+j.ID+"/log", "").text
	if !strings.Contains(lines, "the model answered 401") || strings.Contains(lines, "a-key-that") || strings.Contains(lines, forgeToken) {
		t.Errorf("the job ended as %+v: %s", j, lines)
	}
	// The key is read at each use.
	b.secret("key", modelKey)
	b.message(j.ID, "model hello")
	if b.await(j.ID); !b.said(j.ID, "A title") {
		t.Errorf("the model did not answer: %+v", b.lines(j.ID))
	}
	if keys := b.modelKeys(); !slices.Equal(keys, []string{"a-key-that-the-model-does-not-know", modelKey}) {
		t.Errorf("the model got the keys %q", keys)
	}
}

func (b *bench) modelKeys() (keys []string) {
	for _, r := range b.model.Requests() {
		keys = append(keys, r.Key())
	}
	return keys
}
