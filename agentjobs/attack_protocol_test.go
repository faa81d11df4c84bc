package agentjobs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"footfall/agentjobs"
)

// wire is a line of the test agent that puts messages into the agent's own output,
// where the service takes them for the agent's. SESSION stands for the session's ID.
func wire(messages ...string) string {
	var text strings.Builder
	text.WriteString("p=$PPID; s=$(ls -t $HOME/.acpagent | head -1); s=${s%.json}\n")
	for _, m := range messages {
		// As octal escapes: nothing of a message means anything to a shell or to the agent.
		before, after, _ := strings.Cut(m, "SESSION")
		fmt.Fprintf(&text, "{ printf '%s'; printf %%s \"$s\"; printf '%s'; } > /tmp/m; cat /tmp/m > /proc/$p/fd/1\n", octal(before), octal(after+"\n"))
	}
	return script(text.String())
}

func octal(text string) string {
	var escaped strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&escaped, `\%03o`, b)
	}
	return escaped.String()
}

func message(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` +
		string(quoted) + `}}}}`
}

// The client's side of the protocol carries nothing out, whatever an agent calls.
func TestAttacksByTheProtocol(t *testing.T) {
	b := newBench(t, nil)
	target := filepath.Join(b.dir, "written")
	call := func(id int, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"sessionId":"SESSION",%s}}`, id, method, params)
	}
	attack := strings.Join([]string{
		"read-file " + filepath.Join(b.dir, "token"), "read-file ../../../../../../" + b.dir + "/token", "read-file docs/index.md", "terminal",
		"link docs/l " + b.dir, "read-file docs/l/token", "delete docs/l",
		"ask-permission " + filepath.Join(b.dir, "token"), "ask-permission docs/../../x", "ask-permission /workspace/../home/agent/x", "ask-permission /workspace-other/x",
		"ask-permission file:///etc/passwd", "ask-permission ~/x", "ask-permission docs/index.md",
		wire(
			call(9001, "fs/write_text_file", `"path":"`+target+`","content":"x"`),
			call(9002, "fs/write_text_file", `"path":"/workspace/../../../..`+target+`","content":"x"`),
			call(9003, "terminal/create", `"command":"touch","args":["`+target+`"]`),
			call(9004, "terminal/create", `"command":"sh -c 'touch `+target+`'","cwd":"/","outputByteLimit":1`),
			call(9005, "session/prompt", `"prompt":[]`), call(9006, "_extension/run", `"command":"touch `+target+`"`),
			call(9007, "session/request_permission", `"options":[],"toolCall":{"toolCallId":"x","rawInput":`+strings.Repeat(`{"a":`, 900)+`1`+strings.Repeat(`}`, 900)+`}`),
			`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"forged"}}`, `{"jsonrpc":"2.0","id":null,"result":null}`, `[]`, `null`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`,
			strings.Replace(message("of another session"), "SESSION", "other", 1),
		),
		"write docs/new.md x",
	}, "\n")
	j := b.await(b.post(attack).ID)
	for run := range 2 {
		if run > 0 {
			b.message(j.ID, attack)
			j = b.await(j.ID)
		}
		if j.Status != agentjobs.Completed {
			t.Fatalf("run %d: the job is %s: %s", run, j.Status, reason(j))
		}
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("the service wrote a file for the agent")
	}
	count := func(text string) (n int) {
		for _, l := range b.lines(j.ID) {
			n += strings.Count(l.Text, text)
		}
		return n
	}
	for text, want := range map[string]int{
		"file given": 0, "terminal given": 0, "file refused": 8, "terminal refused": 2,
		"permission: no": 12, "permission: once": 2, "permission: always": 0, "of another session": 0,
		"refused: the agent called fs/write_text_file": 4, "refused: the agent called terminal/create": 6,
		"refused: the agent called _extension/run": 2, "nested too deeply": 2,
	} {
		if n := count(text); n != want {
			t.Errorf("the log says %q %d times, want %d", text, n, want)
		}
	}
	b.keepsSecrets(j.ID)
}

// What an agent writes into messages, titles and files does not end a line of the log,
// forge an event of the stream, or reach a terminal as more than text.
func TestAttacksOnTheLog(t *testing.T) {
	b := newBench(t, nil)
	const forged = "\n\nevent: job\ndata: {\"status\":\"archived\"}\n\n\r\revent: job\rdata: {}\r\r\u2028event: job\u2028\u2029data: {}\u0085event: job\u0085"
	const terminal = "\x1b[2J\x1b]0;title\a\x9b31m\x07\b\b\x7f\u009b2J"
	attack := strings.Join([]string{
		wire(message("m"+forged), message("m"+terminal+strings.Repeat("\u202egnp\u2066", 3)), message("m\xff\xfe\xc3 invalid"),
			message(`"}`+"\n"+`{"time":"2020-01-01T00:00:00Z","kind":"status","text":"forged"}`)),
		wire(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"t\n\nevent: job\ndata: {}\u001b[2J\u2028","kind":"edit\n\nevent: job\u001b[2J","status":"completed","locations":[{"path":"/workspace/a\nevent: job\u001b[2J"}],"content":[{"type":"diff","path":"p\n\nevent: job\u001b[2J","newText":"n\u001b[2J\r\revent: job\n"}]}}}`,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"plan","entries":[{"content":"c\n\nevent: job\u001b[2J","priority":"high","status":"pending\u001b[2J\n\n"}]}}}`),
		script(`perl -e 'print "long " x 8000, "\n"' > docs/z.md; ` + "printf '" + octal(terminal+forged+"\xff") + "' > docs/new.md; echo x > \"docs/$(printf '" + octal("x\x1b[2J\n\nevent: job\n") + "')\""),
		"fail " + `\u001b[2J` + "\x1b[2J" + `\n\nevent: job`,
	}, "\n")
	attack = strings.ToValidUTF8(attack, "")
	j := b.await(b.post(attack).ID)
	b.message(j.ID, strings.Replace(attack, "\nfail ", "\nsay ", 1))
	if j = b.await(j.ID); j.Status != agentjobs.Completed {
		t.Fatalf("the job is %s: %s", j.Status, reason(j))
	}
	if n := strings.Count(b.do(http.MethodGet, "/job/"+j.ID+"/log", "").text, "\n"); n != len(b.lines(j.ID)) {
		t.Errorf("%d lines hold %d objects", n, len(b.lines(j.ID)))
	}
	for _, l := range b.lines(j.ID) {
		if len(l.Text) > 16<<10 || !utf8.ValidString(l.Text) || l.Time.Year() < 2024 {
			t.Errorf("a line of kind %s has %d bytes, of %v: %.100q", l.Kind, len(l.Text), l.Time, l.Text)
		}
		for _, r := range l.Text {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
				t.Errorf("a line of kind %s holds %U: %.100q", l.Kind, r, l.Text)
				break
			}
		}
	}
	stream := b.do(http.MethodGet, "/job/"+j.ID+"/log", "", "Accept", "text/event-stream").text
	events := 0
	for line := range strings.FieldsFuncSeq(stream, func(r rune) bool { return r == '\n' || r == '\r' }) {
		field, value, _ := strings.Cut(line, ":")
		switch {
		case field == "" || field == "id":
		case field == "data" && json.Valid([]byte(value)):
		case line == "event: job":
			events++
		default:
			t.Errorf("the stream holds the line %.100q", line)
		}
	}
	if events != 1 || !strings.Contains(stream, `"status":"completed"`) {
		t.Errorf("the stream tells of %d jobs", events)
	}
}

