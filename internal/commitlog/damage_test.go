package commitlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"footfall/internal/commitlog"
	"footfall/internal/commitlog/faultfs"
	"footfall/sketch"
)

// Three segments of three records of 1,000 bytes each, every one a write of its
// own: positions 1-3, 4-6 and 7-9, at these offsets of their segments.
const (
	at1   = segmentHeader
	at2   = at1 + 1032
	at3   = at2 + 1032
	atEnd = at3 + 1032
)

func nineRecords(t *testing.T) (*faultfs.FS, [][]byte) {
	t.Helper()
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	want := payloads(9, 1000)
	for _, p := range want {
		mustAppend(t, l, p)
	}
	mustClose(t, l)
	return fsys, want
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 0x10; return b }
}

func zero(from, to int) func([]byte) []byte {
	return func(b []byte) []byte { clear(b[from:to]); return b }
}

func cut(at int) func([]byte) []byte {
	return func(b []byte) []byte { return b[:at] }
}

func put(at int, data []byte) func([]byte) []byte {
	return func(b []byte) []byte { copy(b[at:], data); return b }
}

func TestDamage(t *testing.T) {
	remove := func(name string) func(*testing.T, *faultfs.FS) {
		return func(t *testing.T, fsys *faultfs.FS) {
			if err := fsys.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	change := func(first int, change func([]byte) []byte) func(*testing.T, *faultfs.FS) {
		return func(t *testing.T, fsys *faultfs.FS) { edit(t, fsys, segmentFile(first), change) }
	}
	place := func(file string, offset int64, position sketch.Position) *commitlog.DamageError {
		return &commitlog.DamageError{File: file, Offset: offset, Position: position}
	}
	tests := []struct {
		name    string
		after   sketch.Position
		corrupt func(*testing.T, *faultfs.FS)
		want    *commitlog.DamageError // nil: the start succeeds
		reason  string
		survive int // records replayed
	}{
		{name: "nothing", corrupt: func(*testing.T, *faultfs.FS) {}, survive: 9},

		// Before the last segment there is no torn write.
		{name: "payload in a sealed segment", corrupt: change(1, flip(at2+500)), want: place(segmentFile(1), at2, 2), reason: "payload does not match"},
		{name: "header in a sealed segment", corrupt: change(4, flip(at1)), want: place(segmentFile(4), at1, 4), reason: "header does not match"},
		{name: "last record of a sealed segment", corrupt: change(4, flip(at3+999)), want: place(segmentFile(4), at3, 6), reason: "next segment begins with record 7"},
		{name: "last record of a sealed segment gone", corrupt: change(4, zero(at3, atEnd)), want: place(segmentFile(4), at3, 6), reason: "there is no record"},
		{name: "sealed segment cut between records", corrupt: change(1, cut(at3)), want: place(segmentFile(1), at3, 3), reason: "there is no record"},
		{name: "sealed segment cut inside a header", corrupt: change(1, cut(at3+20)), want: place(segmentFile(1), at3, 3), reason: "ends inside the record's header"},
		{name: "sealed segment cut inside a payload", corrupt: change(1, cut(at3+200)), want: place(segmentFile(1), at3, 3), reason: "ends inside the record"},
		{name: "sealed segment empty", corrupt: change(4, cut(0)), want: place(segmentFile(4), 0, 4), reason: "no segment header"},
		{name: "what follows the last record of a sealed segment", corrupt: change(4, put(atEnd, []byte("stale"))), survive: 9},

		{name: "first segment missing", corrupt: remove(segmentFile(1)), want: place(segmentFile(4), 0, 1), reason: "begins with record 4"},
		{name: "middle segment missing", corrupt: remove(segmentFile(4)), want: place(segmentFile(1), atEnd, 4), reason: "next segment begins with record 7"},
		{name: "two segments change names", corrupt: func(t *testing.T, fsys *faultfs.FS) {
			a, _ := fsys.ReadFile(segmentFile(1))
			b, _ := fsys.ReadFile(segmentFile(4))
			fsys.WriteFile(segmentFile(1), b)
			fsys.WriteFile(segmentFile(4), a)
		}, want: place(segmentFile(1), 0, 1), reason: "begins with record 4"},
		{name: "header of the last segment", corrupt: change(7, flip(3)), want: place(segmentFile(7), 0, 7), reason: "no segment header"},
		{name: "last segment all zeros", corrupt: change(7, zero(0, 4096)), want: place(segmentFile(7), 0, 7), reason: "no segment header"},
		{name: "last segment empty", corrupt: change(7, cut(0)), want: place(segmentFile(7), 0, 7), reason: "no segment header"},

		// In the last segment, with a later write to prove that the record was synced.
		{name: "payload before the last record", corrupt: change(7, flip(at2+500)), want: place(segmentFile(7), at2, 8), reason: "record 9 at byte 2096 was written after"},
		{name: "sector of zeros before the last record", corrupt: change(7, zero(1536, 2048)), want: place(segmentFile(7), at2, 8), reason: "record 9 at byte 2096 was written after"},
		{name: "length before the last record", corrupt: change(7, put(at2, []byte{0xff, 0xff, 0xff, 0xff})), want: place(segmentFile(7), at2, 8), reason: "record 9 at byte 2096"},
		{name: "record before the last gone", corrupt: change(7, zero(at2, at3)), want: place(segmentFile(7), at2, 8), reason: "there is no record, but record 9"},

		// The last write.
		{name: "payload of the last record", corrupt: change(7, flip(at3+500)), want: place(segmentFile(7), at3, 9), reason: "written whole"},
		{name: "last byte of the last record", corrupt: change(7, flip(at3+32+999)), want: place(segmentFile(7), at3, 9), reason: "written whole"},
		{name: "length of the last record", corrupt: change(7, flip(at3+1)), want: place(segmentFile(7), at3, 9), reason: "written whole"},
		{name: "another record in the place of the last", corrupt: func(t *testing.T, fsys *faultfs.FS) {
			data, _ := fsys.ReadFile(segmentFile(4))
			edit(t, fsys, segmentFile(7), put(at3, data[at3:atEnd]))
		}, want: place(segmentFile(7), at3, 9), reason: "record 6 stands in its place"},
		{name: "sector of the last record missing", corrupt: change(7, zero(2560, 3072)), survive: 8},
		{name: "first sector of the last record missing", corrupt: change(7, zero(at3, 2560)), survive: 8},
		{name: "last sector of the last record missing", corrupt: change(7, zero(3072, atEnd)), survive: 8},
		{name: "last two records gone", corrupt: change(7, zero(at2, atEnd)), survive: 7},
		{name: "last record gone", corrupt: change(7, zero(at3, atEnd)), survive: 8},
		{name: "last record gone but applied", after: 9, corrupt: change(7, zero(at3, atEnd)), want: place(segmentFile(7), at3, 9), reason: "records up to 9 had been synced and applied"},
		{name: "sector missing of a record that was applied", after: 9, corrupt: change(7, zero(2560, 3072)), want: place(segmentFile(7), at3, 9), reason: "records up to 9 had been synced and applied"},
		{name: "bytes in the space not written yet", corrupt: change(7, put(atEnd+300, []byte("stale"))), survive: 9},

		// A file that is shorter than its header says.
		{name: "last segment cut inside its header", corrupt: change(7, cut(30)), want: place(segmentFile(7), 0, 7), reason: "no segment header"},
		{name: "last segment cut behind its header", corrupt: change(7, cut(at1)), want: place(segmentFile(7), at1, 7), reason: "there is no record, and the file was cut: it has 32 bytes of the 4096"},
		{name: "last segment cut between records", corrupt: change(7, cut(at3)), want: place(segmentFile(7), at3, 9), reason: "there is no record, and the file was cut"},
		{name: "last segment cut inside a header", corrupt: change(7, cut(at3+9)), want: place(segmentFile(7), at3, 9), reason: "ends inside the record's header, and the file was cut"},
		{name: "last segment cut inside a payload", corrupt: change(7, cut(at3+700)), want: place(segmentFile(7), at3, 9), reason: "ends inside the record, and the file was cut"},
		{name: "last segment cut behind its records", corrupt: change(7, cut(atEnd)), want: place(segmentFile(7), atEnd, 10), reason: "there is no record, and the file was cut"},
		{name: "last segment cut by one byte", corrupt: change(7, cut(4095)), want: place(segmentFile(7), atEnd, 10), reason: "it has 4095 bytes of the 4096"},
		{name: "last segment cut inside a record that was applied", after: 9, corrupt: change(7, cut(at3+700)), want: place(segmentFile(7), at3, 9), reason: "records up to 9 had been synced and applied"},
		{name: "sealed segment cut behind its records", corrupt: change(4, cut(atEnd)), survive: 9},

		// What is applied elsewhere is not needed.
		{name: "segment that was applied", after: 3, corrupt: change(1, flip(at2+500)), survive: 6},
		{name: "segment that was applied missing", after: 3, corrupt: remove(segmentFile(1)), survive: 6},
		{name: "segment that was applied but for its last record", after: 2, corrupt: change(1, flip(at1+500)), want: place(segmentFile(1), at1, 1), reason: "payload does not match"},
		{name: "every segment missing", after: 9, corrupt: func(t *testing.T, fsys *faultfs.FS) {
			for _, first := range []int{1, 4, 7} {
				remove(segmentFile(first))(t, fsys)
			}
		}, want: place(dir, 0, 10), reason: "there is no segment"},
		{name: "position beyond the log", after: 100, corrupt: func(*testing.T, *faultfs.FS) {}, want: place(segmentFile(7), atEnd, 10), reason: "records up to 100 had been synced and applied"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys, want := nineRecords(t)
			test.corrupt(t, fsys)
			before := contents(t, fsys)
			opts := options(fsys)
			opts.After = test.after
			if test.want == nil {
				from := int(test.after)
				want = want[from : from+test.survive]
				survives(t, opts, want)
				return
			}
			_, err := commitlog.Open(opts, func(p sketch.Position, _ []byte) error {
				return fmt.Errorf("record %d was replayed from a damaged log", p)
			})
			var got *commitlog.DamageError
			if !errors.Is(err, commitlog.ErrDamaged) || !errors.As(err, &got) {
				t.Fatalf("Open: %v, want ErrDamaged", err)
			}
			if got.File != test.want.File || got.Offset != test.want.Offset || got.Position != test.want.Position || !strings.Contains(got.Reason, test.reason) {
				t.Errorf("Open: %v\nwant %s at byte %d, record %d: ...%s...", got, test.want.File, test.want.Offset, test.want.Position, test.reason)
			}
			if !maps.Equal(contents(t, fsys), before) {
				t.Error("Open changed a damaged log")
			}
			if n := fsys.OpenFiles(); n != 0 {
				t.Errorf("%d files are open", n)
			}
		})
	}
}

// survives opens the log, expects those records, appends one more, and expects
// both after a power cut.
func survives(t *testing.T, opts commitlog.Options, want [][]byte) {
	t.Helper()
	l, got := mustOpen(t, opts)
	wantPayloads(t, got, want)
	more := payload(99, 300)
	mustAppend(t, l, more)
	opts.FS = opts.FS.(*faultfs.FS).Crash(nil)
	_, got = mustOpen(t, opts)
	wantPayloads(t, got, append(want[:len(want):len(want)], more))
}

func TestTornTailIsReported(t *testing.T) {
	fsys, want := nineRecords(t)
	edit(t, fsys, segmentFile(7), zero(2560, 3072))
	var out bytes.Buffer
	opts := options(fsys)
	opts.Logger = slog.New(slog.NewTextHandler(&out, nil))
	survives(t, opts, want[:8])
	for _, part := range []string{"level=WARN", "file=" + segmentFile(7), "offset=2096", "bytes=1032", "position=9"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the warning %q does not name %s", out.String(), part)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d warnings, want one: the second start has nothing to report", n)
	}
}

