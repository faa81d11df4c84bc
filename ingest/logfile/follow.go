package logfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// pollInterval is how often a followed log is looked at when the file system
// tells nothing, as network file systems do not.
const pollInterval = time.Second

// Growth is what became of a followed log.
type Growth int

// What Wait may find.
const (
	Grown   Growth = iota // there may be more to read
	Rotated               // the log's name stands for another file, or it was cut
)

// Follower waits for a log to grow or to be rotated. It watches with fsnotify
// and reads nothing itself: the Reader stays on the file it has open, so that
// what a server wrote into it before the rotation is read to its end. A library
// that tails by name (nxadm/tail) goes to the new file when it learns of it, and
// loses those lines.
type Follower struct {
	name    string
	watcher *fsnotify.Watcher
	// rotated says that the last look found another file under the name. Servers
	// write on into the old one for a moment: it is left when a second look, an
	// interval later, finds nothing more in it.
	rotated bool
}

// Follow watches the log under a name. Compressed logs and standard input do not
// grow in place and can not be followed.
func Follow(name string) (*Follower, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", name, err)
	}
	// The directory is watched, since a watch on the file stays with it when it
	// is renamed.
	if err := watcher.Add(filepath.Dir(name)); err != nil {
		return nil, errors.Join(fmt.Errorf("watching %s: %w", name, err), watcher.Close())
	}
	return &Follower{name: name, watcher: watcher}, nil
}

// Close ends the watch.
func (f *Follower) Close() error {
	return f.watcher.Close()
}

// Wait is called when r is at its end. It returns when there may be more to
// read, or when r is read to its end and the log was rotated.
func (f *Follower) Wait(ctx context.Context, r *Reader) (Growth, error) {
	for {
		state, err := f.look(r)
		if err != nil {
			return Grown, err
		}
		switch {
		case state == grew:
			f.rotated = false // The old file is still written: its interval begins anew.
			return Grown, nil
		case state == cut, state == replaced && f.rotated:
			f.rotated = false
			return Rotated, nil
		case state == replaced:
			f.rotated = true
		}
		if err := f.sleep(ctx); err != nil {
			return Grown, err
		}
	}
}

// sleep waits until it is worth to look again. A rotation that was seen is
// looked at again only after an interval: events come in bursts, and the server
// needs the time to leave the old file.
func (f *Follower) sleep(ctx context.Context) error {
	// Not a ticker: one that ticked while the log was read would end it at once.
	interval := time.NewTimer(pollInterval)
	defer interval.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-interval.C:
			return nil
		case event := <-f.watcher.Events:
			if !f.rotated && filepath.Base(event.Name) == filepath.Base(f.name) {
				return nil
			}
		case err := <-f.watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("watching %s: %w", f.name, err)
			}
			// Events were lost, but a look tells what they would have told.
			if !f.rotated {
				return nil
			}
		}
	}
}

type state int

const (
	same     state = iota
	grew           // the open file is longer than what was read
	cut            // the open file is shorter than what was read, or holds something else
	replaced       // the name stands for another file
)

func (f *Follower) look(r *Reader) (state, error) {
	open, err := r.file.Stat()
	if err != nil {
		return same, fmt.Errorf("looking at %s: %w", f.name, err)
	}
	read := r.offset + int64(len(r.pending))
	switch {
	case open.Size() > read && !r.overwritten():
		return grew, nil
	case open.Size() > read:
		return cut, nil
	case open.Size() < read:
		return cut, nil
	}
	named, err := os.Stat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return same, nil // Between the two steps of a rotation.
	case err != nil:
		return same, fmt.Errorf("looking at %s: %w", f.name, err)
	case !os.SameFile(open, named):
		return replaced, nil
	}
	return same, nil
}

// CanFollow reports whether the log can be followed.
func (r *Reader) CanFollow() bool { return r.seekable() }
