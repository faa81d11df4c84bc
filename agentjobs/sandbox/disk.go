package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A disk measures what a run adds to its directories.
type disk struct {
	limits  Limits
	dirs    []string
	temp    []string // file systems in memory, the run's own
	atStart holding
	devices map[uint64]bool // that dirs are on

	used   holding // of the file systems of dirs, by anybody, at the last walk
	walked time.Time
	took   time.Duration
}

func newDisk(limits Limits, dirs, temp []string) (*disk, error) {
	d := &disk{limits: limits, dirs: dirs, temp: temp, devices: map[uint64]bool{}}
	for _, dir := range dirs {
		var s unix.Stat_t
		if err := unix.Lstat(dir, &s); err != nil {
			return nil, fmt.Errorf("look at %s: %w", dir, err)
		}
		d.devices[s.Dev] = true
	}
	// Not bounded: this is the checkout, which the service made.
	var err error
	d.atStart, err = d.walk(holding{bytes: 1 << 62, files: 1 << 62})
	return d, err
}

// lost is by how much the file systems of the run's directories grew since the
// last walk, by anybody: a cheap sign that a walk is due, and no proof.
func (d *disk) lost() (holding, error) {
	used, err := sum(d.dirs)
	return used.minus(d.used), err
}

// temporary is what lies in the run's file systems in memory.
func (d *disk) temporary() (holding, error) { return sum(d.temp) }

func sum(paths []string) (holding, error) {
	var total holding
	for _, path := range paths {
		h, err := statfs(path)
		if err != nil {
			return holding{}, err
		}
		total = total.plus(h)
	}
	return total, nil
}

// added walks the directories and returns what they hold beyond the start, with
// what is deleted but still open, and the files in memory. Once it is beyond the
// limits it may stop short.
func (d *disk) added() (holding, error) {
	temp, err := d.temporary()
	if err != nil {
		return holding{}, err
	}
	held, err := d.walk(d.atStart.plus(holding{bytes: d.limits.DiskBytes, files: d.limits.Files}))
	if err != nil {
		return holding{}, err
	}
	held.files += temp.files
	return held.minus(d.atStart), nil
}

// walk adds up the directories until it is above enough.
func (d *disk) walk(enough holding) (holding, error) {
	began := time.Now()
	used, err := sum(d.dirs)
	if err != nil {
		return holding{}, err
	}
	w := walker{seen: map[[2]uint64]bool{}, enough: enough, devices: d.devices}
	for _, dir := range d.dirs {
		if err := w.tree(dir); err != nil {
			return holding{}, err
		}
	}
	if err := w.deleted(); err != nil {
		return holding{}, err
	}
	d.used, d.walked, d.took = used, time.Now(), time.Since(began)
	return w.total, nil
}

// A walker adds up files. Links to one file count once.
type walker struct {
	seen    map[[2]uint64]bool
	devices map[uint64]bool
	total   holding
	enough  holding
	reader  procReader
}

func (w *walker) full() bool {
	return w.total.bytes > w.enough.bytes || w.total.files > w.enough.files
}

func (w *walker) add(s *unix.Stat_t, shared bool) {
	w.total.files++
	if shared {
		key := [2]uint64{s.Dev, s.Ino}
		if w.seen[key] {
			return
		}
		w.seen[key] = true
	}
	w.total.bytes += s.Blocks * 512 // stat(2): of 512 bytes, whatever the file system's
}

// tree walks without following links. It holds one directory open at a time and
// as many paths as directories wait, which the limit on files bounds.
func (w *walker) tree(root string) error {
	waiting := []string{root}
	for len(waiting) > 0 && !w.full() {
		dir := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		below, err := w.directory(dir)
		switch {
		case gone(err), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			// It was removed, or replaced, since it was listed.
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENAMETOOLONG):
			return &LimitError{Limit: LimitHidden, Path: dir}
		case err != nil:
			return fmt.Errorf("walk the agent's files: %w", err)
		}
		waiting = append(waiting, below...)
	}
	return nil
}

func (w *walker) directory(path string) (below []string, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	for !w.full() {
		names, err := dir.Readdirnames(1024)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return below, err
		}
		for _, name := range names {
			var s unix.Stat_t
			err := unix.Fstatat(fd, name, &s, unix.AT_SYMLINK_NOFOLLOW)
			if gone(err) {
				continue
			}
			if err != nil {
				return below, err
			}
			directory := s.Mode&unix.S_IFMT == unix.S_IFDIR
			w.add(&s, s.Nlink > 1 && !directory)
			if directory {
				below = append(below, filepath.Join(path, name))
			}
		}
	}
	return below, nil
}

// deleted adds files of the directories' file systems that have no name left and
// are held open, also by several processes.
func (w *walker) deleted() error {
	pids, err := processes()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if w.full() {
			break
		}
		path := "/proc/" + pid + "/fd"
		err := w.openFiles(path)
		switch {
		case err == nil, gone(err):
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
			// One that is about to be gone refuses, too. It has no memory then, and
			// never again.
			status, err := w.reader.read(pid, "status")
			if err != nil {
				return err
			}
			if bytes.Contains(status, []byte("\nRssAnon:")) {
				return &LimitError{Limit: LimitHidden, Path: path}
			}
		default:
			return fmt.Errorf("look at the agent's open files: %w", err)
		}
	}
	return nil
}

func (w *walker) openFiles(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		var s unix.Stat_t
		err := unix.Fstatat(int(dir.Fd()), name, &s, 0)
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		if s.Nlink == 0 && s.Mode&unix.S_IFMT == unix.S_IFREG && w.devices[s.Dev] {
			w.add(&s, true)
		}
	}
	return nil
}
