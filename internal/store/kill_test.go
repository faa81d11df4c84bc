package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"footfall/internal/database"
	"footfall/internal/store"
	"footfall/internal/store/storetest"
	"footfall/sketch"
)

// What the child of TestKill is told by its environment.
const (
	childDir   = "FOOTFALL_TEST_STORE"
	childFrom  = "FOOTFALL_TEST_FROM"  // the number of each writer's first batch
	childSmall = "FOOTFALL_TEST_SMALL" // makes checkpoints follow each other without end
)

const writers = 4

// batchOf is the batch of that number of a writer, who has a project alone.
func batchOf(writer, number int) sketch.Batch {
	w := storetest.NewWorkload(uint64(number)<<8 | uint64(writer))
	return sketch.NewBatch(sketch.ProjectNumber(1+writer), w.Visits()...)
}

// child commits batches from several writers until it is killed, and tells on
// standard output each that was acknowledged.
func child(dir string) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var from [writers]int
	if _, err := fmt.Sscan(os.Getenv(childFrom), &from[0], &from[1], &from[2], &from[3]); err != nil {
		fail(err)
	}
	db, err := database.Open(filepath.Join(dir, "badger"), database.Options{})
	if err != nil {
		fail(err)
	}
	opts := store.Options{LogDir: filepath.Join(dir, "log"), Database: db, Live: everyProject}
	if os.Getenv(childSmall) != "" {
		small(&opts)
	}
	s, err := store.Open(opts)
	if err != nil {
		fail(err)
	}
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			for number := from[writer]; ; number++ {
				if err := s.Commit(context.Background(), batchOf(writer, number)); err != nil {
					fail(err)
				}
				fmt.Printf("%d\n", writer) // One write, so lines do not mix.
			}
		})
	}
	running.Wait()
}

// TestKill kills a process that commits and checkpoints at random moments, time
// after time on the same directory, and opens what it left: Badger's files as
// they were, and the log's. FOOTFALL_ROUNDS sets the number of rounds.
func TestKill(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{dir: t.TempDir(), opts: store.Options{Live: everyProject}}
	n.opts.LogDir = filepath.Join(n.dir, "log")
	random := rand.New(rand.NewPCG(1, 1))
	var batches [writers][]sketch.Batch
	for round := range rounds(t, 5) {
		command := exec.CommandContext(t.Context(), executable)
		command.Env = append(os.Environ(), childDir+"="+n.dir,
			fmt.Sprintf("%s=%d %d %d %d", childFrom, len(batches[0]), len(batches[1]), len(batches[2]), len(batches[3])))
		if round%3 > 0 {
			command.Env = append(command.Env, childSmall+"=1")
		}
		command.Stderr = os.Stderr
		stdout, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged, enough := 0, 1+random.IntN(150)
		for lines := bufio.NewScanner(stdout); lines.Scan(); acknowledged++ {
			var writer int
			if _, err := fmt.Sscan(lines.Text(), &writer); err != nil {
				t.Fatal(err)
			}
			batches[writer] = append(batches[writer], batchOf(writer, len(batches[writer])))
			if acknowledged == enough {
				if err := command.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := command.Wait(); err == nil || acknowledged < enough {
			t.Fatalf("the child ended by itself after %d batches: %v", acknowledged, err)
		}

		n.openDatabase(t)
		n.start(t)
		for writer := range batches {
			batches[writer] = kept(t, n, writer, batches[writer])
		}
		// The next child finds what this start left, which is one way or another.
		if end := n.Kill; random.IntN(2) == 0 {
			err = end()
		} else {
			err = n.Store.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := n.db.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("round %d: %d batches acknowledged", round, acknowledged)
	}
}

// kept checks that a writer's batches are there, and one more at most: that which
// was not answered. It returns what is there.
func kept(t *testing.T, n *node, writer int, batches []sketch.Batch) []sketch.Batch {
	t.Helper()
	got := n.rank(t, sketch.ProjectNumber(1+writer))
	err := storetest.Verify(got, visitsOf(batches), sketch.AllDays())
	if err == nil {
		return batches
	}
	more := append(batches, batchOf(writer, len(batches)))
	if storetest.Verify(got, visitsOf(more), sketch.AllDays()) != nil {
		t.Fatalf("writer %d with %d batches acknowledged: %v", writer, len(batches), err)
	}
	return more
}

func visitsOf(batches []sketch.Batch) []sketch.PageView {
	var visits []sketch.PageView
	for _, b := range batches {
		visits = slices.AppendSeq(visits, b.Views())
	}
	return visits
}
