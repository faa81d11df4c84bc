package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestKill posts to the real binary over several connections, kills it at a
// random moment, starts it again, and does so for some rounds on one data
// directory. FOOTFALL_ROUNDS sets the number of rounds.
func TestKill(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	n := rounds(t, 5)
	random := rand.New(rand.NewPCG(1, uint64(n)))
	sent := newLedger()
	for round := range n {
		p := serve(t, data)
		_, acked, _ := sent.count(0)
		wait := sent.load(t.Context(), p.url, key, 4)
		sent.await(t, http.StatusAccepted, acked+1+random.IntN(400))
		p.kill(t)
		wait()
		sent.check(t, data)
		batches, acked, _ := sent.count(0)
		t.Logf("round %d: %d batches sent, %d acknowledged", round, batches, acked)
	}
}

// TestKillInBetween kills the binary where it does more than take events: while
// it writes checkpoints under load, while it stops, and, after each of these,
// several times while it starts and replays what is left. Nothing says when these
// are under way, so moments are drawn from a time that covers them.
func TestKillInBetween(t *testing.T) {
	data := t.TempDir()
	key := newDocs(t, data)
	n := rounds(t, 5)
	random := rand.New(rand.NewPCG(2, uint64(n)))
	moment := func() <-chan time.Time { return time.After(time.Duration(random.Int64N(int64(60 * time.Millisecond)))) }
	sent := newLedger()
	for round := range n {
		p := serve(t, data)
		_, acked, _ := sent.count(0)
		ctx, cancel := context.WithCancel(t.Context())
		wait := sent.load(ctx, p.url, key, 4)
		sent.await(t, http.StatusAccepted, acked+50+random.IntN(400))
		what := "checkpoint"
		var command sync.WaitGroup
		if round%2 == 0 {
			checkpoint(ctx, data)
			command.Go(func() { checkpoint(ctx, data) })
		} else {
			what = "stop"
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		<-moment()
		p.end(t)
		cancel()
		wait()
		command.Wait()
		for range 3 {
			p := launch(t, exec.Command(binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"))
			<-moment()
			p.end(t)
		}
		sent.check(t, data)
		batches, acked, _ := sent.count(0)
		t.Logf("round %d, killed in a %s: %d batches sent, %d acknowledged", round, what, batches, acked)
	}
}

// checkpoint makes a running server write a checkpoint: the deletion of a project
// needs one. The project's creation fails where the server was killed in a
// deletion before; then there is one to delete. A server that is killed meanwhile
// answers nothing, and who calls it looks at what is left.
func checkpoint(ctx context.Context, data string) {
	for _, args := range [][]string{{"project", "create", "gone"}, {"project", "delete", "gone", "--yes"}} {
		_ = exec.CommandContext(ctx, binary, append(args, "--data", data)...).Run()
	}
}
