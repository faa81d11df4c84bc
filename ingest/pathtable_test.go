package ingest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A path table numbers paths as a map does, in the order in which they come first,
// through growth and from batch to batch; and keeps what it was given, not where.
func TestPathTableNumbersAsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table := newPathTable()
	for round := range 60 {
		distinct := []int{1, 10, minSlots/2 - 1, minSlots / 2, minSlots/2 + 1, 3_000, 40_000}[random.IntN(7)]
		want := make(map[string]uint32)
		var buffer []byte
		for range 2*distinct + random.IntN(10) {
			path := fmt.Sprintf("/%x", random.IntN(distinct))
			if round%3 == 0 {
				path += strings.Repeat("/x", random.IntN(30))
			}
			buffer = append(buffer[:0], path...)
			got := table.number(buffer)
			for i := range buffer {
				buffer[i] = '!' // The caller's memory is used again.
			}
			number, known := want[path]
			if !known {
				number = uint32(len(want))
				want[path] = number
			}
			if got != number {
				t.Fatalf("round %d: %q is %d, want %d", round, path, got, number)
			}
		}
		if len(table.paths) != len(want) {
			t.Fatalf("round %d: %d paths, want %d", round, len(table.paths), len(want))
		}
		for _, path := range slices.Sorted(maps.Keys(want)) {
			if got := table.paths[want[path]]; string(got) != path {
				t.Fatalf("round %d: path %d is %q, want %q", round, want[path], got, path)
			}
		}
		table.reset()
		if len(table.paths) != 0 || cap(table.text) > maxKeptText || len(table.slots) > maxSlots {
			t.Fatalf("round %d: a table that was reset keeps %d paths, %d bytes and %d slots", round, len(table.paths), cap(table.text), len(table.slots))
		}
	}
}

// What is told to be normal is its own normal form, and what is its own normal form
// and plain ASCII without escapes is told to be.
func checkNormal(t interface{ Fatalf(string, ...any) }, raw []byte) {
	normal, err := appendPath(nil, raw)
	same := err == nil && bytes.Equal(normal, raw)
	plain := !bytes.ContainsFunc(raw, func(r rune) bool { return r == '%' || r >= 0x80 })
	if told := isNormalPath(raw); told && !same || same && plain && !told {
		t.Fatalf("%q is told to be normal: %v; it becomes %q, %v", raw, told, normal, err)
	}
	table := newPathTable()
	table.own = append(table.own, "what was there before"...)
	again, againErr := table.normalise(raw)
	if (err == nil) != (againErr == nil) || err == nil && !bytes.Equal(again, normal) {
		t.Fatalf("%q becomes %q, %v; and by the table %q, %v", raw, normal, err, again, againErr)
	}
}

func TestNormalPaths(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	parts := []string{"/", "//", "a", "Z0", "-._~", "!$&'()*+,;=:@", "%", "%41", "%2F", "?", "#", " ", "\\", "ö", "\xff", "\x00", "\x7f", "://", ".."}
	for range 50_000 {
		var raw []byte
		for range random.IntN(8) {
			raw = append(raw, parts[random.IntN(len(parts))]...)
		}
		checkNormal(t, raw)
		checkNormal(t, append([]byte("/"), raw...))
	}
	for c := range 256 {
		for _, around := range []string{"", "/", "/a", "/a/"} {
			checkNormal(t, append([]byte(around), byte(c)))
			checkNormal(t, append(append([]byte(around), byte(c)), 'a'))
		}
	}
	for length := MaxPathBytes - 3; length <= MaxPathBytes+3; length++ {
		checkNormal(t, []byte("/"+strings.Repeat("x", length-1)))
		checkNormal(t, []byte("/"+strings.Repeat("x", length-2)+"/"))
		checkNormal(t, []byte("//"+strings.Repeat("x", length-2)))
	}
}

func FuzzNormalPath(f *testing.F) {
	for _, seed := range []string{"", "/", "/a", "/a/", "//a", "/a//b", "a", "/%41", "/a?b", "/ö", "/a:b@c", "http://x/a", "/http://x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkNormal(t, raw) })
}