// No byte of a record can change unnoticed, wherever it stands.
func TestEveryFlippedByteIsFound(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	// Long enough to lie across sectors; the header of the last one does too.
	want := [][]byte{payload(1, 424), payload(2, 496), payload(3, 1000)}
	mustAppend(t, l, want[0], want[1])
	mustAppend(t, l, want[2])
	mustClose(t, l)
	data, err := fsys.ReadFile(segmentFile(1))
	if err != nil {
		t.Fatal(err)
	}
	end := segmentHeader + 456 + 528 + 1032
	for at := range end {
		for _, mask := range []byte{0xff, 0x01, 0x80} {
			damaged := bytes.Clone(data)
			damaged[at] ^= mask
			fsys.WriteFile(segmentFile(1), damaged)
			_, err := commitlog.Open(options(fsys), nil)
			if !errors.Is(err, commitlog.ErrDamaged) {
				t.Fatalf("byte %d xor %#x: Open: %v, want ErrDamaged", at, mask, err)
			}
		}
	}
}

// However a file with an acknowledged record is cut, it is found, and the error
// names the record.
func TestEveryCutIsFound(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	mustAppend(t, l, payload(1, 424), make([]byte, 104)) // no padding
	mustAppend(t, l, payload(2, 496))
	mustClose(t, l)
	data, err := fsys.ReadFile(segmentFile(1))
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{at1 + 456, at1 + 456 + 136, at1 + 456 + 136 + 528}
	for size := range data {
		fsys.WriteFile(segmentFile(1), data[:size])
		_, err := commitlog.Open(options(fsys), nil)
		var got *commitlog.DamageError
		if !errors.As(err, &got) {
			t.Fatalf("cut at byte %d: Open: %v, want ErrDamaged", size, err)
		}
		want := sketch.Position(1)
		for _, end := range ends {
			if size >= end {
				want++
			}
		}
		if got.Position != want {
			t.Fatalf("cut at byte %d: %v, want record %d", size, got, want)
		}
	}
}

