package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"footfall/agentjobs/sandbox"
)

// What the agent may: read its tree, write tree, home and /tmp, as the service's
// user on the host.
func TestAgentWorks(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	if err := os.WriteFile(filepath.Join(h.tree, "page.md"), []byte("# Title\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := h.sh(t, `pwd; id -un; echo $HOME; cat page.md; echo new > added.md; echo kept > ~/state; echo x > /tmp/x && echo x > /dev/shm/x && echo x > /dev/null && hostname`)
	if want := "/workspace\nagent\n/home/agent\n# Title\nfootfall\n"; out != want {
		t.Errorf("the agent saw %q, want %q", out, want)
	}
	for path, want := range map[string]string{filepath.Join(h.tree, "added.md"): "new\n", filepath.Join(h.home, "state"): "kept\n"} {
		content, err := os.ReadFile(path)
		if err != nil || string(content) != want {
			t.Errorf("%s holds %q, %v", path, content, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Getuid() {
			t.Errorf("%s belongs to user %d, want %d", path, owner, os.Getuid())
		}
	}
}

// The environment is what the caller gives, over a few variables.
func TestEnvironment(t *testing.T) {
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		p, err := h.Start(t.Context(), []string{"/bin/sh", "-c", `echo "$GIVEN $LANG $HOME" >&2; env >&2`}, []string{"GIVEN=1", "LANG=C"})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		if want := "1 C " + h.Home + "\n"; !strings.HasPrefix(p.Stderr(), want) {
			t.Errorf("got %q, want %q", p.Stderr(), want)
		}
		if strings.Contains(p.Stderr(), canary) {
			t.Error("the service's environment reached the agent")
		}
	})
}

// Each is a script that succeeds where the attack is refused.
func TestAttacks(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	outside := filepath.Dir(h.tree)
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	other := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})

	const program = "/run/footfall/init attack "
	for name, script := range map[string]string{
		"the parent's environment":   `! cat /proc/1/environ && ! cat /proc/*/environ 2>/dev/null | grep -q ` + canary,
		"the parent's arguments":     `cat /proc/1/cmdline; ! grep -qF '` + outside + `' /proc/1/cmdline`,
		"another directory":          `! cat '` + outside + `/secret'`,
		"the way up":                 `! ls /workspace/../../` + outside,
		"directories of the host":    `! ls /root && ! ls /var && ! ls /srv && ! ls /sys && [ "$(ls /home)" = agent ] && [ "$(ls /run)" = footfall ]`,
		"private keys":               `! ls /etc/ssl/private && ! cat /etc/shadow`,
		"processes of the host":      fmt.Sprintf(`[ ! -d /proc/%d ] || ! grep -qa sandbox.test /proc/%[1]d/cmdline; [ $(ls -d /proc/[0-9]* | wc -l) -lt 8 ]`, os.Getpid()),
		"its own gate's host path":   `! ls '` + h.gate + `'`,
		"another run's gate":         `! ls '` + other.gate + `' && [ "$(ls /run/footfall | tr '\n' ' ')" = "gate.sock init " ]`,
		"writing to the root":        `! touch /file && ! mkdir /etc/x && ! touch /run/x && ! touch /run/footfall/x && ! touch /dev/x && ! touch /home/x`,
		"writing to programs":        `! touch /usr/bin/x && ! sh -c ': >> /usr/bin/env' && ! sh -c ': >> /run/footfall/init' && ! sh -c ': >> /etc/passwd'`,
		"settings of the kernel":     `! sh -c ': > /proc/sys/kernel/core_pattern' && ! sh -c ': > /proc/sys/vm/drop_caches' && ! sh -c ': > /proc/sysrq-trigger' && ! sh -c ': > /proc/mtrr'`,
		"a new user namespace":       `! unshare -U true && ` + program + "unshare",
		"a mount":                    `! mount -t tmpfs none /tmp && ` + program + "mount",
		"capabilities":               `grep -q '^CapEff:.0000000000000000$' /proc/self/status && grep -q '^CapBnd:.0000000000000000$' /proc/self/status && grep -q '^NoNewPrivs:.1$' /proc/self/status`,
		"tracing the first process":  program + "ptrace",
		"the first one's memory":     program + "read-memory",
		"the first one's files":      `! readlink /proc/1/fd/* && ! readlink /proc/1/exe && ! ls /proc/1/root/`,
		"descriptors left open":      `ls -l /proc/self/fd; [ "$(ls /proc/self/fd | tr '\n' ' ')" = "0 1 2 3 " ]`,
		"the virtual machine's host": program + "vsock",
		"memory without a process":   program + "memfd",
		"the user's keys":            program + "keyring",
		"hiding from its owner":      program + "dumpable",
		"core dumps":                 `[ "$(ulimit -c)" = 0 ] && [ "$(ulimit -Hc)" = 0 ]`,
		"signals to the first one":   `kill -STOP 1; kill -KILL 1; kill -TERM 1; kill -HUP 1; kill -INT 1; kill -QUIT 1; kill -TSTP 1; ` + program + `signals; kill -CONT 1; sleep 0.5; true`,
		"all ways of the network":    program + "dial " + strings.Join(addresses(t, listener), " "),
		"names":                      `! getent hosts example.com`,
	} {
		t.Run(name, func(t *testing.T) { h.sh(t, script) })
	}
}

// addresses are all under which a listener of the host answers.
func addresses(t *testing.T, listener net.Listener) []string {
	t.Helper()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	found := []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("localhost", port)}
	ips, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range ips {
		if network, ok := ip.(*net.IPNet); ok && !network.IP.IsLinkLocalUnicast() {
			found = append(found, net.JoinHostPort(network.IP.String(), port))
		}
	}
	// The attack must be able to succeed.
	conn, err := net.Dial("tcp", found[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	return found
}

// A signal to the first process leaves the run as it was: the script above goes
// on, and here the watch does, too.
func TestSignalsLeaveTheWatch(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{MemoryBytes: 150 << 20})
	_, err := h.run(t, "/bin/sh", "-c", `kill -STOP 1; kill -KILL 1; exec /run/footfall/init attack hog 300000000`)
	t.Log(wantLimit(t, err, sandbox.LimitMemory))
}

// Another user of the host learns nothing of a run from its command lines.
func TestCommandLines(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	p, err := h.Start(t.Context(), []string{"sleep", "1000"}, []string{"KEY=" + canary})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{filepath.Dir(h.tree), canary} {
		for _, pid := range processesWith(t, text) {
			line, err := os.ReadFile("/proc/" + pid + "/cmdline")
			if err == nil && strings.Contains(string(line), "bwrap") {
				t.Errorf("a command line tells %s: %q", text, line)
			}
		}
	}
	p.Kill()
}
