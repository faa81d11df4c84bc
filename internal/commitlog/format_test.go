package commitlog_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
)

// The beginning of a segment of 4,096 bytes that version 2 wrote. It must be read
// for ever; if this test fails, the format on disk has changed.
const frozenSegment = `
464f4f54464c4f47 0100000000000000 02000000 b245d96d 00020000 87e047c3
05000000 4cbb719a 0100000000000000 0000000000000000 00000000 a23ac856 68656c6c6f000000
58020000 f460fd60 0200000000000000 0100000000000000 01000000 8904f295`

// Of other versions only the first 24 bytes are known. Nothing was released that
// wrote version 1.
const version1 = `464f4f54464c4f47 0100000000000000 01000000 8bccfb0f 05000000 4cbb719a`

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFrozenFormat(t *testing.T) {
	frozen := append(unhex(t, frozenSegment), make([]byte, 600)...) // the second payload is 600 zeros
	frozen = append(frozen, make([]byte, 4096-len(frozen))...)
	want := [][]byte{[]byte("hello"), make([]byte, 600)}
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	mustAppend(t, l, want[0])
	mustAppend(t, l, want[1])
	mustClose(t, l)
	data, err := fsys.ReadFile(segmentFile(1))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, frozen) {
		t.Errorf("wrote\n%x\nwant\n%x", data[:112], frozen[:112])
	}

	fsys = faultfs.New()
	fsys.WriteFile(segmentFile(1), frozen)
	_, got := mustOpen(t, options(fsys))
	wantPayloads(t, got, want)
}

func TestOtherVersions(t *testing.T) {
	newer := unhex(t, version1)
	newer[16] = 3
	binary.LittleEndian.PutUint32(newer[20:], crc32.Checksum(newer[:20], crc32.MakeTable(crc32.Castagnoli)))
	for name, data := range map[string][]byte{"older": unhex(t, version1), "newer": newer, "newer and short": newer[:24]} {
		fsys := faultfs.New()
		fsys.WriteFile(segmentFile(1), data)
		_, err := commitlog.Open(options(fsys), nil)
		if !errors.Is(err, commitlog.ErrVersion) || errors.Is(err, commitlog.ErrDamaged) {
			t.Errorf("%s: Open: %v, want ErrVersion", name, err)
		}
	}
}
