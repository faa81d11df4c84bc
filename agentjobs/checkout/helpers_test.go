package checkout_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"footfall/agentjobs/agenttest/githost"
	"footfall/agentjobs/checkout"
)

const (
	repository = "acme/docs"
	branch     = "footfall/0199"
)

var commitTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// page is a repository with one page.
var page = map[string]string{"docs/index.md": "# Welcome\n", "README.md": "read me\n"}

func options(t *testing.T, host *githost.Host) checkout.Options {
	t.Helper()
	return checkout.Options{
		Dir:      filepath.Join(t.TempDir(), "job"),
		Remote:   host.URL(repository),
		Insecure: true,
		Author:   checkout.Author{Name: "Footfall Agent", Email: "agent@example.org"},
		Now:      func() time.Time { return commitTime },
	}
}

func open(t *testing.T, o checkout.Options) *checkout.Checkout {
	t.Helper()
	c, err := checkout.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// started is a host with a repository, and a checkout of it that is prepared.
func started(t *testing.T, files map[string]string) (*githost.Host, *checkout.Checkout) {
	t.Helper()
	host := githost.Start(t, githost.Options{})
	host.Create(repository, files)
	c := open(t, options(t, host))
	prepare(t, c)
	return host, c
}

func prepare(t *testing.T, c *checkout.Checkout) checkout.Start {
	t.Helper()
	start, err := c.Prepare(t.Context(), branch, "main")
	if err != nil {
		t.Fatal(err)
	}
	return start
}

func commit(t *testing.T, c *checkout.Checkout) checkout.Change {
	t.Helper()
	change, err := c.Commit(t.Context(), "a change")
	if err != nil {
		t.Fatal(err)
	}
	return change
}

func push(t *testing.T, c *checkout.Checkout) {
	t.Helper()
	if err := c.Push(t.Context(), branch); err != nil {
		t.Fatal(err)
	}
}

// write does what an agent does: it puts a file into the tree.
func write(t *testing.T, c *checkout.Checkout, name, content string) {
	t.Helper()
	put(t, filepath.Join(c.Tree(), name), content, 0o644)
}

func put(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Dir(name), 0o755))
	ok(t, os.WriteFile(name, []byte(content), mode))
}

func link(t *testing.T, c *checkout.Checkout, name, target string) {
	t.Helper()
	name = filepath.Join(c.Tree(), name)
	ok(t, os.MkdirAll(filepath.Dir(name), 0o755))
	ok(t, os.Symlink(target, name))
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c *checkout.Checkout, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.Tree(), name))
	ok(t, err)
	return string(content)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// refused asserts that a commit is a violation at a path.
func refused(t *testing.T, c *checkout.Checkout, path string) {
	t.Helper()
	change, err := c.Commit(t.Context(), "a change")
	var violation *checkout.Violation
	if !errors.As(err, &violation) {
		t.Fatalf("Commit = %+v, %v; want a violation", change, err)
	}
	if violation.Path != path {
		t.Errorf("%v; want the path %q", violation, path)
	}
}

func is(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error is %v; want %v", err, target)
	}
}

// noise is what no compression makes smaller.
func noise(size int) string {
	bytes := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(bytes) // never fails
	return string(bytes)
}

func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
