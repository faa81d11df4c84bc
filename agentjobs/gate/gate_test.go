package gate_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/agentjobs/gate"
)

func TestEveryRouteReachesItsPlaceAtTheUpstream(t *testing.T) {
	body := chat("")
	input := `{"model":"` + model + `","input":"hello"}`
	for _, test := range []struct {
		method, path, body, uri string
		auth                    http.Header
	}{
		{"POST", "/v1/chat/completions", body, "/api/v1/chat/completions", http.Header{"Authorization": {"Bearer " + realKey}}},
		{"POST", "/v1/responses", input, "/api/v1/responses", http.Header{"Authorization": {"Bearer " + realKey}}},
		{"POST", "/v1/messages", body, "/api/v1/messages", http.Header{"X-Api-Key": {realKey}}},
		{"POST", "/v1/messages?beta=true", body, "/api/v1/messages?beta=true", http.Header{"X-Api-Key": {realKey}}},
		{"POST", "/v1/messages/count_tokens", body, "/api/v1/messages/count_tokens", http.Header{"X-Api-Key": {realKey}}},
		{"GET", "/v1/models", "", "/api/v1/models", http.Header{"Authorization": {"Bearer " + realKey}}},
		{"GET", "/v1/models?client_version=0.50.0", "", "/api/v1/models", http.Header{"Authorization": {"Bearer " + realKey}}},
		{"GET", "/v1/models/acme/writer-2", "", "/api/v1/models/acme%2Fwriter-2", http.Header{"Authorization": {"Bearer " + realKey}}},
		{"GET", "/v1/models/acme%2Fwriter-2", "", "/api/v1/models/acme%2Fwriter-2", http.Header{"Authorization": {"Bearer " + realKey}}},
	} {
		t.Run(test.method+test.path, func(t *testing.T) {
			u := newUpstream(t)
			a := open(t, u)
			got := a.send(a.request(test.method, test.path, test.body))
			if got.status != http.StatusOK || !strings.Contains(got.body, "choices") {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			seen := u.last(t)
			if seen.uri != test.uri || seen.method != test.method || "http://"+seen.host != u.URL {
				t.Errorf("%s %s at %s, want %s", seen.method, seen.uri, seen.host, test.uri)
			}
			for _, name := range []string{"Authorization", "X-Api-Key"} {
				if seen.header.Get(name) != test.auth.Get(name) {
					t.Errorf("%s: %q, want %q", name, seen.header.Get(name), test.auth.Get(name))
				}
			}
			if string(seen.body) != test.body {
				t.Errorf("body %s, want %s", seen.body, test.body)
			}
		})
	}
}

func TestOnlyListedHeadersPass(t *testing.T) {
	u := newUpstream(t)
	u.use(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{
			"Content-Type": "application/json", "X-Request-Id": "r1", "X-Ratelimit-Remaining-Tokens": "9", "Retry-After": "3",
			"Set-Cookie": "a=b", "Location": "https://elsewhere.example", "Openai-Organization": "acme", "Request-Id": "echo " + realKey,
		} {
			w.Header().Set(name, value)
		}
		_, _ = io.WriteString(w, "{}")
	})
	a := open(t, u)
	request := a.request("POST", "/v1/messages", chat(""))
	for name, value := range map[string]string{
		"Authorization": "Bearer agent", "X-Api-Key": "agent", "Api-Key": "agent", "Cookie": "c=d", "Proxy-Authorization": "p",
		"X-Forwarded-For": "10.0.0.1", "Connection": "X-Secret", "X-Secret": "s", "Openai-Organization": "other", "User-Agent": "agent/1",
		"Anthropic-Version": "2023-06-01", "Idempotency-Key": "i", "X-Stainless-Lang": "js",
		"Anthropic-Beta": "interleaved-thinking-2025-05-14, mcp-client-2025-11-20,code-execution-2025-08-25,files-api-2025-04-14",
	} {
		request.Header.Set(name, value)
	}
	got := a.send(request)
	want := map[string]string{
		"User-Agent": "footfall-gate", "Accept-Encoding": "identity", "Content-Type": "application/json", "Accept": "application/json",
		"Anthropic-Version": "2023-06-01", "Anthropic-Beta": "interleaved-thinking-2025-05-14", "X-Api-Key": realKey, "Content-Length": "",
	}
	for name, values := range u.last(t).header {
		value, ok := want[name]
		if !ok || value != "" && strings.Join(values, ";") != value {
			t.Errorf("to the upstream: %s: %q", name, values)
		}
	}
	back := map[string]bool{"Content-Type": true, "X-Request-Id": true, "X-Ratelimit-Remaining-Tokens": true, "Retry-After": true, "Date": true, "Content-Length": true}
	for name := range got.header {
		if !back[name] {
			t.Errorf("to the agent: %s: %q", name, got.header[name])
		}
	}
	if got.header.Get("X-Request-Id") != "r1" || got.header.Get("X-Ratelimit-Remaining-Tokens") != "9" {
		t.Errorf("listed headers are missing: %v", got.header)
	}
}

