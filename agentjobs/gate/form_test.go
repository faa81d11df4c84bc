package gate_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// paths are the routes with a body, by a short name.
var paths = map[string]string{
	"chat":      "/v1/chat/completions",
	"responses": "/v1/responses",
	"messages":  "/v1/messages",
}

// with is a body of a route that has one more field.
func with(route, field string) string {
	switch route {
	case "responses":
		return `{"model":"` + model + `","input":"hello",` + field + `}`
	default:
		return chat(field)
	}
}

// saying is a body of a route whose only message holds the content.
func saying(route, content string) string {
	message := `[{"role":"user","content":` + content + `}]`
	if route == "responses" {
		return `{"model":"` + model + `","input":` + message + `}`
	}
	return `{"model":"` + model + `","messages":` + message + `}`
}

func TestToolsOfTheHostAreRefused(t *testing.T) {
	for route, tools := range map[string][]string{
		"chat": {
			`{"type":"web_search"}`, `{"type":"web_search_preview"}`, `{"type":"mcp","server_url":"https://evil.example"}`,
			`{"type":"builtin_function","function":{"name":"$web_search"}}`, `{"google_search":{}}`, `{"type":"openrouter:web_search"}`,
			`{"type":null,"google_search":{}}`, `{"type":"local_shell"}`,
		},
		"responses": {
			`{"type":"web_search"}`, `{"type":"web_search_2025_08_26"}`, `{"type":"web_search_preview_2025_03_11"}`,
			`{"type":"code_interpreter","container":{"type":"auto"}}`, `{"type":"file_search","vector_store_ids":["vs_1"]}`,
			`{"type":"computer_use_preview"}`, `{"type":"computer"}`, `{"type":"image_generation","model":"other"}`,
			`{"type":"mcp","server_label":"x","server_url":"https://evil.example"}`, `{"type":"programmatic_tool_calling"}`,
			`{"type":"shell"}`, `{"type":"shell","environment":null}`, `{"type":"shell","environment":{"type":"container_auto"}}`,
			`{"type":"shell","environment":{"type":"container_reference","container_id":"c"}}`,
			`{"type":"tool_search"}`, `{"type":"tool_search","execution":"server"}`,
			`{"type":"namespace","name":"n","tools":[{"type":"mcp","server_url":"https://evil.example"}]}`,
			`{"type":"namespace","name":"n","tools":[{"type":"namespace","tools":[]}]}`,
			`{"type":"function","name":"f","allowed_callers":["programmatic"]}`,
		},
		"messages": {
			`{"type":"web_search_20250305","name":"web_search"}`, `{"type":"web_search_20260318","name":"web_search"}`,
			`{"type":"web_fetch_20250910","name":"web_fetch"}`, `{"type":"code_execution_20250825","name":"code_execution"}`,
			`{"type":"computer_20251124","name":"computer"}`, `{"type":"advisor_20260301","name":"advisor","model":"other"}`,
			`{"type":"mcp_toolset","mcp_server_name":"x"}`, `{"type":"tool_search_tool_regex_20251119","name":"t"}`,
			`{"type":"bash_code_execution_20250825"}`, `{"type":"bash_2025012"}`, `{"type":"_20250124"}`,
			`{"name":"web_search"}`, `{"name":"f","input_schema":{},"allowed_callers":["code_execution_20250825"]}`,
		},
	} {
		for _, tool := range tools {
			t.Run(route+tool, func(t *testing.T) {
				u := newUpstream(t)
				a := open(t, u)
				refused(t, a, u, a.request("POST", paths[route], with(route, `"tools":[`+tool+`]`)), http.StatusForbidden)
			})
		}
	}
}

func TestFieldsThatReachBeyondAnAnswerAreRefused(t *testing.T) {
	for route, fields := range map[string][]string{
		"chat": {
			`"web_search_options":{"search_context_size":"low"}`, `"webSearchOptions":{"a":1}`, `"plugins":[{"id":"web"}]`, `"models":["other"]`,
			`"search_parameters":{"mode":"on"}`, `"enable_search":true`, `"extra_body":{"model":"other"}`,
			`"tool_choice":{"type":"web_search"}`,
		},
		"responses": {
			`"background":true`, `"conversation":"conv_1"`, `"previous_response_id":"resp_1"`, `"prompt":{"id":"pmpt_1"}`,
			`"tool_choice":{"type":"mcp","server_label":"x"}`, `"tool_choice":{"type":"code_interpreter"}`,
		},
		"messages": {
			`"mcp_servers":[{"type":"url","url":"https://evil.example"}]`, `"container":"container_1"`,
			`"container":{"skills":[{"type":"anthropic"}]}`, `"fallbacks":[{"model":"other"}]`,
		},
	} {
		for _, field := range fields {
			t.Run(route+field, func(t *testing.T) {
				u := newUpstream(t)
				a := open(t, u)
				status := http.StatusForbidden
				refused(t, a, u, a.request("POST", paths[route], with(route, field)), status)
			})
		}
	}
}

