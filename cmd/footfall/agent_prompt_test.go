package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"footfall/agentjobs"
)

// What a prompt holds is text, to git, to the forge and to every program on the way.
func TestAgentPrompts(t *testing.T) {
	s := newStage(t)
	p := s.serve("--agent-runs", "2")
	trap := filepath.Join(t.TempDir(), "executed")
	touch := "touch " + trap
	prompts := map[string]string{
		"command substitution": "$(" + touch + ") `" + touch + "`",
		"separators":           "x; " + touch + " & " + touch + " | " + touch + " && " + touch + "\n; " + touch,
		"quotes":               `"; ` + touch + `; '` + touch + `' \"` + " %s %n ${IFS} $HOME ~ * ? [a-z] {a,b} !! #",
		"leading dashes":       "--upload-pack=" + touch + "\n-c core.pager=" + touch + "\n--exec " + touch,
		"one dash":             "-",
		"trailers":             "Change it\n\nSigned-off-by: Someone <someone@example.com>\nFootfall-Job: 00000000-0000-0000-0000-000000000000\n",
		"line ends":            "\r\n\n first \u2028 second \u2029 third \v fourth\r\nmore",
		"carriage returns":     "text\r@everyone <img src=http://example.com/x>\r\r/merge",
		"escapes":              "\x1b[31mred\x1b[0m \x07 \x08 \x7f \u0085 tab\there",
		"right to left":        "a \u202e txt.exe \u2066 b \u200b c \ufeff d",
		"markup":               "Fixes #1, closes GH-2 @everyone <script>alert(1)</script> ![x](http://example.com/x) /merge\n```\n# heading\n```",
		"comment":              "# a comment for git",
		"scissors":             "# ------------------------ >8 ------------------------\nrest",
		"percent":              "%(refname) %H %x00 100%",
		"not printable":        "\u200b\u202e",
		"wide":                 strings.Repeat("日本語 🙂 ", 30),
		"long":                 strings.Repeat("a", 32<<10-len("\nwrite docs/new.md hello")),
		"long with lines":      strings.Repeat("word\n", (32<<10-len("\nwrite docs/new.md hello"))/5),
	}
	ids := make(map[string]string)
	for name, text := range prompts {
		ids[name] = s.post(p, text, "write docs/new.md hello").ID
	}
	for name, id := range ids {
		j := s.await(p, id)
		s.once(j, 1)
		if j.Status != agentjobs.Completed {
			t.Errorf("%s: %+v", name, j)
			continue
		}
		message := s.git.Log(docsRepository, j.Source.Ref)[0].Message
		subject, body, _ := strings.Cut(message, "\n")
		if strings.TrimSpace(body) != "Footfall-Job: "+id {
			t.Errorf("%s: the commit message is %q", name, message)
		}
		if files := strings.Join(s.git.Files(docsRepository, j.Source.Ref), " "); files != ".github/workflows/ci.yml README.md docs/index.md docs/new.md" {
			t.Errorf("%s: the branch has %s", name, files)
		}
		for _, pull := range s.forge.Pulls() {
			if pull.Head != j.Source.Ref {
				continue
			}
			for what, title := range map[string]string{"commit": subject, "pull request": pull.Title} {
				if title == "" || len([]rune(title)) > 72 || strings.ContainsFunc(title, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%s: the title of the %s is %q", name, what, title)
				}
			}
			if len(pull.Body) > 20<<10 || strings.ContainsFunc(pull.Body, func(r rune) bool {
				return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
			}) {
				t.Errorf("%s: the text of the pull request is %q", name, pull.Body)
			}
			_, quoted, _ := strings.Cut(pull.Body, "\n\n")
			// A bare carriage return ends a line too (CommonMark, section 2.1).
			for line := range strings.Lines(strings.ReplaceAll(quoted, "\r", "\n")) {
				if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "    ") {
					t.Errorf("%s: outside of the quotation the pull request says %q", name, line)
				}
			}
		}
	}
	if _, err := os.Stat(trap); !os.IsNotExist(err) {
		t.Errorf("a prompt was executed: %v", err)
	}

	for name, body := range map[string]string{
		"empty":       promptBody(t, ""),
		"blank":       promptBody(t, " \n\t\u00a0"),
		"too long":    promptBody(t, strings.Repeat("a", 32<<10+1)),
		"NUL":         `{"prompt":"a\u0000b"}`,
		"no UTF-8":    "{\"prompt\":\"a\xffb\"}",
		"half a pair": `{"prompt":"a\ud800b"}`,
		"a number":    `{"prompt":1}`,
		"missing":     `{}`,
	} {
		if status, answer := s.do(p, http.MethodPost, "/job", body); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, status, answer)
		}
	}
	// The same on the command line.
	if _, said, code := s.agentCommand("run", "--", "--help; "+touch+"\nsay done"); code != 0 {
		t.Errorf("a prompt with dashes exits with %d: %s", code, said)
	}
	p.stop(t)
}
