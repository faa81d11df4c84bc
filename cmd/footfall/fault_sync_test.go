package main

import (
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// failingSync fails with EIO while a file exists, and then syncs again as if
// nothing had been: what Linux does after a failed write-back.
const failingSync = `package commitlog

import (
	"os"

	"golang.org/x/sys/unix"
)

func syncData(f *os.File) error {
	if _, err := os.Stat(os.Getenv("FAIL_SYNC_WHILE")); err == nil {
		return unix.EIO
	}
	return unix.Fdatasync(int(f.Fd()))
}
`

// TestFailedSync: after a sync of the log failed once, nothing is acknowledged
// until a restart, also when the syncs that follow would succeed. What was
// acknowledged before is there after it, and answers are given throughout.
func TestFailedSync(t *testing.T) {
	mutant := buildWithSync(t, failingSync)
	data := t.TempDir()
	key := newDocs(t, data)
	trigger := filepath.Join(t.TempDir(), "fail")
	sent := newLedger()
	n := rounds(t, 2)
	random := rand.New(rand.NewPCG(3, uint64(n)))
	for round := range n {
		cmd := exec.Command(mutant, "serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), "FAIL_SYNC_WHILE="+trigger)
		p := start(t, cmd)
		_, acked, refused := sent.count(http.StatusServiceUnavailable)
		wait := sent.load(t.Context(), p.url, key, 4)
		sent.await(t, http.StatusAccepted, acked+1+random.IntN(300))
		write(t, trigger, "")
		sent.await(t, http.StatusServiceUnavailable, refused+1)
		if err := os.Remove(trigger); err != nil {
			t.Fatal(err)
		}
		// A batch that was on its way may still have been answered before the
		// failure; one that is sent from here on may not.
		_, _, refused = sent.count(http.StatusServiceUnavailable)
		sent.await(t, http.StatusServiceUnavailable, refused+5)
		_, acked, _ = sent.count(0)
		sent.await(t, http.StatusServiceUnavailable, refused+50)
		if _, after, _ := sent.count(0); after != acked {
			t.Errorf("%d batches were acknowledged after the sync had failed", after-acked)
		}
		for _, base := range []string{p.url, p.metrics} {
			if status, body := request(t, "GET", base+"/readyz", "", nil); status != http.StatusServiceUnavailable {
				t.Errorf("%s/readyz answers %d: %s", base, status, body)
			}
			if status, body := request(t, "GET", base+"/healthz", "", nil); status != http.StatusOK {
				t.Errorf("%s/healthz answers %d: %s", base, status, body)
			}
		}
		if status, body := request(t, "GET", p.url+"/v1/analytics/docs/visitors", key, nil); status != http.StatusOK {
			t.Errorf("an export answers %d: %s", status, body)
		}
		if text := p.log.String(); !strings.Contains(text, "Nothing more is acknowledged until a restart.") || !strings.Contains(text, "input/output error") {
			t.Errorf("the log does not say why:\n%s", text)
		}
		if round%2 == 0 {
			p.kill(t)
		} else {
			p.terminate(t)
		}
		wait()
		sent.check(t, data)
	}
	// With the sound binary it goes on.
	p := serve(t, data)
	if status := sent.send(t.Context(), http.DefaultClient, p.url, key); status != http.StatusAccepted {
		t.Errorf("after a restart a batch is answered with %d", status)
	}
	p.stop(t)
	sent.check(t, data)
}
