// Package datadir is the data directory: its layout, its lock, and the version
// of its format.
//
//	format        the version of the format, one line of text
//	lock          locked by the process that has the directory open
//	control.sock  the control socket, while a server runs
//	log/          segment files of the log
//	badger/       the database
//	agentjobs/    working copies of agent jobs
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FormatVersion is the version of everything stored in a data directory. A
// change that an older program would misread raises it.
const FormatVersion = 3

var (
	// ErrLocked says that another process has the directory open.
	ErrLocked = errors.New("the data directory is in use by another process")
	// ErrFormat says that the directory was written in a format that this version
	// does not know, or is not a data directory.
	ErrFormat = errors.New("the data directory has an unknown format")
)

const (
	formatFile   = "format"
	formatPrefix = "footfall data format "
	lockFile     = "lock"
	socketFile   = "control.sock"
)

// Dir is a data directory that this process has locked.
type Dir struct {
	path string
	lock *os.File
}

// Open locks a data directory and creates it where it is missing, readable by
// its owner alone. ErrLocked and ErrFormat say why not.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the data directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("creating the data directory: %w", err)
	}
	d := &Dir{path: path}
	if err := d.checkForeign(); err != nil {
		return nil, err // Before a lock is left in it.
	}
	// The lock is taken before anything is opened, and before Badger's: two
	// processes on one log would each overwrite what the other acknowledged.
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data directory: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", path, ErrLocked)
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	d.lock = lock
	if err := d.checkFormat(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close unlocks the directory.
func (d *Dir) Close() error { return d.lock.Close() }

// Path returns the directory's absolute path.
func (d *Dir) Path() string { return d.path }

// Log returns where the segment files of the log lie.
func (d *Dir) Log() string { return filepath.Join(d.path, "log") }

// Database returns where the database lies.
func (d *Dir) Database() string { return filepath.Join(d.path, "badger") }

// Jobs returns where the working copies of agent jobs lie.
func (d *Dir) Jobs() string { return filepath.Join(d.path, "agentjobs") }

// Socket returns the path of the control socket of a data directory.
func Socket(path string) string { return filepath.Join(path, socketFile) }

// checkFormat refuses a directory of another format, and gives an empty one the
// format.
func (d *Dir) checkFormat() error {
	name := filepath.Join(d.path, formatFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return d.writeFormat(name)
	}
	if err != nil {
		return fmt.Errorf("reading the format of the data directory: %w", err)
	}
	number, found := strings.CutPrefix(strings.TrimSpace(string(text)), formatPrefix)
	version, err := strconv.Atoi(number)
	switch {
	case !found || err != nil:
		return fmt.Errorf("%s: %w: file %s does not say %q", d.path, ErrFormat, formatFile, formatPrefix+"<number>")
	case version > FormatVersion:
		return fmt.Errorf("%s: %w: format %d is newer than %d, the newest this version knows", d.path, ErrFormat, version, FormatVersion)
	case version < FormatVersion:
		return fmt.Errorf("%s: %w: format %d is older than %d", d.path, ErrFormat, version, FormatVersion)
	}
	return nil
}

// checkForeign refuses a directory that holds anything but a data directory.
func (d *Dir) checkForeign() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("reading the data directory: %w", err)
	}
	isFormat := func(entry fs.DirEntry) bool { return entry.Name() == formatFile }
	if slices.ContainsFunc(entries, isFormat) {
		return nil
	}
	for _, entry := range entries {
		if name := entry.Name(); name != lockFile && name != formatFile+".tmp" {
			return fmt.Errorf("%s: %w: it holds %q but no file %q", d.path, ErrFormat, name, formatFile)
		}
	}
	return nil
}

// writeFormat makes the file appear whole or not at all, and durable.
func (d *Dir) writeFormat(name string) error {
	write := func() error {
		file, err := os.OpenFile(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(file, "%s%d\n", formatPrefix, FormatVersion)
		if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
			return err
		}
		if err := os.Rename(name+".tmp", name); err != nil {
			return err
		}
		dir, err := os.Open(d.path)
		if err != nil {
			return err
		}
		return errors.Join(dir.Sync(), dir.Close())
	}
	if err := write(); err != nil {
		return fmt.Errorf("writing the format of the data directory: %w", err)
	}
	return nil
}
