package gate_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"footfall/agentjobs/gate"
)

// refused sends a request that has to end at the gate, and returns its words.
func refused(t *testing.T, a *agent, u *upstream, r *http.Request, status int) string {
	t.Helper()
	got := a.send(r)
	if len(u.received()) != 0 {
		t.Fatalf("it reached the model's host: %s", u.last(t).body)
	}
	if a.Usage().Refused == 0 || a.Usage().Requests != 0 {
		t.Errorf("counted as %+v", a.Usage())
	}
	return got.message(t, status)
}

func TestNothingReachesAnotherHost(t *testing.T) {
	const host = "Host: 127.0.0.1:4141\r\n"
	body := chat("")
	post := fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	get := "Connection: close\r\n\r\n"
	for name, request := range map[string]string{
		"absolute form":             "GET http://evil.example/v1/models HTTP/1.1\r\nHost: evil.example\r\n" + get,
		"absolute form, our Host":   "POST http://evil.example/v1/chat/completions HTTP/1.1\r\n" + host + post,
		"absolute form of ours":     "GET http://127.0.0.1:4141/v1/models HTTP/1.1\r\n" + host + get,
		"CONNECT":                   "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n" + get,
		"CONNECT to a path":         "CONNECT /v1/models HTTP/1.1\r\n" + host + get,
		"another Host":              "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n" + get,
		"Host like a loopback":      "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n" + get,
		"no Host":                   "GET /v1/models HTTP/1.0\r\n" + get,
		"two slashes":               "POST //evil.example/v1/chat/completions HTTP/1.1\r\n" + host + post,
		"two slashes inside":        "POST /v1//chat/completions HTTP/1.1\r\n" + host + post,
		"user information":          "GET /@evil.example/v1/models HTTP/1.1\r\n" + host + get,
		"dots":                      "GET /v1/../v1/models HTTP/1.1\r\n" + host + get,
		"dots out of the base":      "GET /v1/../admin HTTP/1.1\r\n" + host + get,
		"dots after a model":        "GET /v1/models/../files HTTP/1.1\r\n" + host + get,
		"encoded dots":              "GET /v1/%2e%2e/files HTTP/1.1\r\n" + host + get,
		"encoded slash and dots":    "GET /v1/models/acme%2Fwriter-2%2F..%2Ffiles HTTP/1.1\r\n" + host + get,
		"twice encoded":             "GET /v1/models/acme%252Fwriter-2 HTTP/1.1\r\n" + host + get,
		"encoded letter":            "POST /v1/%63hat/completions HTTP/1.1\r\n" + host + post,
		"backslash":                 "GET /v1\\models HTTP/1.1\r\n" + host + get,
		"another model's page":      "GET /v1/models/acme/writer-3 HTTP/1.1\r\n" + host + get,
		"files":                     "GET /v1/files HTTP/1.1\r\n" + host + get,
		"embeddings":                "POST /v1/embeddings HTTP/1.1\r\n" + host + post,
		"a stored response":         "GET /v1/responses/resp_1 HTTP/1.1\r\n" + host + get,
		"batches":                   "POST /v1/messages/batches HTTP/1.1\r\n" + host + post,
		"trailing slash":            "POST /v1/chat/completions/ HTTP/1.1\r\n" + host + post,
		"no base":                   "POST /chat/completions HTTP/1.1\r\n" + host + post,
		"base alone":                "GET /v1 HTTP/1.1\r\n" + host + get,
		"wrong method":              "DELETE /v1/models HTTP/1.1\r\n" + host + get,
		"GET of a POST":             "GET /v1/chat/completions HTTP/1.1\r\n" + host + get,
		"websocket":                 "GET /v1/responses HTTP/1.1\r\nUpgrade: websocket\r\n" + host + "Connection: Upgrade, close\r\n\r\n",
		"OPTIONS *":                 "OPTIONS * HTTP/1.1\r\n" + host + get,
		"query":                     "POST /v1/chat/completions?api-version=1 HTTP/1.1\r\n" + host + post,
		"longer query":              "POST /v1/messages?beta=true&x=1 HTTP/1.1\r\n" + host + post,
		"query hidden in another":   "GET /v1/models?client_version=1&x=http://evil HTTP/1.1\r\n" + host + get,
		"GET with a body":           "GET /v1/models HTTP/1.1\r\n" + host + post,
		"length and chunks at once": "POST /v1/chat/completions HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n" + post,
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			a := open(t, u)
			answer := a.raw(request)
			status, _, _ := strings.Cut(answer, "\r\n")
			if !strings.HasPrefix(status, "HTTP/1.") || status[9] != '4' && status[9] != '5' {
				t.Errorf("answered %q", answer)
			}
			if len(u.received()) != 0 {
				t.Errorf("it reached the model's host as %s", u.last(t).uri)
			}
		})
	}
}