// A segment of one record that is larger than other segments is extended to it.
func TestCutOfALargeRecordIsFound(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	mustAppend(t, l, payload(1, 10_000))
	mustClose(t, l)
	edit(t, fsys, segmentFile(1), cut(segmentHeader+32+10_000-1))
	if _, err := commitlog.Open(options(fsys), nil); !errors.Is(err, commitlog.ErrDamaged) {
		t.Errorf("Open: %v, want ErrDamaged", err)
	}
}

// Whatever sectors of the last write are missing, the records before it survive,
// with those of the write that are whole and have no gap before them.
func TestEveryTornWriteIsLeftOut(t *testing.T) {
	zeros := make([]byte, 1200) // zero sectors that are no missing ones
	for _, test := range []struct {
		name string
		last [][]byte
	}{
		{"one record", [][]byte{payload(2, 2500)}},
		{"three records", [][]byte{payload(2, 700), payload(3, 700), payload(4, 700)}},
		{"zeros inside", [][]byte{append(append(payload(2, 600), zeros...), payload(3, 600)...)}},
		{"header across sectors", [][]byte{payload(2, 496), payload(3, 1000)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fsys := faultfs.New()
			l, _ := mustOpen(t, options(fsys))
			first := payload(1, 424)
			mustAppend(t, l, first)
			mustAppend(t, l, test.last...)
			mustClose(t, l)
			whole, err := fsys.ReadFile(segmentFile(1))
			if err != nil {
				t.Fatal(err)
			}
			const begin = segmentHeader + 456
			end := begin
			var ends []int
			for _, p := range test.last {
				end += (32 + len(p) + 7) / 8 * 8
				ends = append(ends, end)
			}
			firstSector, sectors := begin/512, (end+511)/512-begin/512
			for missing := range 1 << sectors {
				torn := bytes.Clone(whole)
				for i := range sectors {
					if missing&(1<<i) != 0 {
						clear(torn[max(begin, (firstSector+i)*512) : (firstSector+i+1)*512])
					}
				}
				want := [][]byte{first}
				for i, p := range test.last {
					if !bytes.Equal(torn[begin:ends[i]], whole[begin:ends[i]]) {
						break
					}
					want = append(want, p)
				}
				fsys := faultfs.New()
				fsys.WriteFile(segmentFile(1), torn)
				survives(t, options(fsys), want)
			}
		})
	}
}

