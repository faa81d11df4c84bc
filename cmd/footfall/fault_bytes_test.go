package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/internal/store"
	"footfall/sketch"
)

// TestDamagedFiles flips one bit, or cuts the file, at random places of every
// kind of file that a kill leaves, and starts the binary on the result. It must
// either refuse to start and name the place, or refuse to answer and name the key
// in its log, or answer what an undamaged copy answers: counts, views, and who may
// ask. FOOTFALL_ROUNDS sets the number of places in each file.
func TestDamagedFiles(t *testing.T) {
	t.Run("old", func(t *testing.T) { newCrashed(t).damage(t) })
	t.Run("young", func(t *testing.T) { newYoung(t).damage(t) })
}

func (c *crashed) damage(t *testing.T) {
	whole := c.copy(t)
	want, result := c.open(t, whole)
	if result != answered {
		t.Fatalf("the undamaged copy: %s", result)
	}
	c.sent.check(t, whole)

	n := rounds(t, 1)
	seed := uint64(n)
	t.Logf("seed %d", seed)
	files := c.files(t)
	t.Logf("files: %v", files)
	for _, name := range files {
		for _, damage := range damages {
			t.Run(strings.ReplaceAll(name, "/", " ")+" "+damage.name, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(len(name))))
				outcomes := make(map[outcome]int)
				for range n {
					data := c.copy(t)
					what := damage.apply(t, filepath.Join(data, name), random)
					if what == "" {
						continue
					}
					got, result := c.open(t, data)
					outcomes[result]++
					if result == answered && !slices.Equal(got, want) {
						t.Errorf("the answers differ:\n%s", difference(got, want))
					}
					if t.Failed() {
						t.Fatal(what)
					}
					if err := os.RemoveAll(data); err != nil {
						t.Fatal(err)
					}
				}
				t.Logf("%v", outcomes)
			})
		}
	}
}

// place draws an offset: anywhere, or near the end, which was written last.
func place(random *rand.Rand, size int64) int64 {
	if random.IntN(2) == 0 {
		return random.Int64N(size)
	}
	return size - 1 - random.Int64N(min(size, 256))
}

// outcome is what becomes of a start on damaged files.
type outcome string

const (
	answered     outcome = "answered as if undamaged"
	refusedStart outcome = "did not start and named the place"
	failed       outcome = "answered with an error and named the key"
)

var damages = []struct {
	name string
	// apply damages a file and returns what it did.
	apply func(t *testing.T, name string, random *rand.Rand) string
}{
	{"flipped", func(t *testing.T, name string, random *rand.Rand) string {
		size := written(t, name)
		if size == 0 {
			return ""
		}
		offset, bit := place(random, size), byte(1)<<random.IntN(8)
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		b := make([]byte, 1)
		if _, err := file.ReadAt(b, offset); err != nil {
			t.Fatal(err)
		}
		b[0] ^= bit
		if _, err := file.WriteAt(b, offset); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s: bit %#02x of byte %d flipped, of %d written", filepath.Base(name), bit, offset, size)
	}},
	{"cut", func(t *testing.T, name string, random *rand.Rand) string {
		size := written(t, name)
		if size == 0 {
			return ""
		}
		offset := place(random, size)
		if err := os.Truncate(name, offset); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s: cut at byte %d, of %d written", filepath.Base(name), offset, size)
	}},
}

// written returns the size of a file up to its last byte that is not zero: what
// follows was reserved and not written yet.
func written(t *testing.T, name string) int64 {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1<<20)
	for end := info.Size(); end > 0; {
		begin := max(0, end-int64(len(buffer)))
		n, err := file.ReadAt(buffer[:end-begin], begin)
		if err != nil {
			t.Fatal(err)
		}
		for i := n - 1; i >= 0; i-- {
			if buffer[i] != 0 {
				return begin + int64(i) + 1
			}
		}
		end = begin
	}
	return 0
}

// crashed is a data directory as a kill left it, with what was acknowledged before:
// events in tables, in the database's own log and in ours alone.
type crashed struct {
	data    string
	key     string
	revoked string
	sent    *ledger
}

