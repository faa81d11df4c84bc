package agentjobs_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"footfall/agentjobs"
)

// ears are listeners of the host that nobody in a sandbox may reach.
type ears struct {
	port, abstract string
	heard          atomic.Int64
}

func listen(t *testing.T) *ears {
	t.Helper()
	e := &ears{abstract: fmt.Sprintf("footfall-attack-%d", os.Getpid())}
	for network, address := range map[string]string{"tcp": ":0", "unix": "@" + e.abstract} {
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		if network == "tcp" {
			_, e.port, _ = net.SplitHostPort(listener.Addr().String())
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				e.heard.Add(1)
				conn.Close()
			}
		}()
		t.Cleanup(func() { listener.Close(); <-done })
	}
	return e
}

// breaches are shell commands that succeed, and write something, where a wall is missing. The first
// two succeed always: they say that the tools of the others work.
var breaches = []struct{ name, command string }{
	{"control", `echo fine`},
	{"control of sockets", `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "/run/footfall/gate.sock") and print "connected"'`},

	{"environment", `cat /proc/[0-9]*/environ | tr '\0' '\n' | grep -a MAY_SEE`},
	{"first process's environment", `head -c 1 /proc/1/environ`},
	{"first process's memory", `dd if=/proc/1/mem bs=1 count=1 skip=4194304`},
	{"first process's files", `readlink /proc/1/fd/* /proc/1/exe; cat /proc/1/fd/3; ls /proc/1/cwd/`},
	{"secret file", `cat DIR/token DIR/key`},
	{"data directory", `ls DIR DIR/badger DIR/jobs`},
	{"another job", `ls DIR/jobs/OTHER`},
	{"through a process's root", `ls -d /proc/[0-9]*/rootDIR /proc/[0-9]*/cwd/../DIR`},
	{"up from the tree", `ls /workspace/../git /workspace/../home/agent/../../token $HOME/../tree $HOME/../../*.sock`},
	{"another gate", `find / -type s ! -path /run/footfall/gate.sock`},
	{"git host", `bash -c 'exec 3<>/dev/tcp/127.0.0.1/GIT && echo open'`},
	{"forge", `bash -c 'exec 3<>/dev/tcp/127.0.0.1/FORGE && echo open'`},
	{"model", `bash -c 'exec 3<>/dev/tcp/127.0.0.1/MODEL && echo open'`},
	{"loopback", `bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT && echo open'`},
	{"loopback by IPv6", `bash -c 'exec 3<>/dev/tcp/::1/PORT && echo open'`},
	{"address of the host", `bash -c 'exec 3<>/dev/tcp/HOST/PORT && echo open'`},
	{"abstract socket", `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "\0ABSTRACT") and print "connected"'`},
	{"abstract socket in the list", `grep -a footfall-attack /proc/net/unix`},
	{"names", `getent hosts example.org`},
	{"interfaces", `tail -n +3 /proc/net/dev | grep -v ' lo:'`},
	{"raw socket", `perl -MSocket -e 'socket(my $s, AF_INET, SOCK_RAW, 1) and print "raw"'`},
	{"programs", `touch /usr/bin/x /bin/x /lib/x && echo written`},
	{"root", `touch /x /etc/x /run/x /run/footfall/x /dev/x && echo written`},
	{"first program", `cp /bin/true /run/footfall/init && echo written`},
	{"gate's socket", `rm /run/footfall/gate.sock && echo removed`},
	{"hard link", `ln /usr/bin/env docs/env || ln /run/footfall/init docs/env || ln $HOME/planted docs/env; cat docs/env`},
	{"user namespace", `unshare -Ur echo new`},
	{"mount", `mount -t tmpfs none /mnt && echo mounted`},
	{"device", `mknod docs/device c 1 3 && echo made`},
	{"kernel's settings", `echo '|/bin/true' > /proc/sys/kernel/core_pattern && echo written`},
	{"kernel's requests", `echo h > /proc/sysrq-trigger && echo written`},
	{"processes of others", `ls -d /proc/[0-9]* | tail -n +12`},
}

