package agentjobs_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/agentjobs"
	"footfall/internal/database"
)

const keyHeader = "Idempotency-Key"

// A request that is repeated is answered as the first was, byte for byte, and done once.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	release := b.hold()
	first := b.do(http.MethodPost, "/job", prompt("write docs/new.md hello"), keyHeader, `"a-key"`)
	j := b.want(first, http.StatusCreated)
	again := func(path string, want answer, key string, body string) {
		t.Helper()
		a := b.do(http.MethodPost, path, body, keyHeader, key)
		if a.status != want.status || a.text != want.text || a.header.Get("Content-Type") != want.header.Get("Content-Type") {
			t.Errorf("again: %d %s, want %d %s", a.status, a.text, want.status, want.text)
		}
	}
	// With and without quotes it is the same key.
	again("/job", first, "a-key", prompt("write docs/new.md hello"))
	path := "/job/" + j.ID + "/message"
	second := b.do(http.MethodPost, path, prompt("append docs/new.md more"), keyHeader, "a-key")
	if b.want(second, http.StatusOK).Messages != 2 {
		t.Error("a key is not for one route alone")
	}
	again(path, second, "a-key", prompt("append docs/new.md more"))
	other := b.post("say hello")
	b.want(b.do(http.MethodPost, "/job/"+other.ID+"/message", prompt("append docs/new.md more"), keyHeader, "a-key"), http.StatusOK)
	if b.job(other.ID).Messages != 2 {
		t.Error("a key is not for one job alone")
	}
	// Another body.
	for _, body := range []string{prompt("else"), prompt("write docs/new.md hello") + " "} {
		b.refused(b.do(http.MethodPost, "/job", body, keyHeader, "a-key"), http.StatusUnprocessableEntity)
	}
	b.refused(b.do(http.MethodPost, path, prompt("else"), keyHeader, "a-key"), http.StatusUnprocessableEntity)
	release()
	if j = b.await(j.ID); j.Status != agentjobs.Completed || j.Messages != 2 {
		t.Errorf("the job ended as %+v", j)
	}
	// The answer is the first one's, whatever became of the job.
	again("/job", first, "a-key", prompt("write docs/new.md hello"))
	b.want(b.do(http.MethodPost, "/job/"+j.ID+"/archive", ""), http.StatusOK)
	again(path, second, "a-key", prompt("append docs/new.md more"))
	b.Close()
	b.open()
	again("/job", first, "a-key", prompt("write docs/new.md hello"))
	again(path, second, "a-key", prompt("append docs/new.md more"))
	if page := b.page(b.do(http.MethodGet, "/jobs", "")); len(page.Jobs) != 2 {
		t.Errorf("there are %d jobs", len(page.Jobs))
	}
}

func TestIdempotencyKeyIsTheProjects(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	b.addOther()
	mine := b.want(b.do(http.MethodPost, "/job", prompt("say mine"), keyHeader, "k"), http.StatusCreated)
	header := bearer(b.newKey("admin", "other"))
	header.Set(keyHeader, "k")
	theirs := b.want(b.send(http.MethodPost, "/v2/agent/other/job", prompt("say theirs"), header), http.StatusCreated)
	if mine.ID == theirs.ID {
		t.Error("one project got another's job")
	}
	// It is read only where the API key covers the project.
	header.Set("Authorization", "Bearer nothing")
	b.refused(b.send(http.MethodPost, "/v2/agent/other/job", prompt("say theirs"), header), http.StatusUnauthorized)
}

func TestMalformedIdempotencyKeys(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	job := b.post("say hello").ID
	for _, path := range []string{"/job", "/job/" + job + "/message"} {
		for _, key := range []string{"", " ", "a b", `"a`, `"a"b"`, `""`, `"\x"`, "é", "a\x7f", strings.Repeat("k", 256)} {
			header := bearer(b.key)
			header[keyHeader] = []string{key}
			if says := b.refused(b.send(http.MethodPost, "/v2/agent/docs"+path, prompt("say no"), header), http.StatusBadRequest); !strings.Contains(says, keyHeader) {
				t.Errorf("%q: %s", key, says)
			}
		}
		header := bearer(b.key)
		header[keyHeader] = []string{"a", "b"}
		b.refused(b.send(http.MethodPost, "/v2/agent/docs"+path, prompt("say no"), header), http.StatusBadRequest)
	}
	if got := b.job(job).Messages; got != 1 {
		t.Errorf("the job has %d messages", got)
	}
}

