package commitlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/sketch"
)

// An Append that returned is on disk: nothing that was not synced remains.
func TestAppendSyncs(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	want := payloads(10, 1000)
	for i, p := range want {
		mustAppend(t, l, p)
		_, got := mustOpen(t, options(fsys.Crash(nil)))
		wantPayloads(t, got, want[:i+1])
	}
}

// One Append is one sync, and one write, however many records it has.
func TestAppendSyncsOnce(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, commitlog.Options{Dir: dir, FS: fsys})
	mustAppend(t, l, payload(1, 10)) // reserves the segment's space
	count := map[faultfs.Op]int{}
	fsys.SetHook(func(op faultfs.Op, _ string) error {
		count[op]++
		return nil
	})
	mustAppend(t, l, payloads(100, 1000)...)
	if count[faultfs.OpSync] != 1 || count[faultfs.OpWrite] != 1 || len(count) != 2 {
		t.Errorf("operations of one Append: %v, want one write and one sync", count)
	}
}

// The directory entries of the log, of its first segment and of each later one
// are on disk before a record in them is acknowledged.
func TestDirectoriesAreSynced(t *testing.T) {
	for _, records := range []int{0, 1, 10} {
		fsys := faultfs.New()
		l, _ := mustOpen(t, options(fsys))
		want := payloads(records, 3000) // each gets a segment of its own
		for _, p := range want {
			mustAppend(t, l, p)
		}
		crashed := fsys.Crash(nil)
		if records == 0 {
			contents(t, crashed) // fails where the directory is not there
		}
		_, got := mustOpen(t, options(crashed))
		wantPayloads(t, got, want)
	}
}

