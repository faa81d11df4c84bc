package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const oneEvent = `{"path":"/","visitorId":"v","traffic":"human"}`

// client is a connection over which requests are written by hand.
type client struct {
	net.Conn
	t      *testing.T
	answer *bufio.Reader
}

func dial(t *testing.T, p *process) *client {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // It may be closed.
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{Conn: conn, t: t, answer: bufio.NewReader(conn)}
}

func (c *client) write(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		c.t.Fatal(err)
	}
}

// read returns the next answer and its body.
func (c *client) read() (*http.Response, string) {
	c.t.Helper()
	response, err := http.ReadResponse(c.answer, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response, string(text)
}

const postHeader = "POST /v1/analytics/docs/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"

// TestLimits holds the running binary to the limits that flags set.
func TestLimits(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	p := serve(t, data, "--max-body-bytes=20000", "--max-line-bytes=2000", "--max-header-bytes=8192", "--read-timeout=1s")

	// A line that is too long is refused by itself.
	long := `{"path":"/` + strings.Repeat("x", 900) + `","visitorId":"v","traffic":"human","more":"` + strings.Repeat("y", 2000) + `"}`
	response, text := sendEvents(t, p.url, key, strings.NewReader(oneEvent+"\n"+long+"\n"+oneEvent+"\n"), nil)
	if response.StatusCode != http.StatusAccepted || !strings.Contains(text, `"accepted":2,"rejected":1`) || !strings.Contains(text, `"index":1`) || !strings.Contains(text, "2000") {
		t.Errorf("a long line: status %d: %s", response.StatusCode, text)
	}

	pad := func(bytes int) io.Reader {
		return strings.NewReader(oneEvent + strings.Repeat("\n", bytes-len(oneEvent)))
	}
	for _, body := range []struct {
		reader io.Reader
		status int
	}{
		{pad(20_000), http.StatusAccepted},
		{pad(20_001), http.StatusRequestEntityTooLarge},
		{struct{ io.Reader }{pad(20_000)}, http.StatusAccepted}, // chunked
		{struct{ io.Reader }{pad(20_001)}, http.StatusRequestEntityTooLarge},
	} {
		if response, text := sendEvents(t, p.url, key, body.reader, nil); response.StatusCode != body.status {
			t.Errorf("status %d, want %d: %s", response.StatusCode, body.status, text)
		}
	}

	// The server reads up to 4 KiB beyond the limit of the header.
	if response, text := sendEvents(t, p.url, key, pad(100), map[string]string{"X-Padding": strings.Repeat("x", 7000)}); response.StatusCode != http.StatusAccepted {
		t.Errorf("a long header: status %d: %s", response.StatusCode, text)
	}
	if response, text := sendEvents(t, p.url, key, pad(100), map[string]string{"X-Padding": strings.Repeat("x", 8192+4096)}); response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header too long: status %d: %s", response.StatusCode, text)
	}

	// A client that stops in the middle of its body, and one that comes at a drip.
	for what, more := range map[string]string{"half a body": "", "more of it": "\n"} {
		c := dial(t, p)
		c.write(postHeader+"Authorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n%s%s", key, oneEvent, more)
		response, text := c.read()
		if response.StatusCode != http.StatusRequestTimeout || !json.Valid([]byte(text)) {
			t.Errorf("%s: status %d: %s", what, response.StatusCode, text)
		}
		if _, err := c.answer.ReadByte(); err != io.EOF {
			t.Errorf("%s: the connection stays open: %v", what, err)
		}
	}
	// One that is not allowed in is answered before its body is waited for.
	c := dial(t, p)
	c.write(postHeader + "Authorization: Bearer nobody\r\nContent-Length: 1000\r\n\r\n")
	if response, text := c.read(); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("no key: status %d: %s", response.StatusCode, text)
	}
	p.stop(t)

	a := openTest(t, data)
	if got := viewsByPath(t, a); got["/"] != 5 {
		t.Errorf("%v, want 5 views", got)
	}
	if err := a.close(); err != nil {
		t.Error(err)
	}
}

// TestConnectionLimit: a connection too many is answered at once, whatever it sends
// or does not, and once another one is closed the next is served.
func TestConnectionLimit(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	p := serve(t, data, "--max-connections=2")
	body := postHeader + "Authorization: Bearer " + key + "\r\nContent-Length: " + fmt.Sprint(len(oneEvent)) + "\r\n\r\n" + oneEvent
	open := []*client{dial(t, p), dial(t, p)}
	served := func(c *client) {
		t.Helper()
		c.write("%s", body)
		if response, text := c.read(); response.StatusCode != http.StatusAccepted {
			t.Errorf("status %d: %s", response.StatusCode, text)
		}
	}
	for range 2 {
		for _, c := range open {
			served(c)
		}
	}
	for _, sent := range []string{"", body, postHeader + "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 50_000)} {
		c := dial(t, p)
		c.write("%s", sent)
		response, text := c.read()
		var told struct {
			Error   string
			Details []struct{ Message string }
		}
		if err := json.Unmarshal([]byte(text), &told); err != nil || told.Error == "" || len(told.Details) != 1 {
			t.Errorf("the body is %s: %v", text, err)
		}
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !response.Close {
			t.Errorf("one too many: status %d, header %v", response.StatusCode, response.Header)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	served(open[0]) // Those within the limit do not notice.
	if err := open[1].Close(); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(patience); ; { // Until the server has noticed.
		c := dial(t, p)
		c.write("%s", body)
		response, text := c.read()
		if response.StatusCode == http.StatusAccepted {
			break
		}
		if response.StatusCode != http.StatusServiceUnavailable || time.Now().After(late) {
			t.Fatalf("status %d: %s", response.StatusCode, text)
		}
		_ = c.Close() // It is closed by the server.
	}
	served(open[0])
	p.stop(t)
}