func newCrashed(t *testing.T) *crashed {
	t.Helper()
	c := &crashed{data: t.TempDir(), sent: newLedger()}
	c.key = newDocs(t, c.data)
	must(t, "project", "create", "small", "--data", c.data)
	smallKey := strings.TrimSpace(must(t, "key", "create", "--data", c.data, "--project", "small", "--scope", "ingest"))
	small := func(p *process, n int) {
		body := fmt.Sprintf(`{"path":"/%d","visitorId":"%d","traffic":"ai","timestamp":"2026-01-01T00:00:00Z"}`, n, n)
		if status, answer := request(t, "POST", p.url+"/v1/analytics/small/events", smallKey, strings.NewReader(body)); status != http.StatusAccepted {
			t.Fatalf("status %d: %s", status, answer)
		}
	}
	send := func(p *process, batches int) {
		for range batches {
			if status := c.sent.send(t.Context(), http.DefaultClient, p.url, c.key); status != http.StatusAccepted {
				t.Fatalf("a batch is answered with %d", status)
			}
		}
	}
	p := serve(t, c.data)
	send(p, 20)
	small(p, 1)
	p.stop(t)
	p = serve(t, c.data)
	send(p, 20)
	small(p, 2)
	checkpoint(t.Context(), c.data)
	send(p, 20)
	small(p, 3)
	checkpoint(t.Context(), c.data)
	c.revoke(t)
	send(p, 20)
	small(p, 4)
	p.kill(t)
	return c
}

// newYoung is one that was killed soon after its project was made by a running
// server, before any checkpoint: the project, the keys and that one was revoked
// stand in the database's own log alone.
func newYoung(t *testing.T) *crashed {
	t.Helper()
	c := &crashed{data: t.TempDir(), sent: newLedger()}
	p := serve(t, c.data)
	c.key = newDocs(t, c.data)
	c.revoke(t)
	for range 20 {
		if status := c.sent.send(t.Context(), http.DefaultClient, p.url, c.key); status != http.StatusAccepted {
			t.Fatalf("a batch is answered with %d", status)
		}
	}
	p.kill(t)
	return c
}

// revoke makes a key and revokes it.
func (c *crashed) revoke(t *testing.T) {
	t.Helper()
	c.revoked = strings.TrimSpace(must(t, "key", "create", "--data", c.data, "--project", "docs", "--scope", "read"))
	for line := range strings.Lines(must(t, "key", "list", "--data", c.data)) {
		if strings.Contains(line, "read") {
			must(t, "key", "revoke", strings.Fields(line)[0], "--data", c.data)
		}
	}
}

// files returns the names of all files, within the data directory.
func (c *crashed) files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(c.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(c.data, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// copy copies the directory with the holes of its files.
func (c *crashed) copy(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if out, err := exec.Command("cp", "-r", c.data, data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return data
}

// open starts the binary on a data directory and returns what it answers.
func (c *crashed) open(t *testing.T, data string) (answers []string, _ outcome) {
	t.Helper()
	cmd := exec.Command(binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	p := launch(t, cmd)
	serves := make(chan string, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go p.log.watch(ctx, `Footfall serves\." address=(\S+)`, serves)
	select {
	case err := <-p.done:
		p.done <- err
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("the process ended with %v:\n%.4000s", err, p.log)
		}
		if text := p.log.String(); !strings.Contains(text, data) && !strings.Contains(text, "key") {
			t.Errorf("what it says at its end names no place:\n%.4000s", text)
		}
		return nil, refusedStart
	case address := <-serves:
		p.url = "http://" + address
	case <-ctx.Done():
		t.Fatalf("it neither starts nor ends:\n%.4000s", p.log)
	}
	ask := func(path, key string) int {
		status, answer := request(t, "GET", p.url+path, key, nil)
		answers = append(answers, fmt.Sprint(path, " ", status, " ", answer))
		return status
	}
	for _, path := range []string{"docs/visitors?limit=250", "docs/visitors?limit=250&dateFrom=2026-01-01&dateTo=2026-01-08"} {
		if status := ask("/v1/analytics/"+path, c.key); status == http.StatusInternalServerError {
			if text := p.log.String(); !strings.Contains(text, "key") {
				t.Errorf("an error names no key:\n%.4000s", text)
			}
			p.kill(t)
			return nil, failed
		}
	}
	ask("/v1/analytics/docs/visitors", c.revoked)
	p.kill(t)

	a, err := openApp(appOptions{data: data, now: time.Now, logger: discard()})
	if err != nil {
		t.Errorf("it does not open a second time: %v", err)
		return nil, refusedStart
	}
	for _, id := range []string{"docs", "small"} {
		project, found := a.registry.Project(id)
		ranking, err := store.Rank(t.Context(), a.store, project.Number, sketch.AllDays())
		if err != nil {
			t.Logf("an export fails: %v", err)
			_ = a.close()
			return nil, failed
		}
		answers = append(answers, fmt.Sprint(id, " ", found, " ", ranking.Totals, " ", ranking.Rows))
	}
	if err := a.close(); err != nil {
		t.Error(err)
	}
	return answers, answered
}

// difference shows the first of two lists of answers that differ.
func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%.300s\nwant\n%.300s", got[i], want[i])
		}
	}
	return fmt.Sprintf("%d answers, want %d", len(got), len(want))
}
