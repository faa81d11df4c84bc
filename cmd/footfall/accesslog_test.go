package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"footfall/internal/store"
	"footfall/query"
	"footfall/sketch"
)

const realLog = "../../../shared/data/access-2015.log"

// readRealLog returns the real log, or skips the test where it is missing.
func readRealLog(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(realLog)
	if err != nil {
		t.Skipf("the real access log is not here: %v", err)
	}
	return text
}

// countExactly counts a combined log by plain sets of address and user agent,
// with nothing of Footfall but the list of crawlers.
func countExactly(t *testing.T, log []byte) query.Page {
	t.Helper()
	line := regexp.MustCompile(`^(\S+) \S+ .*?\[[^\]]+\] "GET (\S+)[^"]*" (2\d\d|304) \S+ "(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)"`)
	asset := regexp.MustCompile(`(?i)\.(css|js|mjs|map|png|jpg|jpeg|gif|webp|avif|svg|ico|woff|woff2|ttf|otf|eot|mp3|mp4|webm|ogg|wav|zip|gz|tgz|bz2|xz|7z|rar|xml|json|rss|atom)$`)
	slashes := regexp.MustCompile(`/+`)
	var crawlers []*regexp.Regexp
	table, err := os.ReadFile("../../ingest/useragent/crawlers.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(table)) {
		if pattern, _, found := strings.Cut(row, "\t"); found && !strings.HasPrefix(row, "#") {
			crawlers = append(crawlers, regexp.MustCompile(pattern))
		}
	}
	isCrawler := make(map[string]bool)
	pages, site := make(map[string]map[string]bool), make(map[string]bool)
	for row := range bytes.Lines(log) {
		m := line.FindStringSubmatch(string(row))
		if m == nil || m[4] == "-" || m[4] == "" {
			continue
		}
		path, _, _ := strings.Cut(m[2], "?")
		path, _, _ = strings.Cut(path, "#")
		path = slashes.ReplaceAllString("/"+path, "/")
		if path != "/" {
			path = strings.TrimSuffix(path, "/")
		}
		if asset.MatchString(path) || path == "/robots.txt" {
			continue
		}
		crawler, known := isCrawler[m[4]]
		if !known {
			crawler = slices.ContainsFunc(crawlers, func(r *regexp.Regexp) bool { return r.MatchString(m[4]) })
			isCrawler[m[4]] = crawler
		}
		if crawler {
			continue
		}
		visitor := m[1] + " " + m[4]
		if pages[path] == nil {
			pages[path] = make(map[string]bool)
		}
		pages[path][visitor], site[visitor] = true, true
	}
	exact := query.Page{Totals: query.Count{Human: uint64(len(site)), Total: uint64(len(site))}}
	for path, visitors := range pages {
		n := uint64(len(visitors))
		exact.Visitors = append(exact.Visitors, query.Row{Path: path, Count: query.Count{Human: n, Total: n}})
	}
	slices.SortFunc(exact.Visitors, func(a, b query.Row) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), strings.Compare(a.Path, b.Path))
	})
	return exact
}

// visitors returns all rows of an export in the terminal.
func visitors(t *testing.T, data string) query.Page {
	t.Helper()
	var all query.Page
	for offset := 0; ; offset += 250 {
		var page query.Page
		out := must(t, "visitors", "--data", data, "--project", "docs", "--output", "json", "--limit", "250", "--offset", strconv.Itoa(offset))
		if err := json.Unmarshal([]byte(out), &page); err != nil {
			t.Fatal(err)
		}
		all.Totals = page.Totals
		all.Visitors = append(all.Visitors, page.Visitors...)
		if !page.HasMore {
			return all
		}
	}
}