func TestFieldsThatAreNotListedAreLeftOut(t *testing.T) {
	u := newUpstream(t)
	a := open(t, u)
	got := a.post("/v1/chat/completions", chat(`"temperature":0.5,"brand_new":{"x":1},"seed":12345678901234567890,"mcp_servers":[],"background":false,"stream":false`))
	if got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if want := chat(`"temperature":0.5,"seed":12345678901234567890,"stream":false`); string(u.last(t).body) != want {
		t.Errorf("forwarded %s, want %s", u.last(t).body, want)
	}
	if usage := a.Usage(); usage.Dropped != 3 {
		t.Errorf("dropped %d fields, want 3", usage.Dropped)
	}
}

func TestTheKeyIsReadForEachRequest(t *testing.T) {
	u := newUpstream(t)
	keys := []string{"first-key-0001", "second-key-0002", "", "bad\nkey"}
	a := open(t, u, func(o *gate.Options) {
		o.Key = func() (string, error) {
			if len(keys) == 0 {
				return "", errors.New("the file is gone")
			}
			key := keys[0]
			keys = keys[1:]
			return key, nil
		}
	})
	for _, want := range []string{"Bearer first-key-0001", "Bearer second-key-0002"} {
		a.post("/v1/chat/completions", chat(""))
		if got := u.last(t).header.Get("Authorization"); got != want {
			t.Errorf("Authorization %q, want %q", got, want)
		}
	}
	for range 3 {
		message := a.post("/v1/chat/completions", chat("")).message(t, http.StatusBadGateway)
		if strings.Contains(message, "bad") || strings.Contains(message, "gone") {
			t.Errorf("the agent is told %q", message)
		}
	}
	if len(u.received()) != 2 {
		t.Errorf("%d requests reached the upstream, want 2", len(u.received()))
	}
}

func TestWithoutAKeyNoneIsSent(t *testing.T) {
	u := newUpstream(t)
	a := open(t, u, func(o *gate.Options) { o.Key = nil })
	request := a.request("POST", "/v1/chat/completions", chat(""))
	request.Header.Set("Authorization", "Bearer agent")
	a.send(request)
	if got := u.last(t).header.Get("Authorization"); got != "" {
		t.Errorf("Authorization %q", got)
	}
}

func TestTheSocketIsItsOwnersAlone(t *testing.T) {
	u := newUpstream(t)
	a := open(t, u)
	info, err := os.Lstat(a.socket)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := os.Lstat(a.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := a.Do(a.request("GET", "/v1/models", "")); err == nil {
		t.Error("a closed gate answers")
	}
}

func TestAnOldSocketIsReplacedAndAFileIsNot(t *testing.T) {
	u := newUpstream(t)
	base, _ := url.Parse(u.URL)
	dir := t.TempDir()
	options := gate.Options{Socket: filepath.Join(dir, "gate"), Upstream: base, Model: model}
	first, err := gate.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	second, err := gate.Open(options)
	if err != nil {
		t.Fatalf("over an old socket: %v", err)
	}
	for _, g := range []*gate.Gate{first, second} {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(options.Socket, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if g, err := gate.Open(options); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v, %v", g, err)
	}
}

func TestOpenSaysWhichOptionIsWrong(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		socket, upstream, model, says string
	}{
		"long path":        {filepath.Join(dir, strings.Repeat("s", 108)), "https://api.example.com/v1", model, "at most 107"},
		"no path":          {"", "https://api.example.com/v1", model, "socket is empty"},
		"no directory":     {filepath.Join(dir, "none", "gate"), "https://api.example.com/v1", model, "no such file"},
		"no host":          {filepath.Join(dir, "gate"), "https:///v1", model, "names no host"},
		"user information": {filepath.Join(dir, "gate"), "https://me:hidden@api.example.com/v1", model, "user information"},
		"query":            {filepath.Join(dir, "gate"), "https://api.example.com/v1?key=hidden", model, "query"},
		"no TLS":           {filepath.Join(dir, "gate"), "http://api.example.com/v1", model, "in the clear"},
		"other scheme":     {filepath.Join(dir, "gate"), "ftp://api.example.com/v1", model, "not https"},
		"no model":         {filepath.Join(dir, "gate"), "https://api.example.com/v1", "", "1 to 256 bytes"},
		"climbing model":   {filepath.Join(dir, "gate"), "https://api.example.com/v1", "acme/../files", "not a path"},
	} {
		t.Run(name, func(t *testing.T) {
			base, err := url.Parse(test.upstream)
			if err != nil {
				t.Fatal(err)
			}
			g, err := gate.Open(gate.Options{Socket: test.socket, Upstream: base, Model: test.model})
			if err == nil {
				_ = g.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%v; want %q", err, test.says)
			}
		})
	}
}
