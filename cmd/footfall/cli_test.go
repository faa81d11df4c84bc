package main

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAdministration runs the administrative commands twice: while no server
// runs, and through the control socket of one. Nothing may differ.
func TestAdministration(t *testing.T) {
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served=%v", served), func(t *testing.T) {
			data := t.TempDir()
			if served {
				p := serve(t, data)
				defer p.stop(t)
			}
			administer(t, data)
		})
	}
}

func administer(t *testing.T, data string) {
	must(t, "project", "create", "docs", "--data", data)
	refuse(t, "the project exists already", "project", "create", "docs", "--data", data)
	refuse(t, "1 to 63 characters", "project", "create", "Docs", "--data", data)
	must(t, "project", "create", "api", "--data", data)
	if out := must(t, "project", "list", "--data", data); !regexp.MustCompile(`(?s)PROJECT.*\napi .*\ndocs `).MatchString(out) {
		t.Errorf("the list of projects is\n%s", out)
	}

	out, faults, err := command(t, nil, "key", "create", "--data", data, "--project", "docs", "--scope", "read", "--name", "dashboards", "--allow", "192.0.2.0/24")
	if err != nil || !regexp.MustCompile(`^ff_[a-z2-7]{32}\n$`).MatchString(out) {
		t.Fatalf("key create printed %q (%v)", out, err)
	}
	id := regexp.MustCompile(`key_\S+`).FindString(faults)
	listed := must(t, "key", "list", "--data", data)
	if !strings.Contains(listed, id) || !strings.Contains(listed, "dashboards") || !strings.Contains(listed, "192.0.2.0/24") || strings.Contains(listed, strings.TrimSpace(out)) {
		t.Errorf("the list of keys is\n%s", listed)
	}
	refuse(t, "no such project", "key", "create", "--data", data, "--project", "missing", "--scope", "read")
	refuse(t, "--scope", "key", "create", "--data", data, "--project", "docs", "--scope", "write")
	refuse(t, "--expires", "key", "create", "--data", data, "--scope", "read", "--expires", "soon")
	refuse(t, "--allow", "key", "create", "--data", data, "--scope", "read", "--allow", "0.0.0.0/0")
	refuse(t, "unknown command", "key", "revok", id, "--data", data)
	refuse(t, "--project must not be empty", "key", "create", "--data", data, "--project", "", "--scope", "read")
	must(t, "key", "revoke", id, "--data", data)
	refuse(t, "no such key", "key", "revoke", id, "--data", data)

	refuse(t, "no such project", "visitors", "--data", data, "--project", "missing")
	refuse(t, "--from", "visitors", "--data", data, "--project", "docs", "--from", "yesterday")
	refuse(t, "--limit", "visitors", "--data", data, "--project", "docs", "--limit", "251")

	log := filepath.Join(t.TempDir(), "access.log")
	writeLog(t, log, 3)
	out = must(t, "import", "--data", data, "--project", "docs", log)
	if !strings.Contains(out, "3 lines: 3 human views, 0 AI views, 0 malformed") {
		t.Errorf("import printed\n%s", out)
	}
	records, err := csv.NewReader(strings.NewReader(must(t, "visitors", "--data", data, "--project", "docs", "--output", "csv"))).ReadAll()
	if err != nil || len(records) != 4 || strings.Join(records[1], ",") != "/page-0,1,0,1" {
		t.Errorf("visitors as CSV are %v (%v)", records, err)
	}

	if _, _, err := command(t, strings.NewReader("no\n"), "project", "delete", "docs", "--data", data); err == nil {
		t.Error("a project was deleted although the answer was not its ID")
	}
	if _, faults, err := command(t, strings.NewReader("docs\n"), "project", "delete", "docs", "--data", data); err != nil {
		t.Errorf("deleting a project: %v\n%s", err, faults)
	}
	must(t, "project", "delete", "api", "--yes", "--data", data)
	must(t, "project", "create", "docs", "--data", data)
	if page := visitors(t, data); len(page.Visitors) != 0 || page.Totals.Total != 0 {
		t.Errorf("a project that was created again has %+v", page)
	}
}

func refuse(t *testing.T, say string, args ...string) {
	t.Helper()
	_, faults, err := command(t, nil, args...)
	if err == nil || !strings.Contains(faults, say) {
		t.Errorf("footfall %s: error %v says %q, want %q in it", strings.Join(args, " "), err, faults, say)
	}
}