// TestRealLog imports a real log in several ways. Its sets are small, so every
// number must be exactly that of plain sets, each time.
func TestRealLog(t *testing.T) {
	log := readRealLog(t)
	want := countExactly(t, log)
	dir := t.TempDir()
	save := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	whole := save("whole.log", log)
	middle := len(log)/2 + bytes.IndexByte(log[len(log)/2:], '\n') + 1
	first, second := save("first.log", log[:middle]), save("second.log", log[middle:])
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(log); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	compressed := save("whole.log.gz", packed.Bytes())

	tests := []struct {
		name    string
		imports [][]string // files of each import
		views   int64      // of all imports together; 0 where lines are in two sources
	}{
		{"once", [][]string{{whole}}, 2301},
		{"twice", [][]string{{whole}, {whole}}, 2301},
		{"plain, then compressed", [][]string{{whole}, {compressed}}, 2301},
		{"split, in the wrong order", [][]string{{second, first}}, 2301},
		{"grown", [][]string{{first}, {whole}}, 2301},
		{"another source with the same lines", [][]string{{second}, {whole}}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := t.TempDir()
			newDocs(t, data)
			for _, files := range test.imports {
				must(t, append([]string{"import", "--data", data, "--project", "docs"}, files...)...)
			}
			comparePages(t, visitors(t, data), want)
			if test.views > 0 {
				if got := storedViews(t, data); got != test.views {
					t.Errorf("%d views, want %d", got, test.views)
				}
			}
		})
	}

	t.Run("through the server, killed and started again", func(t *testing.T) {
		data := t.TempDir()
		newDocs(t, data)
		p := serve(t, data)
		must(t, "import", "--data", data, "--project", "docs", whole)
		p.kill(t)
		p = serve(t, data)
		must(t, "import", "--data", data, "--project", "docs", whole)
		comparePages(t, visitors(t, data), want)
		p.stop(t)
		if got := storedViews(t, data); got != 2301 {
			t.Errorf("%d views, want 2301", got)
		}
	})

	t.Run("from standard input", func(t *testing.T) {
		data := t.TempDir()
		newDocs(t, data)
		file, err := os.Open(whole)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		out, faults, err := command(t, bufio.NewReader(file), "import", "--data", data, "--project", "docs", "-")
		if err != nil || !strings.Contains(out, "10000 lines: 2301 human views, 0 AI views, 1 malformed") ||
			!strings.Contains(faults, "first at line 8899") {
			t.Errorf("error %v, output %q, %q", err, out, faults)
		}
		comparePages(t, visitors(t, data), want)
	})
}

func comparePages(t *testing.T, got, want query.Page) {
	t.Helper()
	if got.Totals != want.Totals {
		t.Errorf("totals are %+v, want %+v", got.Totals, want.Totals)
	}
	if len(got.Visitors) != len(want.Visitors) {
		t.Errorf("%d rows, want %d", len(got.Visitors), len(want.Visitors))
	}
	for i := range min(len(got.Visitors), len(want.Visitors)) {
		if got.Visitors[i] != want.Visitors[i] {
			t.Fatalf("row %d is %+v, want %+v", i, got.Visitors[i], want.Visitors[i])
		}
	}
}

// storedViews returns the page views of the project, which no server has open.
func storedViews(t *testing.T, data string) int64 {
	t.Helper()
	a := openTest(t, data)
	defer func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	}()
	project, _ := a.registry.Project("docs")
	ranking, err := store.Rank(t.Context(), a.store, project.Number, sketch.AllDays())
	if err != nil {
		t.Fatal(err)
	}
	return int64(ranking.Views[0] + ranking.Views[1])
}

// TestLogsThatBeginAlike imports two logs of which one was first imported when it
// held only the line that both begin with. No view may be lost, and both can be
// imported to their ends.
func TestLogsThatBeginAlike(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	newDocs(t, data)
	line := func(path string) string {
		return `192.0.2.1 - - [01/Jun/2026:10:00:00 +0000] "GET ` + path + ` HTTP/1.1" 200 1 "-" "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"` + "\n"
	}
	load := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		must(t, "import", "--data", data, "--project", "docs", name)
	}
	load("a.log", line("/health"))
	load("b.log", line("/health")+line("/b"))
	load("a.log", line("/health")+line("/a"))
	load("b.log", line("/health")+line("/b")+line("/b2"))
	load("a.log", line("/health")+line("/a")+line("/a2"))
	paths := make(map[string]bool)
	for _, row := range visitors(t, data).Visitors {
		paths[row.Path] = true
	}
	for _, path := range []string{"/health", "/a", "/a2", "/b", "/b2"} {
		if !paths[path] {
			t.Errorf("%s was lost", path)
		}
	}
	if got := storedViews(t, data); got != 6 {
		t.Errorf("%d views, want 6", got)
	}
}
