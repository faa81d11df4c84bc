package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSyncBeforeAnswer traces the system calls of the real binary: between the
// write of a batch to the log and the write of its 202 there must be a sync of
// the log that began after the one and ended before the other. SIGKILL keeps the
// page cache, so no test that kills can see a missing sync.
func TestSyncBeforeAnswer(t *testing.T) {
	trace := traceAnswer(t, binary)
	if err := checkSync(trace); err != nil {
		t.Errorf("%v\n%s", err, trace)
	}
}

// TestSyncTakenOut holds the test above to its word: it must fail with the sync
// taken out of the binary.
func TestSyncTakenOut(t *testing.T) {
	mutant := buildWithSync(t, "package commitlog\n\nimport \"os\"\n\nfunc syncData(*os.File) error { return nil }\n")
	trace := traceAnswer(t, mutant)
	if err := checkSync(trace); err == nil {
		t.Errorf("the trace of a binary that does not sync passed:\n%s", trace)
	}
}

// buildWithSync builds the binary with another source of the log's sync.
func buildWithSync(t *testing.T, text string) (mutant string) {
	t.Helper()
	source, err := filepath.Abs("../../internal/commitlog/sync_linux.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	other := filepath.Join(dir, "sync.go")
	write(t, other, text)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: other}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	mutant = filepath.Join(dir, "footfall")
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", mutant, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("building with another sync: %v\n%s", err, out)
	}
	return mutant
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// traceAnswer posts events to a traced server and returns the trace from the
// last of them.
func traceAnswer(t *testing.T, program string) string {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal("strace is missing; make test installs it")
	}
	data := t.TempDir()
	key := newDocs(t, data)
	trace := filepath.Join(t.TempDir(), "trace")
	p := start(t, exec.Command("strace", "-f", "-y", "-s", "64", "-o", trace,
		"-e", "trace=pwrite64,pwritev,pwritev2,write,writev,fdatasync,fsync,sync_file_range,sendto,sendmsg", "-e", "signal=none",
		program, "serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"))
	// Only the answer to the last one is looked at: the first use of a key is
	// written to the database, and the first record makes a segment.
	for i := range 3 {
		event := fmt.Sprintf(`{"path":"/","visitorId":"%d","traffic":"ai"}`, i)
		status, body := request(t, "POST", p.url+"/v1/analytics/docs/events", key, strings.NewReader(event))
		if status != 202 {
			t.Fatalf("status %d: %s", status, body)
		}
	}
	// Strace passes no signal on, so the server itself is told to stop.
	if err := exec.Command("pkill", "-TERM", "-P", fmt.Sprint(p.cmd.Process.Pid)).Run(); err != nil {
		t.Fatal(err)
	}
	p.wait(t, nil)
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	logWrite  = regexp.MustCompile(`p?write\w*\(\d+<[^>]*/log/[^>]*\.log>`)
	logSync   = regexp.MustCompile(`f(data)?sync\(\d+<[^>]*/log/[^>]*\.log>`)
	answer202 = regexp.MustCompile(`write\(\d+<[^>]*>, "HTTP/1\.1 202`)
)

// checkSync reads a trace backwards from the last 202: it must find the end of a
// sync of the log, then its beginning, before it finds a write to the log.
func checkSync(trace string) error {
	var calls []string
	for line := range strings.Lines(trace) {
		calls = append(calls, line)
	}
	last := -1
	for i, call := range calls {
		if answer202.MatchString(call) {
			last = i
		}
	}
	if last < 0 {
		return fmt.Errorf("the trace holds no answer")
	}
	var resumed []string // threads in which a sync ended
	for i := last - 1; i >= 0; i-- {
		call := calls[i]
		thread, _, _ := strings.Cut(call, " ")
		switch {
		case strings.Contains(call, "sync resumed>") && strings.Contains(call, "= 0"):
			resumed = append(resumed, thread)
		case logSync.MatchString(call) && strings.Contains(call, "unfinished"):
			for _, other := range resumed {
				if other == thread {
					return nil
				}
			}
		case logSync.MatchString(call) && strings.Contains(call, "= 0"):
			return nil
		case logWrite.MatchString(call):
			return fmt.Errorf("the log was written and not synced before the answer: %s", call)
		}
	}
	return fmt.Errorf("the trace holds no write to the log before the answer")
}
