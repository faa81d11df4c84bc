package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	packageJSON = `{"name": "crawler-user-agents", "version": "9.8.7", "license": "MIT", "main": "x"}`
	licence     = "The Licence\r\n\r\nCopyright (c) 2017 Somebody\r\n"
	crawlers    = `[
		{"pattern": "Some\\/Bot", "tags": ["seo", "ai-crawler"], "instances": ["Some/Bot 1", "x Some/Bot 2"]},
		{"pattern": "^b[aA] c", "tags": ["monitoring"], "instances": ["ba c"], "url": "https://example.com"},
		{"pattern": "untagged"}
	]`
)

// unpack writes an npm package to a directory.
func unpack(t *testing.T, packageJSON, licence, crawlers string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"package.json": packageJSON, "LICENSE": licence, "crawler-user-agents.json": crawlers} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	const header = `# package: crawler-user-agents
# version: 9.8.7
# license: MIT
# origin: npm; made by internal/derive, not by hand
#
# The Licence
#
# Copyright (c) 2017 Somebody
`
	const wantTable = header + "Some\\/Bot\tseo,ai-crawler\n^b[aA] c\tmonitoring\nuntagged\t\n"
	const wantExamples = header + "Some/Bot 1\nx Some/Bot 2\nba c\n"
	dir := unpack(t, packageJSON, licence, crawlers)
	out, instances := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "instances")
	for range 2 {
		if err := run(dir, out, instances); err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string]string{out: wantTable, instances: wantExamples} {
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("%v, got:\n%s\nwant:\n%s", err, got, want)
			}
		}
	}
}

func TestRunRefuses(t *testing.T) {
	tests := map[string]struct{ packageJSON, crawlers, want string }{
		"another package":    {`{"name": "other", "version": "1", "license": "MIT"}`, crawlers, `"other"`},
		"no version":         {`{"name": "crawler-user-agents", "license": "MIT"}`, crawlers, "version"},
		"no JSON":            {packageJSON, `[`, "crawler-user-agents.json"},
		"bad pattern":        {packageJSON, `[{"pattern": "a("}]`, "crawler 0"},
		"pattern with a tab": {packageJSON, `[{"pattern": "a\tb"}]`, "crawler 0"},
		"pattern as comment": {packageJSON, `[{"pattern": "x"}, {"pattern": "#x"}]`, "crawler 1"},
		"no pattern":         {packageJSON, `[{"tags": ["seo"]}]`, "crawler 0"},
		"tag with a comma":   {packageJSON, `[{"pattern": "x", "tags": ["a,b"]}]`, "crawler 0"},
		"example on 2 lines": {packageJSON, `[{"pattern": "x", "instances": ["a\nb"]}]`, "crawler 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, test.packageJSON, licence, test.crawlers)
			err := run(dir, filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "instances"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if err := run("", "", ""); err == nil {
		t.Error("no error without flags")
	}
}