// A prompt, and what an agent says, put nothing into a commit or a pull request but
// what they are meant to.
func TestAttacksOnThePullRequest(t *testing.T) {
	b := newBench(t, nil)
	attack := "\r\n\x1b[2J # Title\u202e\u2028Co-authored-by: Someone <someone@example.org>\r\nCo-authored-by: Someone <someone@example.org>\n\nFootfall-Job: forged\n" +
		"@everyone ![x](https://example.org/x) <img src=x> Fixes #1\n```\nsay ### by the agent @everyone\nwrite docs/new.md x"
	j := b.await(b.post(attack).ID)
	b.message(j.ID, attack)
	if j = b.await(j.ID); j.Status != agentjobs.Completed {
		t.Fatalf("the job is %s: %s", j.Status, reason(j))
	}
	for _, commit := range b.git.Log(repository, j.Source.Ref)[:1] {
		subject, rest, _ := strings.Cut(commit.Message, "\n")
		if commit.Name != "footfall" || strings.TrimSpace(rest) != "Footfall-Job: "+j.ID || strings.ContainsFunc(subject, unprintable) {
			t.Errorf("the commit is %+v", commit)
		}
	}
	for _, pull := range b.forge.Pulls() {
		if strings.ContainsFunc(pull.Title, unprintable) || pull.Head != "footfall/"+j.ID || pull.Base != "main" {
			t.Errorf("the pull request is %+v", pull)
		}
		for i, line := range strings.Split(strings.TrimRight(pull.Body, "\n"), "\n") {
			if i > 1 && !strings.HasPrefix(line, "    ") || strings.ContainsFunc(line, unprintable) {
				t.Errorf("the pull request's text has the line %q", line)
			}
		}
	}
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }
