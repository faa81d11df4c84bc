package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"footfall/agentjobs/sandbox"
)

// What is hidden is empty for the agent, cannot be written or uncovered, and is as it
// was on the host afterwards.
func TestHide(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	files := map[string]string{".tool/plugin/run.js": "evil()\n", "tool.json": "{}\n", "page.md": "page\n"}
	for name, content := range files {
		path := filepath.Join(h.tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Hide(".tool", "tool.json", "not-there"); err != nil {
		t.Fatal(err)
	}
	out := h.sh(t, `find .tool; cat tool.json page.md; test -e not-there || echo nothing
		(echo x > .tool/new || mkdir .tool/plugin || mv .tool gone || umount .tool || rm -r .tool) 2>/dev/null && echo uncovered
		(rm tool.json || mv tool.json gone) 2>/dev/null && echo uncovered
		true`)
	if want := ".tool\npage\nnothing\n"; out != want {
		t.Errorf("the agent saw %q, want %q", out, want)
	}
	for name, want := range files {
		if content, err := os.ReadFile(filepath.Join(h.tree, name)); err != nil || string(content) != want {
			t.Errorf("%s holds %q, %v", name, content, err)
		}
	}
}

func TestWhatCanNotBeHidden(t *testing.T) {
	for name, test := range map[string]struct {
		mode sandbox.Mode
		make func(path string) error
		want error
	}{
		"a link":            {sandbox.Bubblewrap, func(path string) error { return os.Symlink("page.md", path) }, sandbox.ErrNotHidden},
		"without a sandbox": {sandbox.None, func(path string) error { return os.Mkdir(path, 0o700) }, sandbox.ErrNotHidden},
		"not there":         {sandbox.None, func(string) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, test.mode, sandbox.Limits{})
			if err := test.make(filepath.Join(h.tree, "name")); err != nil {
				t.Fatal(err)
			}
			if err := h.Hide("name"); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	for _, name := range []string{"", ".", "..", "../outside", "a/b", "/etc"} {
		if err := h.Hide(name); err == nil {
			t.Errorf("%q was hidden", name)
		}
	}
}
