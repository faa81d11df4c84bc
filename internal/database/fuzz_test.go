package database

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// entry returns an entry of a memtable's log, as Badger writes it.
func entry(meta byte, key, value string) []byte {
	b := []byte{meta, 0}
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = binary.AppendUvarint(b, uint64(len(value)))
	b = binary.AppendUvarint(b, 0) // It does not expire.
	b = append(b, key...)
	b = append(b, value...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// transaction returns the entries of a transaction of one key.
func transaction(version uint64) []byte {
	key := "key" + string(binary.BigEndian.AppendUint64(nil, math.MaxUint64-version))
	return append(entry(metaTransaction, key, "value"), entry(metaEnd, "end", strconv.FormatUint(version, 10))...)
}

// Whatever a memtable's log holds, scanning it ends, with whole transactions that
// lie within the file, and takes no memory that the file does not have.
func FuzzMemtableLog(f *testing.F) {
	header := make([]byte, memtableHeader)
	two := append(append(header, transaction(7)...), transaction(8)...)
	f.Add(two)
	f.Add(append(two, make([]byte, 100)...))
	f.Add(two[:len(two)-3])
	f.Add(append(header, 0x40, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1))
	f.Add(header[:5])
	f.Fuzz(func(t *testing.T, content []byte) {
		name := filepath.Join(t.TempDir(), "00001"+memtableLog)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := scanMemtableLog(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.end < memtableHeader || s.end > memtableHeader && s.end > int64(len(content)) {
			t.Fatalf("it ends at byte %d of %d", s.end, len(content))
		}
		if whole := s.end > memtableHeader; whole != (s.first > 0) && s.last > 0 {
			t.Fatalf("versions %d to %d end at byte %d", s.first, s.last, s.end)
		}
		if s.last < s.first {
			t.Fatalf("versions %d to %d", s.first, s.last)
		}
	})
}

// Whatever a version file holds, it is the version of a slot that checks, or damage.
func FuzzVersionFile(f *testing.F) {
	slot := binary.LittleEndian.AppendUint64(nil, 300)
	slot = binary.LittleEndian.AppendUint32(slot, crc32.Checksum(slot, castagnoli))
	both := append(append(append([]byte{}, slot...), make([]byte, versionSlot-len(slot))...), slot...)
	f.Add(slot)
	f.Add(both)
	f.Add(both[:len(both)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, versionFileName), content, 0o600); err != nil {
			t.Fatal(err)
		}
		valid, highest := false, uint64(0)
		for _, at := range []int{0, versionSlot} {
			raw := make([]byte, versionSize)
			copy(raw, content[min(at, len(content)):])
			version := binary.LittleEndian.Uint64(raw)
			if crc32.Checksum(raw[:8], castagnoli) == binary.LittleEndian.Uint32(raw[8:]) {
				valid, highest = true, max(highest, version)
			}
		}
		v, err := openVersionFile(dir)
		if valid != (err == nil) {
			t.Fatalf("a slot checks: %v; opening: %v", valid, err)
		}
		if err != nil {
			return
		}
		if v.last != highest {
			t.Errorf("version %d, want %d", v.last, highest)
		}
		if err := v.close(); err != nil {
			t.Fatal(err)
		}
	})
}
