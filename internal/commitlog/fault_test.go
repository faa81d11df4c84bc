package commitlog_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/sketch"
)

// failAt lets the operation of that number fail among those that match.
func failAt(number int, cause error, match func(faultfs.Op) bool) (hook faultfs.Hook, reached func() bool) {
	seen := 0
	return func(op faultfs.Op, _ string) error {
		if !match(op) {
			return nil
		}
		seen++
		if seen == number {
			return cause
		}
		return nil
	}, func() bool { return seen >= number }
}

// Whatever operation fails, and with a full disk as with a broken one: the error
// says so, nothing more is acknowledged, nothing acknowledged is lost, and the log
// can be opened again once the cause is gone.
func TestEveryFailure(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for number := 1; ; number++ {
			fsys := faultfs.New()
			hook, reached := failAt(number, cause, faultfs.Op.Changes)
			fsys.SetHook(hook)
			acknowledged, dropped, err := lifetime(fsys)
			if !reached() {
				if err != nil {
					t.Fatalf("%v without a fault", err)
				}
				if number < 30 {
					t.Fatalf("only %d operations were tried", number)
				}
				break
			}
			if !errors.Is(err, cause) {
				t.Errorf("operation %d: %v, want %v", number, err, cause)
			}
			if n := fsys.OpenFiles(); n != 0 {
				t.Errorf("operation %d: %d files are open", number, n)
			}
			fsys.SetHook(nil)
			names, _ := fsys.List(dir) // none where the directory could not be made
			for _, name := range names {
				if filepath.Ext(name) != ".log" {
					t.Errorf("operation %d: %s is left and takes space", number, name)
				}
			}
			opts := options(fsys)
			opts.After = dropped
			l, _ := mustOpen(t, opts)
			if l.Last() < acknowledged {
				t.Errorf("operation %d: the log ends at %d, but %d was acknowledged", number, l.Last(), acknowledged)
			}
			mustAppend(t, l, []byte("more"))
			mustClose(t, l)
		}
	}
}

// Wherever the power is cut, and whatever of what was not synced remains: the log
// opens, and nothing acknowledged is lost.
func TestPowerCutAtEveryStep(t *testing.T) {
	errCut := errors.New("power cut")
	for number := 1; ; number++ {
		fsys := faultfs.New()
		left := number
		fsys.SetHook(func(op faultfs.Op, _ string) error {
			if op.Changes() {
				left--
			}
			if left <= 0 {
				return errCut
			}
			return nil
		})
		acknowledged, dropped, err := lifetime(fsys)
		if left > 0 {
			if err != nil {
				t.Fatalf("%v without a power cut", err)
			}
			break
		}
		for seed := range uint64(8) {
			disk := fsys.Crash(nil)
			if seed > 0 {
				disk = fsys.Crash(rand.New(rand.NewPCG(seed, uint64(number))))
			}
			opts := options(disk)
			opts.After = dropped
			l, err := commitlog.Open(opts, nil)
			if err != nil {
				t.Fatalf("operation %d, seed %d: %v", number, seed, err)
			}
			if l.Last() < acknowledged {
				t.Errorf("operation %d, seed %d: the log ends at %d, but %d was acknowledged", number, seed, l.Last(), acknowledged)
			}
			mustAppend(t, l, []byte("more"))
			mustClose(t, l)
		}
	}
}

// lifetime opens a log, appends, drops and closes. It returns the last position
// that was acknowledged, how far a drop was tried, and the first error.
func lifetime(fsys *faultfs.FS) (acknowledged, dropped sketch.Position, err error) {
	l, err := commitlog.Open(options(fsys), nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if err != nil {
			_, second := l.Append([]byte("refused"))
			if !errors.Is(err, commitlog.ErrFailed) || !errors.Is(second, commitlog.ErrFailed) {
				err = errors.New("the log is not latched after: " + err.Error())
			}
		}
		err = errors.Join(err, l.Close())
	}()
	for i := range 6 {
		if acknowledged, err = appendTo(l, acknowledged, payload(uint64(i), 1500), payload(uint64(i), 200)); err != nil {
			return acknowledged, 0, err
		}
	}
	if err := l.DropThrough(5); err != nil {
		return acknowledged, 5, err
	}
	return acknowledged, acknowledged, l.DropThrough(acknowledged)
}

func appendTo(l *commitlog.Log, before sketch.Position, payloads ...[]byte) (sketch.Position, error) {
	last, err := l.Append(payloads...)
	if err != nil {
		return before, err
	}
	return last, nil
}

// A disk that can not be read is neither damage nor a torn write.
func TestEveryFailedRead(t *testing.T) {
	fsys, want := nineRecords(t)
	before := contents(t, fsys)
	match := func(op faultfs.Op) bool { return !op.Changes() }
	for number := 1; ; number++ {
		hook, reached := failAt(number, syscall.EIO, match)
		fsys.SetHook(hook)
		l, err := commitlog.Open(options(fsys), nil)
		fsys.SetHook(nil)
		if !reached() {
			mustClose(t, l)
			break
		}
		if !errors.Is(err, syscall.EIO) || errors.Is(err, commitlog.ErrDamaged) {
			t.Errorf("read %d: %v, want EIO", number, err)
		}
		if n := fsys.OpenFiles(); n != 0 {
			t.Errorf("read %d: %d files are open", number, n)
		}
		if !maps.Equal(contents(t, fsys), before) {
			t.Fatalf("read %d: the log changed", number)
		}
	}
	_, got := mustOpen(t, options(fsys))
	wantPayloads(t, got, want)
}
