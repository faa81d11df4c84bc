package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/agentjobs/agent"
)

// TestScript has a prompt of the lines that change the tree, and those that tell of
// the world around.
func TestScript(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "acpagent")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	var asked []string
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"forty-two"}}]}`))
	}))
	defer model.Close()

	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Dir = tree
	cmd.Env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"),
		"FOOTFALL_MODEL=m", "FOOTFALL_MODEL_URL=" + model.URL + "/v1", "OPENAI_API_KEY=k",
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var said []string
	_, err = agent.Run(ctx, agent.Options{
		Stdin: stdin, Stdout: stdout, Tree: tree,
		Prompt: strings.Join([]string{
			`write docs/new.md one\ntwo`,
			"append docs/new.md three",
			"mkdir empty",
			"link here docs/new.md",
			"write gone x",
			"delete gone",
			"run cat here",
			"shell echo $((6 * 7)) > sum",
			"env FOOTFALL_MODEL",
			"model What is it?",
			"http " + model.URL + "/page",
			"http http://127.0.0.1:1/",
		}, "\n"),
		Event: func(e agent.Event) {
			if e.Kind == agent.KindMessage {
				said = append(said, e.Text)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"output: one\ntwo\nthree", "output:", "FOOTFALL_MODEL=m", "forty-two", "status 418",
		`error: Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
	if !slices.Equal(asked, []string{"POST /v1/chat/completions Bearer k", "GET /page Bearer k"}) {
		t.Errorf("asked %q", asked)
	}
	for name, content := range map[string]string{"docs/new.md": "one\ntwo\nthree\n", "sum": "42\n"} {
		if got, err := os.ReadFile(filepath.Join(tree, name)); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if target, err := os.Readlink(filepath.Join(tree, "here")); target != "docs/new.md" {
		t.Errorf("the link: %q, %v", target, err)
	}
	if _, err := os.Stat(filepath.Join(tree, "empty")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(tree, "gone")); err == nil {
		t.Error("the file is still there")
	}
}