// Of requests at once with one key, one is done; the others get its answer, or are
// told that it is being answered.
func TestIdempotencyKeyAtOnce(t *testing.T) {
	b := newBench(t, nil)
	b.hold()
	var mu sync.Mutex
	var created []string
	var requests sync.WaitGroup
	for range 40 {
		requests.Go(func() {
			a := b.do(http.MethodPost, "/job", prompt("say once"), keyHeader, "k")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.status == http.StatusCreated:
				created = append(created, a.text)
			case a.status == http.StatusConflict && a.header.Get("Retry-After") == "1":
			default:
				t.Errorf("status %d: %s", a.status, a.text)
			}
		})
	}
	requests.Wait()
	if len(created) == 0 {
		t.Fatal("none was done")
	}
	for _, text := range created {
		if text != created[0] {
			t.Errorf("one got %s, another %s", created[0], text)
		}
	}
	if page := b.page(b.do(http.MethodGet, "/jobs", "")); len(page.Jobs) != 1 {
		t.Errorf("there are %d jobs", len(page.Jobs))
	}
}

// What was refused is not remembered: it may be repeated when it is put right.
func TestErrorsAreNotRemembered(t *testing.T) {
	b := newBench(t, func(o *agentjobs.Options) { o.RunsPerHour = 1 })
	b.hold()
	b.refused(b.do(http.MethodPost, "/job", prompt(" "), keyHeader, "k"), http.StatusBadRequest)
	b.post("say hello")
	b.refused(b.do(http.MethodPost, "/job", prompt("say once"), keyHeader, "k"), http.StatusTooManyRequests)
	b.setClock(time.Now().Add(2 * time.Hour))
	j := b.want(b.do(http.MethodPost, "/job", prompt("say another"), keyHeader, "k"), http.StatusCreated)
	b.want(b.do(http.MethodPost, "/job/"+j.ID+"/cancel", ""), http.StatusOK)
	b.want(b.do(http.MethodPost, "/job/"+j.ID+"/archive", ""), http.StatusOK)
	b.refused(b.do(http.MethodPost, "/job/"+j.ID+"/message", prompt("say more"), keyHeader, "m"), http.StatusConflict)
	if got := len(b.keys(database.JobReceiptPrefix(b.project.Number))); got != 1 {
		t.Errorf("%d keys are remembered", got)
	}
}

// After 48 hours a key is forgotten, whether or not the sweep has come by.
func TestIdempotencyKeyIsForgotten(t *testing.T) {
	for name, sweep := range map[string]time.Duration{"before the sweep": time.Hour, "by the sweep": 10 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *agentjobs.Options) { o.SweepEvery = sweep })
			b.hold()
			begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			b.setClock(begin)
			first := b.want(b.do(http.MethodPost, "/job", prompt("say once"), keyHeader, "k"), http.StatusCreated)
			b.setClock(begin.Add(48*time.Hour - time.Millisecond))
			if again := b.want(b.do(http.MethodPost, "/job", prompt("say once"), keyHeader, "k"), http.StatusCreated); again.ID != first.ID {
				t.Error("the key was forgotten early")
			}
			b.setClock(begin.Add(48 * time.Hour))
			if sweep < time.Hour {
				b.until("the sweep forgets the key", func() bool { return len(b.keys(database.JobReceiptPrefix(b.project.Number))) == 0 })
			}
			if again := b.want(b.do(http.MethodPost, "/job", prompt("say else"), keyHeader, "k"), http.StatusCreated); again.ID == first.ID {
				t.Error("the key was not forgotten")
			}
		})
	}
}
