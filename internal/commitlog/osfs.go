package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Only the service's own account may read what is logged.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

type osFS struct{}

func (osFS) Mkdir(dir string) error {
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (osFS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

func (osFS) Create(name string) (File, error) { return openOSFile(name, os.O_CREATE|os.O_TRUNC) }

func (osFS) Open(name string) (File, error) { return openOSFile(name, 0) }

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type osFile struct{ *os.File }

func openOSFile(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|flag, fileMode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Sync() error {
	if err := syncData(f.File); err != nil {
		return fmt.Errorf("sync %s: %w", f.Name(), err)
	}
	return nil
}

func (f osFile) Preallocate(size int64) error {
	if err := preallocate(f.File, size); err != nil {
		return fmt.Errorf("preallocate %d bytes of %s: %w", size, f.Name(), err)
	}
	return nil
}
