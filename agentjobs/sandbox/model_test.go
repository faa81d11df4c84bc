package sandbox_test

import (
	"os"
	"strings"
	"testing"

	"footfall/agentjobs/sandbox"
)

// Each run reaches its own gate under its model's address, and no other.
func TestModel(t *testing.T) {
	eachMode(t, func(t *testing.T, mode sandbox.Mode) {
		h := newHost(t, mode, sandbox.Limits{})
		if mode == sandbox.Bubblewrap && h.ModelURL != "http://127.0.0.1:8484/v1" {
			t.Errorf("the model's address is %s", h.ModelURL)
		}
		body := strings.Repeat("a question ", 50_000)
		for _, n := range []int{1, len(body) / 10} { // an argument has at most 128 KiB
			out, err := h.run(t, os.Args[0], "attack", "post", h.ModelURL+"/chat", body[:n])
			if want := "the model of " + t.Name() + " /v1/chat " + body[:n]; err != nil || out != want {
				t.Errorf("got %.100q of %d bytes, %v; want %d bytes", out, len(out), err, len(want))
			}
		}
	})
}

// More connections than are forwarded at once are served in turn.
func TestManyConnections(t *testing.T) {
	h := newHost(t, sandbox.Bubblewrap, sandbox.Limits{})
	out := h.sh(t, `for i in $(seq 12); do /run/footfall/init attack post `+h.ModelURL+`/$i x & done; wait`)
	if got := strings.Count(out, "the model of"); got != 12 {
		t.Errorf("%d answers in %q", got, out)
	}
}

// The forwarder of a plain run is gone with its room.
func TestForwarderCloses(t *testing.T) {
	h := newHost(t, sandbox.None, sandbox.Limits{})
	address := h.ModelURL
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if code := post(address, "x"); code == 0 {
		t.Error("the forwarder still answers")
	}
}
