package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/agentjobs/agenttest/model"
)

// held are questions to the model that are answered when the test says so. A prompt
// of the test agent with the line "model hold NAME" so waits in the middle.
type held struct {
	mu    sync.Mutex
	gates map[string]*heldGate
	over  bool
}

type heldGate struct {
	reached, open chan struct{}
	isReached     bool
	isOpen        bool
}

func newHeld() *held { return &held{gates: make(map[string]*heldGate)} }

// at returns the gate of a name. The caller holds mu.
func (h *held) at(name string) *heldGate {
	g := h.gates[name]
	if g == nil {
		g = &heldGate{reached: make(chan struct{}), open: make(chan struct{})}
		h.gates[name] = g
	}
	if h.over && !g.isOpen {
		g.isOpen = true
		close(g.open)
	}
	return g
}

// hold waits at a gate until it is released.
func (h *held) hold(name string) {
	h.mu.Lock()
	g := h.at(name)
	if !g.isReached {
		g.isReached = true
		close(g.reached)
	}
	h.mu.Unlock()
	<-g.open
}

// await waits until somebody is at a gate.
func (h *held) await(t *testing.T, name string, p *process) {
	t.Helper()
	h.mu.Lock()
	g := h.at(name)
	h.mu.Unlock()
	select {
	case <-g.reached:
	case <-time.After(patience):
		t.Fatalf("nobody asked for %q in time:\n%s", name, p.log)
	}
}

func (h *held) release(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.at(name); !g.isOpen {
		g.isOpen = true
		close(g.open)
	}
}

// end releases all, also those that come later.
func (h *held) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for name := range h.gates {
		_ = h.at(name) // Opens it.
	}
}

// script is the stage's model. "hold NAME" waits, "leak" is answered as hosts do that
// repeat the key they were given.
func (s *stage) script(r model.Request) model.Answer {
	prompt, _ := r.Prompt()
	verb, rest, _ := strings.Cut(prompt, " ")
	switch verb {
	case "hold":
		s.held.hold(rest)
		return model.Answer{Text: "released " + rest}
	case "leak":
		return model.Answer{Status: 401, Text: "Incorrect API key provided", EchoKey: true}
	case "repeat":
		return model.Answer{Text: "your key is " + r.Key()}
	}
	return model.Editor(r)
}