func TestTheGateSaysWhatARouteTakes(t *testing.T) {
	u := newUpstream(t)
	a := open(t, u)
	got := a.send(a.request("DELETE", "/v1/messages", ""))
	got.message(t, http.StatusMethodNotAllowed)
	if allow := got.header.Get("Allow"); allow != "POST" {
		t.Errorf("Allow %q", allow)
	}
	message := a.send(a.request("GET", "/v1/files", "")).message(t, http.StatusNotFound)
	if !strings.Contains(message, "chat/completions") {
		t.Errorf("the agent is told %q", message)
	}
}

func TestBodiesThatCanBeReadInTwoWaysAreRefused(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"hello"}]`
	for name, body := range map[string]string{
		"empty":                 ` `,
		"a list":                `[` + chat("") + `]`,
		"two objects":           chat("") + chat(""),
		"text after":            chat("") + `x`,
		"not closed":            `{"model":"` + model + `"`,
		"comma at the end":      `{"model":"` + model + `",` + messages + `,}`,
		"comment":               `{/**/"model":"` + model + `",` + messages + `}`,
		"not UTF-8":             chat(`"user":"` + "\xff" + `"`),
		"half of a pair":        chat(`"user":"\ud800"`),
		"two models":            chat(`"model":"other"`),
		"two models, same":      chat(`"model":"` + model + `"`),
		"two models, escaped":   chat(`"mod\u0065l":"other"`),
		"two tools":             chat(`"tools":[],"tools":[{"type":"web_search"}]`),
		"two inside":            chat(`"user":"u","metadata":{"a":1,"a":2}`),
		"other case":            chat(`"Model":"other"`),
		"upper case":            chat(`"MODEL":"other"`),
		"dash in model":         chat(`"mo-del":"other"`),
		"Kelvin sign":           chat(`"` + "tool" + "ſ" + `":[{"type":"web_search"}]`),
		"Tools":                 chat(`"Tools":[{"type":"web_search"}]`),
		"toolChoice":            chat(`"toolChoice":{"type":"mcp"}`),
		"type twice in a tool":  chat(`"tools":[{"type":"function","Type":"web_search"}]`),
		"type in another case":  chat(`"tools":[{"Type":"web_search"}]`),
		"type twice in content": `{"model":"` + model + `","messages":[{"role":"user","content":[{"type":"text","TYPE":"file"}]}]}`,
		"type is a number":      chat(`"tools":[{"type":7}]`),
		"type is empty":         chat(`"tools":[{"type":""}]`),
		"tools are an object":   chat(`"tools":{"type":"function"}`),
		"a tool is a word":      chat(`"tools":["web_search"]`),
		"deep":                  `{"model":"` + model + `","messages":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`,
		"very deep":             `{"model":"` + model + `","metadata":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
		"too many values":       `{"model":"` + model + `","messages":[` + strings.Repeat("0,", 1<<18) + `0]}`,
		"no model":              `{` + messages + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			a := open(t, u)
			refused(t, a, u, a.request("POST", "/v1/chat/completions", body), http.StatusBadRequest)
		})
	}
}

func TestOnlyTheConfiguredModelIsAsked(t *testing.T) {
	for _, name := range []string{`"acme/writer-3"`, `"ACME/writer-2"`, `"acme/writer-2 "`, `"acme/writer-2:online"`, `""`, `null`, `["acme/writer-2"]`} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			a := open(t, u)
			message := refused(t, a, u, a.request("POST", "/v1/chat/completions", `{"messages":[],"model":`+name+`}`), http.StatusForbidden)
			if !strings.Contains(message, model) {
				t.Errorf("the agent is told %q", message)
			}
		})
	}
}

func TestBodiesOfOtherKindsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		header, value string
	}{
		"form":    {"Content-Type", "application/x-www-form-urlencoded"},
		"none":    {"Content-Type", ""},
		"charset": {"Content-Type", "application/json; charset=utf-16"},
		"gzip":    {"Content-Encoding", "gzip"},
		"zstd":    {"Content-Encoding", "zstd"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			a := open(t, u)
			request := a.request("POST", "/v1/chat/completions", chat(""))
			request.Header.Set(test.header, test.value)
			refused(t, a, u, request, http.StatusUnsupportedMediaType)
		})
	}
}

func TestARequestBodyHasABound(t *testing.T) {
	u := newUpstream(t)
	a := open(t, u, limits(gate.Limits{RequestBytes: int64(len(chat("")))}))
	if got := a.post("/v1/chat/completions", chat("")); got.status != http.StatusOK {
		t.Errorf("at the bound: %d %s", got.status, got.body)
	}
	a.post("/v1/chat/completions", chat(`"n":1`)).message(t, http.StatusRequestEntityTooLarge)
	if len(u.received()) != 1 {
		t.Errorf("%d requests reached the model's host, want 1", len(u.received()))
	}
	if bytes.Contains(u.last(t).body, []byte(`"n"`)) {
		t.Error("the large one did")
	}
}