// A flipped byte in an acknowledged record with sectors of zeros is not taken for
// a torn write.
func TestZeroSectorsAreNotTaken(t *testing.T) {
	fsys := faultfs.New()
	l, _ := mustOpen(t, options(fsys))
	p := append(payload(1, 700), make([]byte, 2000)...)
	mustAppend(t, l, p)
	mustClose(t, l)
	for _, at := range []int{at1 + 32 + 5, at1 + 32 + 699, at1 + 32 + 2000, at1 + 32 + 2699} {
		edit(t, fsys, segmentFile(1), flip(at))
		if _, err := commitlog.Open(options(fsys), nil); !errors.Is(err, commitlog.ErrDamaged) {
			t.Errorf("byte %d: Open: %v, want ErrDamaged", at, err)
		}
		edit(t, fsys, segmentFile(1), flip(at))
	}
}

// A payload may hold what looks like a later record of the log. As long as its own
// header checks, the search for such records begins behind it.
func TestRecordInsideATornPayload(t *testing.T) {
	other := faultfs.New()
	l, _ := mustOpen(t, options(other))
	for range 3 {
		mustAppend(t, l, payload(1, 200))
	}
	data, err := other.ReadFile(segmentFile(1))
	if err != nil {
		t.Fatal(err)
	}
	third := data[segmentHeader+2*232 : segmentHeader+3*232] // position 3, written after 2 was synced

	fsys := faultfs.New()
	l, _ = mustOpen(t, options(fsys))
	mustAppend(t, l, payload(1, 200))
	mustAppend(t, l, append(payload(2, 32), append(bytes.Clone(third), payload(3, 1000)...)...))
	mustClose(t, l)
	edit(t, fsys, segmentFile(1), zero(1024, 1536))
	survives(t, options(fsys), payloads(2, 200)[1:])
}

// Where a file is not extended ahead it ends with the last record, and its padding
// may be cut off: the record is whole. A record that is cut is a torn one, also
// where it is not.
func TestCutWhereFilesAreNotExtended(t *testing.T) {
	const end = segmentHeader + 2*40
	for size, want := range map[int]int{end - 40: 1, end - 40 + 20: 1, end - 4: 1, end - 3: 2, end - 1: 2, end: 2} {
		fsys := faultfs.New()
		l, _ := mustOpen(t, options(unextended{fsys}))
		mustAppend(t, l, []byte("hello"))
		mustAppend(t, l, []byte("hello"))
		mustClose(t, l)
		data, err := fsys.ReadFile(segmentFile(1))
		if err != nil || len(data) != end {
			t.Fatalf("the file has %d bytes, %v, want %d", len(data), err, end)
		}
		fsys.WriteFile(segmentFile(1), data[:size])
		survives(t, options(fsys), [][]byte{[]byte("hello"), []byte("hello")}[:want])
	}
}
