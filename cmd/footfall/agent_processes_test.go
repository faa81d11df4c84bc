package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// other is a process of this machine as /proc shows it (proc(5)).
type other struct {
	pid      int
	parent   int
	name     string // comm
	cmdline  string // its arguments, with a zero byte behind each
	environ  string // empty where it is not ours to read
	isInside bool   // it sees other files than this process: a sandbox
}

func (o other) String() string {
	return fmt.Sprintf("%d (%s): %s", o.pid, o.name, strings.ReplaceAll(o.cmdline, "\x00", " "))
}

// others are the processes that run. One that ends meanwhile is left out, or empty.
func others(t testing.TB) (list []other) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		read := func(name string) string {
			text, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), name)) // It may be gone, or another user's.
			return string(text)
		}
		namespace, err := os.Readlink(filepath.Join("/proc", entry.Name(), "ns", "mnt"))
		list = append(list, other{
			pid: pid, parent: parentOf(read("stat")), name: strings.TrimSpace(read("comm")), cmdline: read("cmdline"), environ: read("environ"),
			isInside: err == nil && namespace != self,
		})
	}
	return list
}

// parentOf reads field 4 of a process's stat; field 2 is a name that may hold anything.
func parentOf(stat string) int {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// below are the processes that a process started, and those started.
func below(t testing.TB, pid int) (list []other) {
	t.Helper()
	all := others(t)
	parents := []int{pid}
	for len(parents) > 0 {
		var next []int
		for _, o := range all {
			if slices.Contains(parents, o.parent) {
				list = append(list, o)
				next = append(next, o.pid)
			}
		}
		parents = next
	}
	return list
}

// withArgument are the processes that have a text as an argument of its own. A prompt
// in the arguments of a command does not count.
func withArgument(t testing.TB, text string) (list []other) {
	t.Helper()
	for _, o := range others(t) {
		if slices.Contains(strings.Split(o.cmdline, "\x00"), text) {
			list = append(list, o)
		}
	}
	return list
}

// gone waits until none of some processes runs. A killed service can not wait for what
// the kernel ends with it.
func gone(t testing.TB, started []other) {
	t.Helper()
	isLeft := func() (left []other) {
		for _, o := range others(t) {
			if slices.ContainsFunc(started, func(s other) bool { return s.pid == o.pid && s.cmdline == o.cmdline }) {
				left = append(left, o)
			}
		}
		return left
	}
	timeout := time.After(3 * time.Second)
	for left := isLeft(); len(left) > 0; left = isLeft() {
		select {
		case <-timeout:
			t.Errorf("processes are left: %v", left)
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// holdsAny returns the first of some texts that is in a file below a directory.
func holdsAny(t testing.TB, dir string, texts ...string) (file, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // It went meanwhile.
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		for _, one := range texts {
			if bytes.Contains(content, []byte(one)) {
				file, text = name, one
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return file, text
}

// canary is an argument of sleep, in seconds, that no other process has.
func canary() string { return fmt.Sprintf("7200.%d", 1+rand.Uint64()) }
