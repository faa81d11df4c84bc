package model_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"footfall/agentjobs/agenttest/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client follows no redirects and keeps no connections.
func client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func post(t *testing.T, ctx context.Context, server *model.Server, api model.API, key, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+string(api), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func read(t *testing.T, response *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// events decodes a stream of events, each in the form that it came in.
func events(t *testing.T, body string) []map[string]any {
	t.Helper()
	var found []map[string]any
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatalf("event %q: %v", data, err)
		}
		found = append(found, event)
	}
	return found
}

// gather joins the strings that stand under a key anywhere in the events, in their
// order.
func gather(value any, key string) string {
	var text strings.Builder
	switch value := value.(type) {
	case []map[string]any:
		for _, entry := range value {
			text.WriteString(gather(entry, key))
		}
	case []any:
		for _, entry := range value {
			text.WriteString(gather(entry, key))
		}
	case map[string]any:
		for name, entry := range value {
			if found, ok := entry.(string); ok && name == key {
				text.WriteString(found)
			} else {
				text.WriteString(gather(entry, key))
			}
		}
	}
	return text.String()
}

// wire says how each API writes the same conversation down: one prompt to a tool
// named write, then the same with its result.
var wire = []struct {
	api            model.API
	begin, rest    string // a request is begin, the messages, and rest
	prompt, result string
	arguments      string // the key of what a stream sends of a call's arguments
	text           string // the key of what it sends of the text
}{
	{
		api:       model.Chat,
		begin:     `{"model":"m","stream_options":{"include_usage":true},"messages":[{"role":"system","content":"s"},`,
		rest:      `],"tools":[{"type":"function","function":{"name":"write","parameters":{"type":"object","properties":{"filePath":{},"content":{}}}}}]`,
		prompt:    `{"role":"user","content":[{"type":"text","text":"edit a.md hi"}]}`,
		result:    `,{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"write","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"written"}`,
		arguments: "arguments",
		text:      "content",
	},
	{
		api:       model.Responses,
		begin:     `{"model":"m","instructions":"s","input":[`,
		rest:      `],"tools":[{"type":"function","name":"write","parameters":{"properties":{"filePath":{},"content":{}}}}]`,
		prompt:    `{"type":"message","role":"user","content":[{"type":"input_text","text":"edit a.md hi"}]}`,
		result:    `,{"type":"function_call","call_id":"c","name":"write","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"written"}`,
		arguments: "delta",
		text:      "delta",
	},
	{
		api:       model.Messages,
		begin:     `{"model":"m","system":[{"type":"text","text":"s"}],"messages":[`,
		rest:      `],"tools":[{"name":"write","input_schema":{"properties":{"filePath":{},"content":{}}}}]`,
		prompt:    `{"role":"user","content":[{"type":"text","text":"edit a.md hi"}]}`,
		result:    `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"write","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"written"}]}]}`,
		arguments: "partial_json",
		text:      "text",
	},
}

// TestEditor has each API edit a file, and end once the result is in.
func TestEditor(t *testing.T) {
	for _, w := range wire {
		t.Run(string(w.api), func(t *testing.T) {
			server := model.Start(t, model.Editor)
			stream := func(messages string) []map[string]any {
				t.Helper()
				response := post(t, t.Context(), server, w.api, "k", w.begin+messages+w.rest+`,"stream":true}`)
				if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
					t.Errorf("content type = %q", got)
				}
				return events(t, read(t, response))
			}
			want := `{"content":"hi\n","filePath":"a.md"}`
			if got := gather(stream(w.prompt), w.arguments); !strings.Contains(got, want) {
				t.Errorf("arguments = %s, want %s", got, want)
			}
			if got := gather(stream(w.prompt+w.result), w.text); !strings.Contains(got, `done: "written"`) {
				t.Errorf("text = %s", got)
			}
			whole := read(t, post(t, t.Context(), server, w.api, "k", w.begin+w.prompt+w.rest+`}`))
			if !strings.Contains(whole, "a.md") || !json.Valid([]byte(whole)) {
				t.Errorf("whole answer = %s", whole)
			}

			requests := server.Requests()
			if len(requests) != 3 {
				t.Fatalf("%d requests, want 3", len(requests))
			}
			last := requests[1]
			var roles []string
			for _, message := range last.Messages {
				roles = append(roles, message.Role)
			}
			if want := []string{model.System, model.User, model.Assistant, model.Result}; !slices.Equal(roles, want) {
				t.Errorf("roles = %q, want %q", roles, want)
			}
			if called, result := last.Messages[2].Calls, last.Messages[3]; len(called) != 1 || called[0].ID != "c" || result.Of != "c" || result.Text != "written" {
				t.Errorf("call %+v, result %+v", called, result)
			}
			if last.Model != "m" || last.API != w.api || !last.Stream || last.Key() != "k" {
				t.Errorf("request = %s %s stream %v key %q", last.API, last.Model, last.Stream, last.Key())
			}
			tool, ok := last.Offers("write")
			if !ok || !slices.Equal(tool.Parameters, []string{"content", "filePath"}) {
				t.Errorf("tool = %+v, %v", tool, ok)
			}
		})
	}
}

