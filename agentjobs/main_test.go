package agentjobs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"footfall/agentjobs/sandbox"
)

// testAgent is the agent of agenttest/acpagent as a program, made once for all tests.
var testAgent string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.InitCommand {
		os.Exit(sandbox.Init(os.Args[2:])) // This program is what a sandbox starts first.
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "agentjobs-test")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		testAgent = filepath.Join(dir, "acpagent")
		build := exec.Command("go", "build", "-o", testAgent, "./agenttest/acpagent")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the test agent: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}
