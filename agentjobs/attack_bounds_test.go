package agentjobs_test

import (
	"testing"
	"time"

	"footfall/agentjobs"
	"footfall/agentjobs/gate"
	"footfall/agentjobs/sandbox"
)

// An agent that takes more than it may is ended with a reason, and honest work in the same job goes on under the same bounds.
func TestAttacksOnBounds(t *testing.T) {
	b := newBench(t, func(o *agentjobs.Options) {
		limits(sandbox.Limits{
			Processes: 64, MemoryBytes: 256 << 20, CPU: 3 * time.Second, DiskBytes: 16 << 20, Files: 2000, TempBytes: 8 << 20,
		})(o)
		o.Gate = gate.Limits{Requests: 5}
		o.IdleTimeout = 2 * time.Second
		o.RunTimeout = 5 * time.Second
	})
	const wait = "\nshell sleep 60"
	suffers(t, b, 1, map[string]attack{
		"processes": {prompt: script(`
double() { if [ $1 -gt 0 ]; then double $(($1-1)) & double $(($1-1)) & fi; sleep 9; }
double 10`), says: []string{"processes and threads", "64 are allowed"}},
		"memory":                {prompt: script(`perl -e '$x = "a" x (512 << 20); sleep 60'`), says: []string{"of memory", "allowed"}},
		"processor":             {prompt: script(`while :; do :; done & while :; do echo; done`), says: []string{"processor time", "allowed"}},
		"files in the home":     {prompt: script(`perl -e 'mkdir "$ENV{HOME}/$$"; for (1..3000) { symlink "x", "$ENV{HOME}/$$/$_" }'`) + wait, says: []string{"files", "2,000 are allowed"}},
		"disk of the home":      {prompt: script(`for i in 1 2 3; do head -c 12M /dev/zero > $HOME/$$$i; done`) + wait, says: []string{"added", "disk", "allowed"}},
		"disk of deleted files": {prompt: script(`perl -e 'for (1..3) { open my $f, ">d"; unlink "d"; print $f "a" x 1000 for 1..12000; push @f, $f } sleep 60'`), says: []string{"added", "disk", "allowed"}},
		"hidden directory":      {prompt: script(`mkdir -p docs/d/e; chmod 0 docs/d`) + wait, says: []string{"docs/d", "can not be measured"}},
		"silence":               {prompt: "write docs/new.md x\nwait-cancel", says: []string{"silent"}},
		"no end":                {prompt: "write docs/new.md x" + repeated("\nshell sleep 0.2", 100), says: []string{"longer than it may"}},
		"temporary files":       {prompt: script(`head -c 1G /dev/zero > /tmp/x; head -c 1G /dev/zero > /dev/shm/x; rm /tmp/x /dev/shm/x; :`)},
		"large file":            {prompt: script(`truncate -s 1T docs/large.md || truncate -s 16M docs/large.md; :`), pushed: []string{"docs/large.md"}},
		"requests":              {prompt: "write docs/new.md x" + repeated("\nmodel hello", 8) + "\nfail the answer was read", says: []string{"the answer was read"}},
	})
}

// What an agent writes beside the protocol is read and dropped, up to a bound where it
// stands in the protocol's way.
func TestAttacksByOutput(t *testing.T) {
	suffers(t, newBench(t, nil), 1, map[string]attack{
		"errors": {prompt: "stderr-bytes 1073741824"},
		"output": {prompt: "write docs/new.md x\nstdout-bytes 1073741824", says: []string{"wrote too much"}},
	})
}

func repeated(line string, times int) (text string) {
	for range times {
		text += line
	}
	return text
}