// What the service and other jobs have is out of reach of an agent, in a first run and
// in a second, while another job runs.
func TestAttacksOnTheHost(t *testing.T) {
	t.Setenv("FOOTFALL_NOBODY_MAY_SEE", "environment")
	b := newBench(t, nil)
	e := listen(t)
	host := "127.0.0.2"
	if addresses, err := net.InterfaceAddrs(); err == nil {
		for _, address := range addresses {
			if n, ok := address.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
				host = n.IP.String()
			}
		}
	}
	other := b.post("say waiting\nwait-cancel")
	b.until("the other job runs", func() bool { return b.said(other.ID, "waiting") })

	replace := strings.NewReplacer("DIR", b.dir, "OTHER", other.ID, "GIT", port(t, b.git.Address()), "FORGE", port(t, b.forge.APIURL),
		"MODEL", port(t, b.model.URL), "PORT", e.port, "HOST", host, "ABSTRACT", e.abstract)
	var text strings.Builder
	text.WriteString("echo planted > $HOME/planted\n")
	for i, breach := range breaches {
		fmt.Fprintf(&text, "{ %s; } > /tmp/said 2>/dev/null < /dev/null; [ -s /tmp/said ] && echo \"<%d> $(head -c 80 /tmp/said)\"\n",
			replace.Replace(breach.command), i)
	}
	text.WriteString("rm -f docs/*; echo tried > docs/tried.md; echo \"<all>\"")
	attack := script(text.String())

	j := b.await(b.post(attack).ID)
	for run := range 2 {
		if run > 0 {
			b.message(j.ID, attack)
			j = b.await(j.ID)
		}
		if j.Status != agentjobs.Completed {
			t.Fatalf("run %d: the job is %s: %s", run, j.Status, reason(j))
		}
		said := b.outputs(j.ID)
		if strings.Count(said, "<all>") != run+1 {
			t.Errorf("run %d was not tried to its end: %s", run, said)
		}
		for i, breach := range breaches {
			_, rest, got := strings.Cut(said, fmt.Sprintf("<%d> ", i))
			if got != strings.HasPrefix(breach.name, "control") {
				t.Errorf("run %d: %s: %.100q", run, breach.name, rest)
			}
		}
	}
	if n := e.heard.Load(); n > 0 {
		t.Errorf("%d connections came out of the sandbox", n)
	}
	b.want(b.do(http.MethodPost, "/job/"+other.ID+"/cancel", ""), http.StatusOK)
	b.keepsSecrets(j.ID)
	b.keepsSecrets(other.ID)
}

// outputs is what the programs of a job's runs wrote.
func (b *bench) outputs(id string) string {
	var all strings.Builder
	within := false
	for _, l := range b.lines(id) {
		if strings.HasPrefix(l.Text, "output: ") {
			within = true
		} else if l.Kind != "message" {
			within = false
		}
		if within {
			all.WriteString(l.Text + "\n")
		}
	}
	return all.String()
}

func port(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Port() == "" {
		t.Fatalf("%s has no port: %v", address, err)
	}
	return u.Port()
}

// Nothing that an agent started lives after its run, or writes to what was looked over.
func TestAttacksAfterTheEnd(t *testing.T) {
	b := newBench(t, nil)
	const daemon = "setsid setsid sh -c '%s' footfall-attack-daemon </dev/null >/dev/null 2>&1 & setsid nohup sh -c '%[1]s' footfall-attack-daemon </dev/null >/dev/null 2>&1 &"
	for name, loop := range map[string]string{
		"writes on":      `trap "" TERM HUP INT; i=0; while :; do i=$((i+1)); echo $i > docs/index.md; done`,
		"makes .git":     `while :; do mkdir .git && echo "[core] fsmonitor = touch CANARY" > .git/config; rm -rf .git; done`,
		"makes links":    `while :; do rm -rf docs/new; ln -s /etc docs/new; rm docs/new; mkdir docs/new; echo x > docs/new/passwd; done`,
		"makes workflow": `while :; do echo on: push > .github/workflows/evil.yml; rm .github/workflows/evil.yml; done`,
	} {
		attack := script(fmt.Sprintf(daemon, strings.ReplaceAll(loop, "CANARY", filepath.Join(b.dir, "canary")))) + "\nwrite docs/done.md x"
		j := b.await(b.post(attack).ID)
		for run := range 2 {
			if run > 0 {
				b.message(j.ID, attack)
				j = b.await(j.ID)
			}
			if alive := alive(t, "footfall-attack-daemon"); alive != "" {
				t.Errorf("%s: after run %d %s is alive", name, run, alive)
			}
			if _, pushed := b.tips()[j.Source.Ref]; !pushed {
				if j.Status != agentjobs.Failed {
					t.Errorf("%s: the job is %s and nothing was pushed", name, j.Status)
				}
				continue
			}
			for _, file := range b.git.Files(repository, j.Source.Ref) {
				if strings.Contains(file, ".git/") || strings.Contains(file, "evil") || b.git.Mode(repository, j.Source.Ref, file) != "100644" {
					t.Errorf("%s: %s was pushed", name, file)
				}
			}
		}
		if _, err := os.Stat(filepath.Join(b.dir, "canary")); err == nil {
			t.Errorf("%s: a program of the attack ran outside of the sandbox", name)
		}
		b.message(j.ID, "write docs/honest.md work")
		if j = b.await(j.ID); j.Status != agentjobs.Completed {
			t.Errorf("%s: honest work is %s: %s", name, j.Status, reason(j))
		}
	}
}

// alive returns the command line of a process of the host that holds a text.
func alive(t *testing.T, text string) string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil && strings.Contains(string(line), text) {
			return strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return ""
}
