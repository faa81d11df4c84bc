package database

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// versionFile keeps the version of the last write that was reported done. It
// stands outside of what Badger writes, so that what Badger lost can be told from
// what was never written.
//
// It has two slots of one sector, which are written in turn, so that a write that
// is cut short leaves the one before:
//
//	version   LE uint64
//	CRC32C    LE uint32, over the version
type versionFile struct {
	file *os.File
	last uint64
	slot int64 // that is written next
}

const (
	versionFileName = "VERSION"
	versionSlot     = 512
	versionSize     = 8 + crc32.Size
)

// openVersionFile opens the file, or returns nil where there is none.
func openVersionFile(dir string) (*versionFile, error) {
	name := filepath.Join(dir, versionFileName)
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &versionFile{file: file}
	valid := false
	for slot := range int64(2) {
		raw := make([]byte, versionSize)
		if _, err := file.ReadAt(raw, slot*versionSlot); err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(fmt.Errorf("reading %s: %w", name, err), file.Close())
		}
		version := binary.LittleEndian.Uint64(raw)
		if crc32.Checksum(raw[:8], castagnoli) != binary.LittleEndian.Uint32(raw[8:]) {
			continue
		}
		if !valid || version > v.last {
			valid, v.last, v.slot = true, version, 1-slot
		}
	}
	if !valid {
		return nil, errors.Join(&DamageError{File: name, Reason: "it does not match its checksum"}, file.Close())
	}
	return v, nil
}

// createVersionFile makes the file appear whole or not at all.
func createVersionFile(dir string, version uint64) (*versionFile, error) {
	name := filepath.Join(dir, versionFileName)
	file, err := os.OpenFile(name+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	v := &versionFile{file: file}
	err = v.set(version)
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("creating %s: %w", name, err), file.Close())
	}
	return v, nil
}

// set makes a version durable.
func (v *versionFile) set(version uint64) error {
	raw := binary.LittleEndian.AppendUint64(nil, version)
	raw = binary.LittleEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
	if _, err := v.file.WriteAt(raw, v.slot*versionSlot); err != nil {
		return err
	}
	if err := v.file.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", v.file.Name(), err)
	}
	v.last, v.slot = version, 1-v.slot
	return nil
}

func (v *versionFile) close() error { return v.file.Close() }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
