package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// sendEvents sends events and returns the answer with its body read.
func sendEvents(t testing.TB, url, key string, body io.Reader, header map[string]string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url+"/v1/analytics/docs/events", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/x-ndjson")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// TestRetries sends batches with idempotency keys to the real binary, kills it, and
// sends them again: each is answered as before, to the byte, and counts once.
func TestRetries(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	p := serve(t, data)
	const batches = 30
	body := func(n int) string {
		good := fmt.Sprintf(`{"path":"/%d","visitorId":"v","traffic":"human","timestamp":"2026-01-01T00:00:00Z"}`, n)
		return strings.Repeat(good+"\n", 1+n%3) + strings.Repeat("bad\n", n%4)
	}
	packed := func(n int) io.Reader {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := io.WriteString(w, body(n)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return &out
	}
	var answers [batches]string
	for n := range batches {
		response, text := sendEvents(t, p.url, key, strings.NewReader(body(n)), map[string]string{"Idempotency-Key": fmt.Sprintf(`"batch-%d"`, n)})
		if response.StatusCode != http.StatusAccepted {
			t.Fatalf("batch %d: status %d: %s", n, response.StatusCode, text)
		}
		answers[n] = text
	}
	again := func() {
		t.Helper()
		for n := range batches {
			header := map[string]string{"Idempotency-Key": fmt.Sprintf("batch-%d", n)}
			if response, text := sendEvents(t, p.url, key, strings.NewReader(body(n)), header); response.StatusCode != http.StatusAccepted || text != answers[n] {
				t.Errorf("batch %d again: status %d: %s, want %s", n, response.StatusCode, text, answers[n])
			}
			if response, text := sendEvents(t, p.url, key, strings.NewReader(body(n+1)), header); response.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("another body for batch %d: status %d: %s", n, response.StatusCode, text)
			}
			header["Content-Encoding"] = "gzip"
			if response, text := sendEvents(t, p.url, key, packed(n), header); response.StatusCode != http.StatusAccepted || text != answers[n] {
				t.Errorf("batch %d as gzip: status %d: %s, want %s", n, response.StatusCode, text, answers[n])
			}
		}
	}
	again()
	p.kill(t)
	p = serve(t, data)
	again()

	// One key, 20 clients, and the power goes before all have their answers.
	var clients sync.WaitGroup
	var mu sync.Mutex
	var told []string
	concurrent := map[string]string{"Idempotency-Key": "concurrent"}
	for range 20 {
		clients.Go(func() {
			response, text := sendEvents(t, p.url, key, strings.NewReader(body(1000)), concurrent)
			mu.Lock()
			defer mu.Unlock()
			if told = append(told, text); response.StatusCode != http.StatusAccepted || text != told[0] {
				t.Errorf("one of many: status %d: %s, want %s", response.StatusCode, text, told[0])
			}
		})
	}
	clients.Wait()
	p.kill(t)
	p = serve(t, data)
	if _, text := sendEvents(t, p.url, key, strings.NewReader(body(1000)), concurrent); text != told[0] {
		t.Errorf("after a restart: %s, want %s", text, told[0])
	}
	again()
	p.stop(t)

	a := openTest(t, data)
	defer func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	}()
	want := map[string]uint64{"/1000": 1 + 1000%3}
	for n := range batches {
		want[fmt.Sprintf("/%d", n)] = uint64(1 + n%3)
	}
	for path, views := range viewsByPath(t, a) {
		if views != want[path] {
			t.Errorf("%s has %d views, want %d", path, views, want[path])
		}
		delete(want, path)
	}
	if len(want) > 0 {
		t.Errorf("there are no rows of %v", want)
	}
}

// TestKeysExpire: a key is known for 48 hours by the server's clock, over restarts,
// and is a new one after that.
func TestKeysExpire(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	var c clock
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, at := range []struct {
		after time.Duration
		body  string // events it has
		known bool   // what was sent first
	}{
		{0, "1", false},
		{time.Hour, "1", true},
		{48*time.Hour - time.Second, "1", true},
		{48 * time.Hour, "2", false},
		{48*time.Hour + time.Minute, "2", true},
		{96*time.Hour - time.Second, "2", true},
		{96 * time.Hour, "1", false},
	} {
		now := noon.Add(at.after)
		c.time.Store(&now)
		within(t, data, &c, func(url string) {
			for _, body := range []string{"1", "2"} {
				event := fmt.Sprintf(`{"path":"/%s","visitorId":"v","traffic":"ai"}`, body)
				want := http.StatusAccepted
				if body != at.body {
					if !at.known {
						continue // It would be the first.
					}
					want = http.StatusUnprocessableEntity
				}
				if response, text := sendEvents(t, url, key, strings.NewReader(event), map[string]string{"Idempotency-Key": "k"}); response.StatusCode != want {
					t.Errorf("body %s after %v: status %d: %s, want %d", body, at.after, response.StatusCode, text, want)
				}
			}
		})
	}
	a := openTest(t, data)
	defer func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	}()
	if got := viewsByPath(t, a); got["/1"] != 2 || got["/2"] != 1 {
		t.Errorf("%v, want 2 views of /1 and one of /2", got)
	}
}
