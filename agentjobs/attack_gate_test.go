package agentjobs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"footfall/agentjobs"
	"footfall/agentjobs/agenttest/model"
	"footfall/internal/access"
)

// asked is a request to the gate, and how the status line begins that answers it.
type asked struct{ request, status string }

func post(path, body string, header ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		path, len(body), strings.Join(append(header, ""), "\r\n"), body)
}

func chat(name, text, more string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]%s}`, name, text, more)
}

// An agent that speaks to the gate itself reaches one host, one model and a few calls,
// and never the key.
func TestAttacksOnTheGate(t *testing.T) {
	b := newBench(t, nil)
	e := listen(t)
	elsewhere := "127.0.0.1:" + e.port
	host := model.Start(t, func(r model.Request) model.Answer {
		switch text, _ := r.Prompt(); text {
		case "redirect":
			return model.Answer{Location: "http://" + elsewhere + "/v1/chat/completions"}
		case "moved":
			return model.Answer{Location: "http://" + elsewhere + "/", Status: http.StatusFound}
		case "echo":
			return model.Answer{Status: http.StatusUnauthorized, Text: "no such key", EchoKey: true}
		}
		return model.Answer{Text: "the key is " + r.Key()}
	}, model.RequireKey(modelKey), model.Models(modelName, "another"))
	b.set(func(s *agentjobs.Settings) { s.ModelURL = host.URL + "/v1" })

	requests := []asked{
		{post("/v1/chat/completions", chat(modelName, "hello", ""), "Authorization: Bearer mine", "X-Api-Key: mine", "Cookie: mine", "X-Forwarded-Host: "+elsewhere), "200"},
		{post("/v1/chat/completions", chat(modelName, "echo", "")), "401"},
		{post("/v1/chat/completions", chat(modelName, "redirect", "")), "502"},
		{post("/v1/chat/completions", chat(modelName, "moved", "")), "502"},

		{"GET http://" + elsewhere + "/v1/models HTTP/1.1\r\nHost: " + elsewhere + "\r\n\r\n", "403"},
		{"GET http://localhost/v1/models HTTP/1.1\r\nHost: " + elsewhere + "\r\n\r\n", "403"},
		{"CONNECT " + elsewhere + " HTTP/1.1\r\nHost: " + elsewhere + "\r\n\r\n", "403"},
		{"GET /v1/models HTTP/1.1\r\nHost: elsewhere.example.org\r\n\r\n", "403"},
		{"GET //" + elsewhere + "/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "4"},
		{"GET @" + elsewhere + "/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "4"},

		{post("/v1/chat/completions", chat("another", "hello", "")), "403"},
		{post("/v1/chat/completions", chat(modelName, "hello", `,"model":"another"`)), "4"},
		{post("/v1/chat/completions", chat(modelName, "hello", `,"Model":"another"`)), "4"},
		// A field that is not known is left out.
		{post("/v1/chat/completions", chat(modelName, "hello", `,"web_search_options":{}`)), "200"},
		{post("/v1/chat/completions", chat(modelName, "hello", `,"tools":[{"type":"web_search"}]`)), "403"},
		{post("/v1/responses", `{"model":"`+modelName+`","input":"x","tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`), "403"},
		{post("/v1/responses", `{"model":"`+modelName+`","input":"x","tools":[{"type":"mcp","server_label":"x","server_url":"http://`+elsewhere+`"}]}`), "403"},
		{post("/v1/messages", `{"model":"`+modelName+`","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}`), "403"},
		{post("/v1/messages", `{"model":"`+modelName+`","max_tokens":1,"messages":[{"role":"user","content":"x"}],"mcp_servers":[{"type":"url","url":"http://`+elsewhere+`","name":"x"}]}`), "403"},

		{"GET /v1/files HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
		{"GET /v1/models/../files HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
		{"GET /v1/models/another HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
		{"GET /v1/models%2f..%2ffiles HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
		{"GET /v1/models?after=x HTTP/1.1\r\nHost: localhost\r\n\r\n", "403"},
		{"DELETE /v1/models/" + modelName + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"},
		{"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/files HTTP/1.1\r\nHost: localhost\r\n\r\n", "4"},
		{"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 4\r\n\r\nbody", "4"},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "4"},
	}
	var text strings.Builder
	for i, asked := range requests {
		// By the port, and by the socket behind it.
		for _, address := range []string{`INET->new("127.0.0.1:8484")`, `UNIX->new(Peer => "/run/footfall/gate.sock")`} {
			fmt.Fprintf(&text, "printf '%s' > /tmp/asked\n", octal(strings.Replace(asked.request, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)))
			fmt.Fprintf(&text, `perl -MIO::Socket -MIO::Socket::UNIX -e 'local $/; open F, "/tmp/asked"; $s = IO::Socket::%s; print $s <F>; print <$s>' > /tmp/said; echo "<%d> $(head -c 12 /tmp/said)"; cat /tmp/said >> $HOME/all`+"\n", address, i)
		}
	}
	text.WriteString("grep -a -i -e key -e location $HOME/all")
	// The prompt is bounded: the requests go in parts.
	var attack []string
	part := ""
	for line := range strings.SplitSeq(text.String(), "\n") {
		if part += line + "\n"; len(part) > 4<<10 && strings.HasPrefix(line, "perl") {
			attack, part = append(attack, script(part)), ""
		}
	}
	attack = append(attack, script(part))

	var id, said string
	for run := range 2 {
		for at := 0; at < len(attack); at += 4 {
			prompt := strings.Join(attack[at:min(at+4, len(attack))], "\n")
			if id == "" {
				id = b.post(prompt).ID
			} else {
				b.message(id, prompt)
			}
			if j := b.await(id); j.Status != agentjobs.Completed {
				t.Fatalf("the job is %s: %s", j.Status, reason(j))
			}
		}
		said = b.outputs(id)
		for i, asked := range requests {
			if want := fmt.Sprintf("<%d> HTTP/1.1 %s", i, asked.status); strings.Count(said, want) != 2*(run+1) {
				t.Errorf("%.80q was answered other than by %s: %.40q", asked.request, asked.status, said[max(0, strings.Index(said, fmt.Sprintf("<%d>", i))):])
			}
		}
	}
	if n := e.heard.Load(); n > 0 {
		t.Errorf("%d connections went elsewhere", n)
	}
	if !strings.Contains(said, strings.Repeat("*", len(modelKey))) || strings.Contains(said, elsewhere) {
		t.Errorf("the answers were %s", said)
	}
	for _, r := range host.Requests() {
		if strings.Contains(string(r.Body), "web_search") {
			t.Errorf("the model was asked to search: %s", r.Body)
		}
		if r.Key() != modelKey || r.Model != modelName || r.Path != "/v1/chat/completions" {
			t.Errorf("%s %s reached the model, of model %s", r.Method, r.Path, r.Model)
		}
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), "mine") || strings.HasPrefix(name, "X-Forwarded") {
				t.Errorf("the header %s reached the model: %q", name, values)
			}
		}
	}
	if sockets, err := filepath.Glob(filepath.Join(b.options.Dir, "*.sock")); err != nil || len(sockets) > 0 {
		t.Errorf("after the run there are the sockets %q: %v", sockets, err)
	}
	b.keepsSecrets(id)
}

