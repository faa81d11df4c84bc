package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"footfall/agentjobs"
)

// TestAgentFullDisk fills the disk while an agent works. What its run comes to can not
// be kept then: the job stays active, and ends once there is room, without a restart.
func TestAgentFullDisk(t *testing.T) {
	if os.Getenv(insideNamespace) == "" {
		inNamespace(t)
		return
	}
	dir := mount(t, diskSize)
	t.Setenv("TMPDIR", dir)
	t.Run("while an agent works", func(t *testing.T) { fillDiskUnderAgent(t, dir) })
}

func fillDiskUnderAgent(t *testing.T, dir string) {
	s := newStage(t)
	p := s.serve("--agent-disk", "16MiB")
	j := s.post(p, "model hold full", "fail for a reason of its own")
	s.held.await(t, "full", p)
	release := fill(t, dir, 64)
	s.held.release("full")
	p.log.find(t, "What a run of an agent job came to was not kept", p.done)
	if j = s.job(p, j.ID); j.Status != agentjobs.Active {
		t.Errorf("on the full disk the job is %+v", j)
	}
	if status, answer := s.do(p, http.MethodPost, "/job", `{"prompt": "say hello"}`); status != http.StatusServiceUnavailable {
		t.Errorf("on the full disk a prompt is answered with %d: %s", status, answer)
	}
	release()
	if j = s.await(p, j.ID); j.Status != agentjobs.Failed || !strings.Contains(*j.FailureReason, "a reason of its own") {
		t.Errorf("with room again the job ended as %+v", j)
	}
	s.once(s.await(p, s.post(p, "write docs/new.md hello").ID), 1)
	p.stop(t)
}
