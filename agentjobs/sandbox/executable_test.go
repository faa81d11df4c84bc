package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/agentjobs/sandbox"
)

// write makes an executable, and the directories above it.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// A program outside of /usr is shown alone, at its own path; a link to it is
// followed.
func TestProgramAlone(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tools", "agent"), "#!/usr/bin/env sh\nls -A $(dirname $0); echo \"$@\"; ls -A "+dir+"\n")
	write(t, filepath.Join(dir, "tools", "secret"), canary)
	if err := os.Symlink("tools/agent", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	out, err := h.run(t, "link", "--flag", "a b", "$HOME")
	if want := "agent\n--flag a b $HOME\ntools\n"; err != nil || out != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}

// A program that npm installed sees all of the outermost node_modules, and
// nothing beside it.
func TestProgramOfNodeModules(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	dir := t.TempDir()
	modules := filepath.Join(dir, "node_modules")
	program := filepath.Join(modules, "outer", "node_modules", "inner", "bin", "agent")
	write(t, program, "#!/bin/sh\ncat "+modules+"/shared/lib; ls -A "+dir+"; ! touch "+modules+"/x\n")
	write(t, filepath.Join(modules, "shared", "lib"), "shared\n")
	write(t, filepath.Join(dir, "secret"), canary)
	if err := os.MkdirAll(filepath.Join(modules, ".bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(modules, ".bin", "agent")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	out, err := h.run(t, link)
	if want := "shared\nnode_modules\n"; err != nil || out != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}

// A runtime's programs are found, and can not be written.
func TestRuntime(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bin", "our-runtime"), "#!/bin/sh\necho runs\n")
	box, err := sandbox.New(sandbox.Options{Mode: sandbox.Bubblewrap, Self: os.Args[0], Runtime: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	h.Room, err = box.Prepare(sandbox.Spec{Tree: h.tree, Home: h.home})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if out := h.sh(t, "our-runtime; ! touch "+dir+"/x"); out != "runs\n" {
		t.Errorf("got %q", out)
	}
	if h.ModelURL != "" {
		t.Errorf("without a gate the model is at %q", h.ModelURL)
	}

	within := filepath.Join(dir, "tree")
	if err := os.Mkdir(within, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Prepare(sandbox.Spec{Tree: within, Home: h.home}); err == nil {
		t.Error("a tree that every run sees was taken")
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for _, o := range []sandbox.Options{
		{},
		{Mode: "docker"},
		{Mode: sandbox.Bubblewrap, Limits: sandbox.Limits{Processes: -1}},
		{Mode: sandbox.Bubblewrap, Runtime: []string{"/"}},
		{Mode: sandbox.Bubblewrap, Runtime: []string{"/home"}},
		{Mode: sandbox.Bubblewrap, Runtime: []string{"/proc/self"}},
		{Mode: sandbox.Bubblewrap, Runtime: []string{"usr/lib"}},
		{Mode: sandbox.Bubblewrap, Runtime: []string{"/no/such/directory"}},
		{Mode: sandbox.Bubblewrap, Runtime: []string{os.Args[0]}},
	} {
		if _, err := sandbox.New(o); err == nil {
			t.Errorf("New took %+v", o)
		}
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	box, err := sandbox.New(sandbox.Options{Mode: sandbox.Bubblewrap, Self: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	nested := filepath.Join(h.tree, "home")
	if err := os.Mkdir(nested, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []sandbox.Spec{
		{},
		{Tree: "tree", Home: h.home},
		{Tree: h.tree, Home: h.tree},
		{Tree: h.tree, Home: nested},
		{Tree: nested, Home: h.tree},
		{Tree: h.tree, Home: h.gate},
		{Tree: h.tree, Home: h.home, GateSocket: h.tree},
		{Tree: h.tree, Home: h.home + "/missing"},
	} {
		if _, err := box.Prepare(spec); err == nil {
			t.Errorf("Prepare took %+v", spec)
		}
	}
}

func TestProgramsThatAreNotThere(t *testing.T) {
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		if _, err := h.Start(t.Context(), []string{"/no/such/program"}, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a program that is not there: %v", err)
		}
		if _, err := h.Start(t.Context(), nil, nil); err == nil {
			t.Error("no program was started")
		}
	})
}

// Where bwrap can not set up, Start tells what it wrote.
func TestSetupFails(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	if err := os.Remove(h.home); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Start(t.Context(), []string{"true"}, nil); err == nil || !strings.Contains(err.Error(), "bwrap: ") {
		t.Errorf("Start: %v", err)
	}
	if err := os.Mkdir(h.home, 0o700); err != nil {
		t.Fatal(err)
	}
}
