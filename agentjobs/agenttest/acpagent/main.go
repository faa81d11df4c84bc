package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// settings is what kind of agent it is.
type settings struct {
	noLoad    bool
	ignoreEOF bool
	auth      bool
	mute      bool
	protocol  int
	models    []string
}

func main() {
	var s settings
	flag.BoolVar(&s.noLoad, "no-load", false, "cannot load sessions")
	flag.BoolVar(&s.ignoreEOF, "ignore-eof", false, "does not exit when its input ends")
	flag.BoolVar(&s.auth, "auth", false, "wants a login before a session")
	flag.BoolVar(&s.mute, "mute", false, "answers nothing at all")
	flag.IntVar(&s.protocol, "protocol", acp.ProtocolVersionNumber, "the version of the protocol that it claims")
	models := flag.String("models", "", "the models that it offers, with commas; the first is set")
	flag.Parse()
	if *models != "" {
		s.models = strings.Split(*models, ",")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		fmt.Fprintln(os.Stderr, "acpagent:", err)
		os.Exit(1)
	}
	if s.mute {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	out := &output{w: os.Stdout}
	a := &agent{settings: s, store: store{home: home}, out: out, open: make(map[acp.SessionId]*session)}
	a.ready = make(chan struct{})
	a.connection = acp.NewAgentSideConnection(a, out, os.Stdin)
	a.connection.SetLogger(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	close(a.ready)
	<-a.connection.Done()
	for s.ignoreEOF {
		time.Sleep(time.Hour)
	}
}

// output is written to by the protocol and beside it.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}