// Another project's agent finds nothing of what one project's agent left.
func TestAttackOnAnotherProject(t *testing.T) {
	b := newBench(t, nil)
	j := b.await(b.post("remember planted\n" + script(`echo planted > $HOME/planted; echo planted > /tmp/planted; echo planted > /dev/shm/planted; echo /ignored > .gitignore; echo planted > ignored`)).ID)
	if j.Status != agentjobs.Completed {
		t.Fatalf("the job is %s: %s", j.Status, reason(j))
	}
	own, key := b.project, b.key
	b.project = projectOf(t, b, "other")
	b.set(nil)
	other, _, err := b.registry.CreateKey(access.KeySpec{Scope: access.Admin, Project: "other"})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(key, method, path, body string) answer {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		b.router.ServeHTTP(w, r)
		return answer{status: w.Code, header: w.Header(), text: w.Body.String()}
	}
	theirs := b.want(ask(other, http.MethodPost, "/v2/agent/other/job", prompt("recall\n"+script(`grep -rl planted $HOME /tmp /dev/shm /workspace; echo looked`))), http.StatusCreated)
	b.until("the other project's job ends", func() bool {
		theirs = b.want(ask(other, http.MethodGet, "/v2/agent/other/job/"+theirs.ID, ""), http.StatusOK)
		return theirs.Status != agentjobs.Active
	})
	log := ask(other, http.MethodGet, "/v2/agent/other/job/"+theirs.ID+"/log", "").text
	if !strings.Contains(log, "output: looked") || !strings.Contains(log, `"remembered:"`) {
		t.Errorf("the other project's agent found %s", log)
	}
	for _, path := range []string{"/v2/agent/docs/job/" + j.ID, "/v2/agent/docs/job/" + j.ID + "/log", "/v2/agent/other/job/" + j.ID, "/v2/agent/other/job/" + j.ID + "/log"} {
		if a := ask(other, http.MethodGet, path, ""); a.status < 400 || strings.Contains(a.text, "planted") {
			t.Errorf("%s answers another project with %d", path, a.status)
		}
	}
	if a := ask(key, http.MethodPost, "/v2/agent/docs/job/"+theirs.ID+"/message", prompt("x")); a.status != http.StatusNotFound {
		t.Errorf("a message to another project's job is answered with %d", a.status)
	}
	b.project = own
}
