package commitlog_test

import (
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
)

// A segment that version 1 wrote. It must be read for ever; if this test fails,
// the format on disk has changed.
const frozenSegment = `
464f4f54464c4f47 0100000000000000 01000000 8bccfb0f
05000000 4cbb719a 0100000000000000 0000000000000000 00000000 a23ac856 68656c6c6f000000
58020000 f460fd60 0200000000000000 0100000000000000 01000000 8904f295`

func frozen(t *testing.T) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.Join(strings.Fields(frozenSegment), ""))
	if err != nil {
		t.Fatal(err)
	}
	return append(data, make([]byte, 600)...) // the second payload is 600 zeros
}

func TestFrozenFormat(t *testing.T) {
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
	written := data[:len(frozen(t))]
	if string(written) != string(frozen(t)) {
		t.Errorf("wrote\n%x\nwant\n%x", written[:104], frozen(t)[:104])
	}

	fsys = faultfs.New()
	fsys.WriteFile(segmentFile(1), frozen(t))
	_, got := mustOpen(t, options(fsys))
	wantPayloads(t, got, want)
}

func TestNewerVersion(t *testing.T) {
	fsys := faultfs.New()
	data := frozen(t)
	data[16] = 2
	sum := crc32.Checksum(data[:20], crc32.MakeTable(crc32.Castagnoli))
	data[20], data[21], data[22], data[23] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	fsys.WriteFile(segmentFile(1), data)
	_, err := commitlog.Open(options(fsys), nil)
	if !errors.Is(err, commitlog.ErrVersion) || errors.Is(err, commitlog.ErrDamaged) {
		t.Errorf("Open: %v, want ErrVersion", err)
	}
}