func TestContentThatTheHostWouldFetchIsRefused(t *testing.T) {
	for route, contents := range map[string][]string{
		"chat": {
			`[{"type":"image_url","image_url":{"url":"https://evil.example/?secret"}}]`, `[{"type":"image_url","image_url":"http://evil.example"}]`,
			`[{"type":"image_url","image_url":{"URL":"https://evil.example"}}]`, `[{"type":"image_url","imageUrl":"https://evil.example"}]`,
			`[{"type":"image_url","image_url":{"url":"//evil.example"}}]`, `[{"type":"image_url","image_url":{"url":" data:,"}}]`,
			`[{"type":"image_url","im\u0061ge_url":{"url":"https://evil.example"}}]`,
			`[{"type":"video_url","video_url":{"url":"https://evil.example"}}]`, `[{"type":"text","text":"t","image":"https://evil.example"}]`,
			`[{"type":"file","file":{"file_id":"file_1"}}]`, `[{"type":"file","file":{"file_data":"https://evil.example"}}]`,
			`[{"type":"file","file":{"fileId":"file_1"}}]`, `[{"type":"input_audio","input_audio":{"data":"https://evil.example"}}]`,
			`[{"type":"video","video":["https://evil.example/1"]}]`, `[{"video":["https://evil.example/1"]}]`, `[{"image_urls":["https://evil.example"]}]`,
		},
		"responses": {
			`[{"type":"input_image","image_url":"https://evil.example"}]`, `[{"type":"input_image","file_id":"file_1"}]`,
			`[{"type":"input_file","file_url":"https://evil.example"}]`, `[{"type":"input_file","file_id":"file_1"}]`,
			`[{"type":"output_text","text":"t","annotations":[{"type":"container_file_citation","container_id":"c","file_id":"f"}]}]`,
		},
		"messages": {
			`[{"type":"image","source":{"type":"url","url":"https://evil.example"}}]`, `[{"type":"image","source":{"type":"file","file_id":"file_1"}}]`,
			`[{"type":"document","source":{"type":"url","url":"https://evil.example"}}]`, `[{"type":"image","source":"https://evil.example"}]`,
			`[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"https://evil.example"}}]}}]`,
			`[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"url","url":"https://evil.example"}}]}]`,
			`[{"type":"container_upload","file_id":"file_1"}]`, `[{"type":"server_tool_use","name":"web_search"}]`, `[{"type":"mcp_tool_use"}]`,
			`[{"type":"tool_addition","tool":{"type":"mcp_toolset_reference"}}]`,
		},
	} {
		for _, content := range contents {
			t.Run(route+content, func(t *testing.T) {
				u := newUpstream(t)
				a := open(t, u)
				got := a.post(paths[route], saying(route, content))
				if got.status != http.StatusForbidden && got.status != http.StatusBadRequest || len(u.received()) != 0 {
					t.Errorf("status %d, %d requests reached the model's host: %s", got.status, len(u.received()), got.body)
				}
			})
		}
	}
}

func TestInputItemsThatReachBeyondTheirRunAreRefused(t *testing.T) {
	for _, item := range []string{
		`{"type":"item_reference","id":"msg_1"}`, `{"id":"msg_1"}`, `{"type":null,"id":"msg_1"}`,
		`{"type":"mcp_approval_response","approve":true}`, `{"type":"code_interpreter_call","container_id":"c"}`, `{"type":"program","code":"x"}`,
		`{"type":"additional_tools","role":"developer","tools":[{"type":"web_search"}]}`,
		`{"type":"tool_search_output","tools":[{"type":"mcp","server_url":"https://evil.example"}]}`,
		`{"type":"shell_call","call_id":"c","action":{},"environment":{"type":"container_reference","container_id":"c"}}`,
		`{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"https://evil.example"}]}`,
	} {
		t.Run(item, func(t *testing.T) {
			u := newUpstream(t)
			a := open(t, u)
			refused(t, a, u, a.request("POST", paths["responses"], `{"model":"`+model+`","input":[`+item+`]}`), http.StatusForbidden)
		})
	}
}

// The bodies in testdata are written after what the agents send.
func TestWhatAgentsSendPassesWhole(t *testing.T) {
	for name, route := range map[string]string{
		"opencode.json": "chat", "codex.json": "responses", "claude.json": "messages",
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			u := newUpstream(t)
			a := open(t, u)
			got := a.post(paths[route], string(text))
			if got.status != http.StatusOK {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			if dropped := a.Usage().Dropped; dropped != 0 {
				t.Errorf("%d fields were left out", dropped)
			}
			var sent, arrived any
			if err := json.Unmarshal(text, &sent); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(u.last(t).body, &arrived); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(sent, arrived) {
				t.Errorf("arrived as %s", u.last(t).body)
			}
		})
	}
}

func TestURLsThatAreOnlyReadPass(t *testing.T) {
	u := newUpstream(t)
	a := open(t, u)
	for route, content := range map[string]string{
		"chat":      `"https://docs.example/page"`,
		"responses": `[{"type":"input_text","text":"https://docs.example/page"}]`,
		"messages": `[{"type":"text","text":"https://docs.example"},{"type":"tool_use","id":"t","name":"fetch","input":{"url":"https://docs.example","file_id":"x","type":"page"}},` +
			`{"type":"search_result","source":"https://docs.example","title":"t","content":[{"type":"text","text":"x"}]}]`,
	} {
		if got := a.post(paths[route], saying(route, content)); got.status != http.StatusOK {
			t.Errorf("%s: status %d: %s", route, got.status, got.body)
		}
	}
	schema := `{"type":"object","properties":{"url":{"type":"string","default":"https://docs.example"},"file_id":{"type":"string"},"Type":{"type":"mcp"}}}`
	for route, tool := range map[string]string{
		"chat":      `{"type":"function","function":{"name":"fetch","parameters":` + schema + `}}`,
		"responses": `{"type":"function","name":"fetch","parameters":` + schema + `}`,
		"messages":  `{"name":"fetch","input_schema":` + schema + `}`,
	} {
		if got := a.post(paths[route], with(route, `"tools":[`+tool+`]`)); got.status != http.StatusOK {
			t.Errorf("%s: status %d: %s", route, got.status, got.body)
		}
		if !strings.Contains(string(u.last(t).body), schema) {
			t.Errorf("%s: the schema arrived as %s", route, u.last(t).body)
		}
	}
}
