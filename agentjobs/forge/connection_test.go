package forge_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"footfall/agentjobs/forge"
)

// A Forge is not closed, so each call has to leave nothing behind.
func TestNoConnectionOutlivesACall(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"an answer":          {200, `{"number": 1, "state": "open", "html_url": "https://forge.example/1", "head": {"ref": "b"}}`},
		"an error":           {404, `{"message": "Not Found"}`},
		"a long answer":      {200, strings.Repeat("x", 12<<20)},
		"an error, and long": {404, strings.Repeat("x", 12<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			opened, closed := make(chan net.Conn, 9), make(chan net.Conn, 9)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body)) // It fails where the rest is not read.
			}))
			server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
				switch state {
				case http.StateNew:
					opened <- conn
				case http.StateClosed:
					closed <- conn
				}
			}
			server.Start()
			defer server.Close()
			f, err := forge.New(forge.Options{
				Kind: forge.GitHub, Repository: server.URL + "/acme/docs", Insecure: true,
				Token: func() (string, error) { return token, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.PullRequest(t.Context(), 1); err != nil {
				_ = failure(t, err)
			}
			// The server is still there: it is the client that hangs up.
			if first, last := <-opened, <-closed; first != last || len(opened) != 0 {
				t.Errorf("%d more connections", len(opened))
			}
		})
	}
}