// What Open replays is on disk by then, also where the process that wrote it was
// killed before its sync: replay may apply it elsewhere, and a retry is told that
// it was accepted.
func TestReplayedRecordsAreOnDisk(t *testing.T) {
	errKilled := errors.New("killed")
	tests := []struct {
		op   faultfs.Op // at which the process is killed
		size int
		want int // records the next start finds
	}{
		{faultfs.OpSync, 300, 2},
		{faultfs.OpSyncDir, 3000, 1}, // of the new segment, before the record
	}
	for _, test := range tests {
		t.Run(string(test.op), func(t *testing.T) {
			fsys := faultfs.New()
			l, _ := mustOpen(t, options(fsys))
			want := payloads(3, test.size)
			mustAppend(t, l, want[0])
			killed := false
			fsys.SetHook(func(op faultfs.Op, _ string) error {
				killed = killed || op == test.op
				if killed && op.Changes() {
					return errKilled
				}
				return nil
			})
			if _, err := l.Append(want[1]); !errors.Is(err, errKilled) {
				t.Fatalf("Append: %v, want it killed", err)
			}
			fsys.SetHook(nil)

			var crashed *faultfs.FS
			l, err := commitlog.Open(options(fsys), func(sketch.Position, []byte) error {
				if crashed == nil {
					crashed = fsys.Crash(nil)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, l)
			_, got := mustOpen(t, options(crashed))
			wantPayloads(t, got, want[:test.want])
			mustAppend(t, l, want[2])
			_, got = mustOpen(t, options(fsys.Crash(nil)))
			wantPayloads(t, got, append(want[:test.want:test.want], want[2]))
		})
	}
}

// A sync that fails leaves what was written readable but clean, and the next sync
// succeeds without it. The next start reads it back, and must bring it to disk.
func TestFailedSyncIsNotForgotten(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	want := payloads(4, 300)
	mustAppend(t, l, want[0])
	errDisk := errors.New("disk")
	fsys.SetHook(func(op faultfs.Op, _ string) error {
		if op == faultfs.OpSync {
			return errDisk
		}
		return nil
	})
	if _, err := l.Append(want[1], want[2]); !errors.Is(err, errDisk) {
		t.Fatalf("Append: %v, want the disk's error", err)
	}
	fsys.SetHook(nil)
	l, got := mustOpen(t, options(fsys))
	wantPayloads(t, got, want[:3])
	mustAppend(t, l, want[3])
	_, got = mustOpen(t, options(fsys.Crash(nil)))
	wantPayloads(t, got, want)
}

// TestCrashes drives the log at random through crashes, kills and failures, one
// after the other on the same disk, and checks it against a model.
func TestCrashes(t *testing.T) {
	rounds := 700
	if testing.Short() {
		rounds = 200
	}
	for seed := range uint64(rounds) {
		d := &crashDriver{
			t:        t,
			seed:     seed,
			random:   rand.New(rand.NewPCG(seed, 1)),
			fsys:     faultfs.New(),
			expected: map[sketch.Position][]byte{},
		}
		for range 12 {
			d.round()
		}
	}
}

var errFault = errors.New("injected fault")

type crashDriver struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	fsys   *faultfs.FS

	expected   map[sketch.Position][]byte // of every record that is or may be in the log
	durable    sketch.Position            // acknowledged or replayed: must be there
	checkpoint sketch.Position
}

func (d *crashDriver) fatalf(format string, args ...any) {
	d.t.Helper()
	d.t.Fatalf("seed %d: %s", d.seed, fmt.Sprintf(format, args...))
}

// round is the life of one process, and what ends it.
func (d *crashDriver) round() {
	d.injectFault()
	opts := commitlog.Options{Dir: dir, FS: d.fsys, After: d.checkpoint, SegmentBytes: int64(2000 + d.random.IntN(12_000))}
	next := d.checkpoint
	l, err := commitlog.Open(opts, func(p sketch.Position, payload []byte) error {
		next++
		if p != next {
			d.fatalf("replayed record %d, want %d", p, next)
		}
		if !bytes.Equal(payload, d.expected[p]) {
			d.fatalf("record %d diverges: %d bytes, want %d", p, len(payload), len(d.expected[p]))
		}
		d.durable = max(d.durable, p)
		return nil
	})
	if err == nil {
		if l.Last() < d.durable {
			d.fatalf("acknowledged records are lost: the log ends at %d, want %d", l.Last(), d.durable)
		}
		d.durable = l.Last()
		err = d.use(l)
		if closeErr := l.Close(); closeErr != nil {
			d.fatalf("Close: %v", closeErr)
		}
		if err != nil && !errors.Is(err, commitlog.ErrFailed) {
			d.fatalf("%v does not match ErrFailed", err)
		}
	}
	if err != nil && !errors.Is(err, errFault) {
		d.fatalf("%v", err)
	}
	if n := d.fsys.OpenFiles(); n != 0 {
		d.fatalf("%d files are open", n)
	}
	d.fsys.SetHook(nil)
	switch d.random.IntN(3) {
	case 0: // killed: what was written stays
	case 1:
		d.fsys = d.fsys.Crash(nil)
	case 2:
		d.fsys = d.fsys.Crash(d.random)
	}
}

// injectFault lets one operation fail, or that and all that follow, after a
// random number of changes.
func (d *crashDriver) injectFault() {
	left, once := d.random.IntN(60), d.random.IntN(3) == 0
	d.fsys.SetHook(func(op faultfs.Op, _ string) error {
		if !op.Changes() {
			return nil
		}
		left--
		if left == 0 || left < 0 && !once {
			return errFault
		}
		return nil
	})
}

func (d *crashDriver) use(l *commitlog.Log) error {
	for range d.random.IntN(20) {
		switch d.random.IntN(8) {
		case 0:
			if err := l.DropThrough(d.checkpoint); err != nil {
				return d.latched(l, err)
			}
		case 1:
			d.checkpoint = l.Last()
			if err := l.DropThrough(d.checkpoint); err != nil {
				return d.latched(l, err)
			}
		case 2:
			d.checkpoint += sketch.Position(d.random.Uint64N(uint64(l.Last()-d.checkpoint) + 1))
		default:
			var write [][]byte
			for i := range 1 + d.random.IntN(5) {
				p := d.payload()
				write = append(write, p)
				d.expected[d.durable+sketch.Position(i)+1] = p
			}
			last, err := l.Append(write...)
			if err != nil {
				return d.latched(l, err)
			}
			d.durable += sketch.Position(len(write))
			if last != d.durable || l.Last() != last {
				d.fatalf("Append returned %d, Last is %d, want %d", last, l.Last(), d.durable)
			}
		}
	}
	return nil
}

// latched checks that after a failure nothing more is acknowledged.
func (d *crashDriver) latched(l *commitlog.Log, failure error) error {
	if _, err := l.Append([]byte("more")); !errors.Is(err, commitlog.ErrFailed) || !errors.Is(err, errFault) {
		d.fatalf("Append after %v: %v, want ErrFailed with its cause", failure, err)
	}
	if err := l.DropThrough(0); !errors.Is(err, commitlog.ErrFailed) {
		d.fatalf("DropThrough after %v: %v, want ErrFailed", failure, err)
	}
	return failure
}

func (d *crashDriver) payload() []byte {
	p := make([]byte, 1+d.random.IntN(3000))
	if d.random.IntN(8) == 0 {
		return p // all zeros
	}
	for i := range p {
		p[i] = byte(d.random.Uint32())
	}
	if d.random.IntN(3) == 0 {
		from := d.random.IntN(len(p))
		clear(p[from : from+d.random.IntN(len(p)-from)])
	}
	return p
}