// TestPiecesFitTogether streams text whose middle is inside a character.
func TestPiecesFitTogether(t *testing.T) {
	const text = "\u00e9\u00e9\u00e9"
	for _, w := range wire {
		t.Run(string(w.api), func(t *testing.T) {
			server := model.Start(t, func(model.Request) model.Answer {
				return model.Answer{Text: text, Calls: []model.Call{{Name: "write", Arguments: `{"a":"` + text + `"}`}}}
			})
			found := events(t, read(t, post(t, t.Context(), server, w.api, "", w.begin+w.prompt+w.rest+`,"stream":true}`)))
			if got := gather(found, w.text); !strings.Contains(got, text) {
				t.Errorf("text = %q", got)
			}
			if got := gather(found, w.arguments); !strings.Contains(got, `{"a":"`+text+`"}`) {
				t.Errorf("arguments = %q", got)
			}
		})
	}
}

// TestResultBeforePrompt reads Anthropic's form of a result and a new prompt in
// one message: the prompt is the later of the two, or it would look answered.
func TestResultBeforePrompt(t *testing.T) {
	server := model.Start(t, model.Editor)
	post(t, t.Context(), server, model.Messages, "", `{"messages":[{"role":"user","content":[`+
		`{"type":"tool_result","tool_use_id":"c","content":"written"},{"type":"text","text":"next"}]}]}`)
	prompt, after := server.Requests()[0].Prompt()
	if prompt != "next" || len(after) != 0 {
		t.Errorf("prompt = %q, then %+v", prompt, after)
	}
}