// writeLog writes a log of some lines, each of another client on another page.
func writeLog(t *testing.T, name string, lines int) {
	t.Helper()
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, `192.0.2.%d - - [01/Jun/2026:10:00:00 +0000] "GET /page-%d HTTP/1.1" 200 100 "-" "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"`+"\n", i, i)
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDeletionLeavesNothing looks for a deleted project's ID, its secret, its key's
// name and its pages in every file of the data directory, while another project
// goes on.
func TestDeletionLeavesNothing(t *testing.T) {
	data := t.TempDir()
	must(t, "project", "create", "left-over", "--data", data)
	must(t, "project", "create", "left-over-2", "--data", data)
	key := strings.TrimSpace(must(t, "key", "create", "--data", data, "--project", "left-over", "--scope", "admin", "--name", "name-of-the-key"))
	a := openTest(t, data)
	project, _ := a.registry.Project("left-over")
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	p := serve(t, data)
	event := `{"path":"/a-page-of-its-own","visitorId":"v","traffic":"human"}`
	if status, body := request(t, "POST", p.url+"/v1/analytics/left-over/events", key, strings.NewReader(event)); status != 202 {
		t.Fatalf("status %d: %s", status, body)
	}
	traces := map[string]string{
		"page":   "/a-page-of-its-own",
		"name":   "name-of-the-key",
		"secret": base64.StdEncoding.EncodeToString(project.Secret[:]),
		"ID":     "left-over\x00",
	}
	for what, trace := range traces {
		if !holds(t, data, trace) {
			t.Errorf("the %s is in no file before the deletion, so the test sees nothing", what)
		}
	}
	must(t, "project", "delete", "left-over", "--yes", "--data", data)
	for what, trace := range traces {
		if holds(t, data, trace) {
			t.Errorf("a file holds the %s of the deleted project", what)
		}
	}
	if status, _ := request(t, "GET", p.url+"/v1/analytics/left-over/visitors", key, nil); status != 401 {
		t.Errorf("a key of the deleted project is answered with %d, want 401", status)
	}
	if list := must(t, "project", "list", "--data", data); !strings.Contains(list, "left-over-2 ") {
		t.Errorf("the other project is gone:\n%s", list)
	}
	p.stop(t)
}

func holds(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		found = found || bytes.Contains(content, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSecondServer(t *testing.T) {
	data := t.TempDir()
	p := serve(t, data)
	refuse(t, "in use by another process", "serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	p.stop(t)
	serve(t, data).stop(t)
}

// TestConfiguration: a flag wins over the environment, the environment over the
// file, and what is wrong is named wherever it stands.
func TestConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "footfall.yaml")
	configure := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := t.TempDir()
	newDocs(t, data)
	log := filepath.Join(t.TempDir(), "access.log")
	writeLog(t, log, 5)
	must(t, "import", "--data", data, "--project", "docs", log)
	rows := func(args ...string) int {
		t.Helper()
		out := must(t, append([]string{"visitors", "--config", file, "--output", "csv"}, args...)...)
		return strings.Count(out, "\n") - 1
	}
	configure("data: " + data + "\nproject: docs\nlimit: 3\nlisten: 127.0.0.1:1\n")
	if n := rows(); n != 3 {
		t.Errorf("%d rows with the file's limit, want 3", n)
	}
	t.Setenv("FOOTFALL_LIMIT", "2")
	if n := rows(); n != 2 {
		t.Errorf("%d rows with the environment's limit, want 2", n)
	}
	if n := rows("--limit", "1"); n != 1 {
		t.Errorf("%d rows with the flag's limit, want 1", n)
	}
	t.Setenv("FOOTFALL_LIMIT", "many")
	refuse(t, "FOOTFALL_LIMIT", "visitors", "--config", file)
	if err := os.Unsetenv("FOOTFALL_LIMIT"); err != nil {
		t.Fatal(err)
	}
	configure("limit: many\n")
	refuse(t, "whole number from 1 to 250", "visitors", "--config", file)
	configure("limmit: 3\n")
	refuse(t, "limmit", "visitors", "--config", file)
	configure("limit: {a: 1}\n")
	refuse(t, "limit must be", "visitors", "--config", file)
	refuse(t, "must be an address and a port", "serve", "--data", data, "--listen", "8080")
	refuse(t, "must be one of debug, info, warn, error", "version", "--log-level", "loud")
}

func TestVersionAndCompletion(t *testing.T) {
	if out := must(t, "version"); !regexp.MustCompile(`^footfall \S+\ncommit \S+\ngo1\.\S+\nstorage format 3\n$`).MatchString(out) {
		t.Errorf("version printed %q", out)
	}
	if out := must(t, "completion", "bash"); !strings.Contains(out, "footfall") {
		t.Error("there is no completion for bash")
	}
	if out := must(t, "__complete", "key", "create", "--scope", ""); !strings.HasPrefix(out, "admin\nread\ningest\n") {
		t.Errorf("a scope is completed with %q", out)
	}
}

// TestMistypedDirectory: a command that only reads makes no data directory.
func TestMistypedDirectory(t *testing.T) {
	data := filepath.Join(t.TempDir(), "typo")
	for _, args := range [][]string{{"project", "list"}, {"key", "list"}, {"visitors", "--project", "docs"}, {"import", "--project", "docs", "-"}} {
		refuse(t, "there is no data directory", append(args, "--data", data)...)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the directory was made")
	}
}

func TestNewerFormat(t *testing.T) {
	data := t.TempDir()
	newDocs(t, data)
	if err := os.WriteFile(filepath.Join(data, "format"), []byte("footfall data format 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(t, "format 4 is newer", "serve", "--data", data)
}
