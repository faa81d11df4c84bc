package agent

import (
	"encoding/json"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
)

// TestForbidden has the paths of tool calls as agents write them.
func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		call    string
		allowed bool
	}{
		{`{}`, true},
		{`{"kind":"execute","rawInput":{"command":"make docs"}}`, true},
		{`{"kind":"execute","rawInput":{"command":["bash","-lc","ls"],"cwd":"/tree/docs"}}`, true},
		{`{"kind":"execute","rawInput":{"command":"ls","cwd":"/"}}`, false},
		{`{"kind":"fetch","rawInput":{"url":"https://example.org"}}`, false},
		{`{"locations":[{"path":"/tree"}]}`, true},
		{`{"locations":[{"path":"/tree/a.md"},{"path":"docs/b.md"},{"path":"./c"}]}`, true},
		{`{"locations":[{"path":"/tree/a.md"},{"path":"/etc/passwd"}]}`, false},
		{`{"locations":[{"path":"/tree/../etc/passwd"}]}`, false},
		{`{"locations":[{"path":"/treehouse/a"}]}`, false},
		{`{"locations":[{"path":"/tree/a/../../tree/b"}]}`, true},
		{`{"locations":[{"path":"../x"}]}`, false},
		{`{"locations":[{"path":""}]}`, false},
		{`{"locations":[{"path":"/tree/a\u0000"}]}`, false},
		{`{"locations":[{"path":"~/.ssh/id"}]}`, false},
		{`{"locations":[{"path":"file:///tree/a"}]}`, true},
		{`{"locations":[{"path":"file:///etc/passwd"}]}`, false},
		{`{"locations":[{"path":"file:etc"}]}`, false},
		{`{"content":[{"type":"diff","path":"/tree/a","newText":""}]}`, true},
		{`{"content":[{"type":"diff","path":"/x","newText":""}]}`, false},
		{`{"rawInput":{"filePath":"/x"}}`, false},
		{`{"rawInput":{"file_path":"/x"}}`, false},
		{`{"rawInput":{"absolute-path":"/x"}}`, false},
		{`{"rawInput":{"parentDir":"/x"}}`, false},
		{`{"rawInput":{"paths":["/tree/a","/x"]}}`, false},
		{`{"rawInput":{"edits":[{"path":"/x"}]}}`, false},
		{`{"rawInput":{"file":{"path":"/x"}}}`, false},
		{`{"rawInput":{"changes":{"/x":{"add":{}}}}}`, false},
		{`{"rawInput":{"changes":{"/tree/a":{"add":{}}}}}`, true},
		{`{"rawInput":{"path":"","content":"/etc/passwd"}}`, true},
		{`{"rawInput":` + strings.Repeat(`[`, 40) + `{"path":"/x"}` + strings.Repeat(`]`, 40) + `}`, false},
	} {
		var call acp.ToolCallUpdate
		if err := json.Unmarshal([]byte(c.call), &call); err != nil {
			t.Fatal(err)
		}
		for _, tree := range []string{"/tree", "/tree/"} {
			if why := forbidden(tree, call); (why == "") != c.allowed {
				t.Errorf("%s in %s: %q", c.call, tree, why)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	option := func(kind acp.PermissionOptionKind) acp.PermissionOption {
		return acp.PermissionOption{Kind: kind, OptionId: acp.PermissionOptionId(kind)}
	}
	all := []acp.PermissionOption{option("allow_always"), option("reject_always"), option("allow_once"), option("reject_once")}
	for _, c := range []struct {
		options []acp.PermissionOption
		allowed bool
		want    string
	}{
		{all, true, "allow_once"},
		{all, false, "reject_once"},
		{all[:2], true, "allow_always"},
		{all[:2], false, "reject_always"},
		{all[:1], false, ""},
		{nil, true, ""},
	} {
		got := choose(c.options, c.allowed)
		switch {
		case c.want == "" && got.Cancelled == nil:
			t.Errorf("%v, %v: not cancelled", c.options, c.allowed)
		case c.want != "" && (got.Selected == nil || string(got.Selected.OptionId) != c.want):
			t.Errorf("%v, %v: %+v", c.options, c.allowed, got)
		}
	}
}