func TestEditorChoosesTools(t *testing.T) {
	offer := func(names ...string) (tools []model.Tool) {
		for _, name := range names {
			tools = append(tools, model.Tool{Name: name})
		}
		return tools
	}
	for _, test := range []struct {
		name   string
		tools  []model.Tool
		prompt string
		want   model.Answer
	}{
		{"title", nil, "edit a b", model.Answer{Text: "A title"}},
		{"no verb", offer("bash"), "hello", model.Answer{Text: "nothing to do"}},
		{"no tool", offer("think"), "run ls", model.Answer{Text: "no tool to run"}},
		{"two lines", offer("bash", "read"), "please\nread a.md\r\nrun ls -l\n", model.Answer{Calls: []model.Call{
			{Name: "read", Arguments: `{"filePath":"a.md"}`},
			{Name: "bash", Arguments: `{"command":"ls -l","description":"do what the prompt says"}`},
		}}},
		{"shell quotes", offer("shell_command"), "edit d/a.md it's", model.Answer{Calls: []model.Call{
			{Name: "shell_command", Arguments: `{"command":"mkdir -p 'd' \u0026\u0026 printf %s 'it'\\''s\n' \u003e 'd/a.md'"}`},
		}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := model.Editor(model.Request{Tools: test.tools, Messages: []model.Message{{Role: model.User, Text: test.prompt}}})
			if got.Text != test.want.Text || !slices.Equal(got.Calls, test.want.Calls) {
				t.Errorf("answer = %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"user","content":"x"}]}`
	for _, test := range []struct {
		name   string
		script model.Script
		key    string
		body   string
		status int
		want   string
	}{
		{"right key", model.Say("hello"), "secret", body, 200, "hello"},
		{"wrong key", model.Say("hello"), "other", body, 401, "invalid api key"},
		{"not JSON", model.Say("hello"), "secret", "{", 400, "decode chat completion"},
		{"fault", model.Fail(503), "secret", body, 503, "Service Unavailable"},
		{"echo", func(model.Request) model.Answer { return model.Answer{Status: 401, Text: "bad key", EchoKey: true} },
			"secret", body, 401, "bad key: secret"},
		{"redirect", func(model.Request) model.Answer { return model.Answer{Location: "http://localhost.invalid/"} },
			"secret", body, 307, ""},
		{"filler", func(model.Request) model.Answer { return model.Answer{Text: "x", Filler: 100_000} },
			"secret", body, 200, strings.Repeat("filler ", 14_000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := model.Start(t, test.script, model.RequireKey("secret"))
			response := post(t, t.Context(), server, model.Chat, test.key, test.body)
			if got := read(t, response); response.StatusCode != test.status || !strings.Contains(got, test.want) {
				t.Errorf("answer = %s %.200s", response.Status, got)
			}
			if requests := server.Requests(); len(requests) != 1 || !bytes.Equal(requests[0].Body, []byte(test.body)) {
				t.Errorf("%d requests kept", len(requests))
			}
		})
	}
}

func TestFailFirst(t *testing.T) {
	server := model.Start(t, model.FailFirst(2, 500, model.Say("at last")))
	var got []int
	for range 3 {
		got = append(got, post(t, t.Context(), server, model.Messages, "", `{"messages":[]}`).StatusCode)
	}
	if want := []int{500, 500, 200}; !slices.Equal(got, want) {
		t.Errorf("statuses = %v, want %v", got, want)
	}
}

// TestStall reads what comes before the silence, and hangs up.
func TestStall(t *testing.T) {
	for _, stream := range []string{"true", "false"} {
		t.Run("stream "+stream, func(t *testing.T) {
			server := model.Start(t, func(model.Request) model.Answer { return model.Answer{Text: "so far", Stall: true} })
			ctx, cancel := context.WithCancel(t.Context())
			response := post(t, ctx, server, model.Chat, "", `{"messages":[],"stream":`+stream+`}`)
			if _, err := server.Await(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if stream == "true" {
				found := make([]byte, 0, 4096)
				for !bytes.Contains(found, []byte("far")) {
					part := make([]byte, 512)
					n, err := response.Body.Read(part)
					if err != nil {
						t.Fatalf("read %q: %v", found, err)
					}
					found = append(found, part[:n]...)
				}
			}
			cancel()
			if _, err := io.ReadAll(response.Body); err == nil {
				t.Error("the answer came to an end")
			}
		})
	}
}

// TestStallEndsWithTheTest leaves a client waiting: the server's end must not.
func TestStallEndsWithTheTest(t *testing.T) {
	var body io.ReadCloser
	t.Run("inner", func(inner *testing.T) {
		server := model.Start(inner, func(model.Request) model.Answer { return model.Answer{Stall: true} })
		// Of the outer test, which hangs up later than the inner one ends.
		body = post(t, t.Context(), server, model.Responses, "", `{"input":"x","stream":true}`).Body
	})
	if _, err := io.ReadAll(body); err == nil {
		t.Error("the answer came to an end")
	}
}

func TestAwaitGivesUp(t *testing.T) {
	server := model.Start(t, model.Say("x"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := server.Await(ctx, 1); err == nil {
		t.Error("a request that nobody sent was awaited")
	}
}

func TestOtherPaths(t *testing.T) {
	server := model.Start(t, model.Say("x"), model.Models("one", "two"))
	for path, want := range map[string]int{"/v1/models": 200, "/v1/chat/completions": 405, "/elsewhere?q=1": 404} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body := read(t, response)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s = %s", path, response.Status)
		}
		if want == 200 && (!strings.Contains(body, `"one"`) || !strings.Contains(body, `"two"`)) {
			t.Errorf("models = %s", body)
		}
		requests := server.Requests()
		if got := requests[len(requests)-1].Path; got != path {
			t.Errorf("path kept = %q, want %q", got, path)
		}
	}
}
