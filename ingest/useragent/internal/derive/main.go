// Command derive makes the table of crawlers that package useragent embeds from
// an unpacked release of the npm package crawler-user-agents.
//
//	derive -package DIR -out crawlers.tsv [-instances crawlers.txt]
//
// The same release gives the same bytes.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	packageDir := flag.String("package", "", "directory of the unpacked npm package")
	out := flag.String("out", "", "file to write the patterns and their tags to")
	instances := flag.String("instances", "", "file to write the package's examples of user agents to, for tests")
	flag.Parse()
	if err := run(*packageDir, *out, *instances); err != nil {
		fmt.Fprintln(os.Stderr, "derive:", err)
		os.Exit(1)
	}
}

func run(packageDir, out, instances string) error {
	if packageDir == "" || out == "" {
		return errors.New("-package and -out are required")
	}
	r, err := readRelease(packageDir)
	if err != nil {
		return err
	}
	table, err := r.table()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, table, 0o644); err != nil {
		return err
	}
	if instances == "" {
		return nil
	}
	examples, err := r.examples()
	if err != nil {
		return err
	}
	return os.WriteFile(instances, examples, 0o644)
}

// release is what is read from the package: package.json, the text of its
// licence, and its crawlers in the order of the file.
type release struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	License     string `json:"license"` // SPDX identifier
	licenseText string
	crawlers    []crawler
}

type crawler struct {
	Pattern   string   `json:"pattern"`
	Tags      []string `json:"tags"`
	Instances []string `json:"instances"`
}

func readRelease(dir string) (*release, error) {
	r := new(release)
	if err := readJSON(filepath.Join(dir, "package.json"), r); err != nil {
		return nil, err
	}
	if r.Name != "crawler-user-agents" || r.Version == "" || r.License == "" {
		return nil, fmt.Errorf("%s holds package %q, version %q, license %q; want crawler-user-agents with both", dir, r.Name, r.Version, r.License)
	}
	text, err := os.ReadFile(filepath.Join(dir, "LICENSE"))
	if err != nil {
		return nil, err
	}
	r.licenseText = string(text)
	return r, readJSON(filepath.Join(dir, "crawler-user-agents.json"), &r.crawlers)
}

func readJSON(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode %s: %w", file, err)
	}
	return nil
}

// header is the origin and, because the licence wants it in every copy, the
// whole text of the licence, as comments.
func (r *release) header() *bytes.Buffer {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# package: %s\n# version: %s\n# license: %s\n", r.Name, r.Version, r.License)
	fmt.Fprintf(&b, "# origin: npm; made by internal/derive, not by hand\n#\n")
	for line := range strings.Lines(r.licenseText) {
		b.WriteString(strings.TrimRight("# "+line, " \r\n") + "\n")
	}
	return &b
}

// table is the embedded file: a line a pattern, then a tab and its tags.
func (r *release) table() ([]byte, error) {
	b := r.header()
	for i, c := range r.crawlers {
		if _, err := regexp.Compile(c.Pattern); err != nil {
			return nil, fmt.Errorf("crawler %d: %w", i, err)
		}
		for _, tag := range c.Tags {
			if tag == "" || strings.ContainsAny(tag, ",\t\r\n") {
				return nil, fmt.Errorf("crawler %d, %q: tag %q does not fit the table", i, c.Pattern, tag)
			}
		}
		if c.Pattern == "" || c.Pattern[0] == '#' || strings.ContainsAny(c.Pattern, "\t\r\n") {
			return nil, fmt.Errorf("crawler %d: pattern %q does not fit the table", i, c.Pattern)
		}
		fmt.Fprintf(b, "%s\t%s\n", c.Pattern, strings.Join(c.Tags, ","))
	}
	return b.Bytes(), nil
}

// examples is every example of a user agent, in order, one a line.
func (r *release) examples() ([]byte, error) {
	b := r.header()
	for i, c := range r.crawlers {
		for _, example := range c.Instances {
			if example == "" || example[0] == '#' || strings.ContainsAny(example, "\r\n") {
				return nil, fmt.Errorf("crawler %d: example %q does not fit on a line", i, example)
			}
			b.WriteString(example + "\n")
		}
	}
	return b.Bytes(), nil
}
