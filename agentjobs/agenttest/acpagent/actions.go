package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// maxSaid bounds what is said of a program's output or a server's answer, in bytes.
const maxSaid = 4 << 10

func (t *turn) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(t.session.Directory, p)
}

// change changes the tree.
func (t *turn) change(ctx context.Context, verb, rest string) error {
	name, text, _ := strings.Cut(rest, " ")
	path := t.path(name)
	var content []acp.ToolCallContent
	kind := acp.ToolKindEdit
	var do func() error
	switch verb {
	case "write":
		old, _ := os.ReadFile(path)
		content = []acp.ToolCallContent{acp.ToolDiffContent(path, text+"\n", string(old))}
		do = func() error { return os.WriteFile(path, []byte(text+"\n"), 0o644) }
	case "append":
		old, _ := os.ReadFile(path)
		whole := string(old) + text + "\n"
		content = []acp.ToolCallContent{acp.ToolDiffContent(path, whole, string(old))}
		do = func() error { return os.WriteFile(path, []byte(whole), 0o644) }
	case "delete":
		kind = acp.ToolKindDelete
		do = func() error { return os.RemoveAll(path) }
	case "link":
		do = func() error { return os.Symlink(text, path) }
	case "mkdir":
		do = func() error { return os.Mkdir(path, 0o755) }
	}
	return t.tool(ctx, kind, verb+" "+name, content, func() error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return do()
	})
}

// run runs a program and says what it wrote.
func (t *turn) run(ctx context.Context, title string, argv []string) error {
	if len(argv) == 0 {
		return acp.NewInvalidParams("run needs a program")
	}
	var output []byte
	err := t.tool(ctx, acp.ToolKindExecute, title, nil, func() error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = t.session.Directory
		var err error
		output, err = cmd.CombinedOutput()
		return err
	})
	if err != nil {
		return err
	}
	return t.say(ctx, "output: "+strings.TrimSpace(string(output[:min(len(output), maxSaid)])))
}

// askModel asks the model as the environment says, and returns the answer or what
// was wrong.
func askModel(ctx context.Context, text string) string {
	body, err := json.Marshal(map[string]any{
		"model":    os.Getenv("FOOTFALL_MODEL"),
		"messages": []map[string]string{{"role": "user", "content": text}},
	})
	if err != nil {
		return "error: " + err.Error()
	}
	status, answer, err := exchange(ctx, http.MethodPost, os.Getenv("FOOTFALL_MODEL_URL")+"/chat/completions", body)
	if err != nil {
		return "error: " + err.Error()
	}
	var reply struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal(answer, &reply); err != nil || len(reply.Choices) == 0 {
		return fmt.Sprintf("the model answered %d: %s", status, answer)
	}
	return reply.Choices[0].Message.Content
}

// get returns the status of a page, or what was wrong.
func get(ctx context.Context, url string) string {
	status, _, err := exchange(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("status %d", status)
}

func exchange(ctx context.Context, method, url string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key := os.Getenv("OPENAI_API_KEY"); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxSaid))
	return response.StatusCode, answer, err
}

// askPermission asks whether a file may be edited, and says the answer.
func (t *turn) askPermission(ctx context.Context, path string) error {
	answer, err := t.agent.connection.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: acp.SessionId(t.session.ID),
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: "permission",
			Title:      acp.Ptr("edit " + path),
			Kind:       acp.Ptr(acp.ToolKindEdit),
			RawInput:   map[string]any{"filePath": path},
		},
		Options: []acp.PermissionOption{
			{Kind: acp.PermissionOptionKindAllowAlways, Name: "Always", OptionId: "always"},
			{Kind: acp.PermissionOptionKindAllowOnce, Name: "Once", OptionId: "once"},
			{Kind: acp.PermissionOptionKindRejectOnce, Name: "No", OptionId: "no"},
		},
	})
	switch {
	case err != nil:
		return t.say(ctx, "permission: "+err.Error())
	case answer.Outcome.Selected == nil:
		return t.say(ctx, "permission: cancelled")
	default:
		return t.say(ctx, "permission: "+string(answer.Outcome.Selected.OptionId))
	}
}

// callFiles asks the client for a file, which it must not give.
func (t *turn) callFiles(ctx context.Context, path string) error {
	answer, err := t.agent.connection.ReadTextFile(ctx, acp.ReadTextFileRequest{
		SessionId: acp.SessionId(t.session.ID), Path: path,
	})
	if err != nil {
		return t.say(ctx, "file refused: "+err.Error())
	}
	return t.say(ctx, "file given: "+answer.Content)
}

// callTerminal asks the client to run a program, which it must not do.
func (t *turn) callTerminal(ctx context.Context) error {
	_, err := t.agent.connection.CreateTerminal(ctx, acp.CreateTerminalRequest{
		SessionId: acp.SessionId(t.session.ID), Command: "true",
	})
	if err != nil {
		return t.say(ctx, "terminal refused: "+err.Error())
	}
	return t.say(ctx, "terminal given")
}
