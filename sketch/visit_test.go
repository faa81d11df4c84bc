package sketch_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"footfall/sketch"
)

func TestSourceIsNamedByItsBeginning(t *testing.T) {
	log := bytes.Repeat([]byte("GET /docs\n"), 1000)
	const head = sketch.SourceHead

	t.Run("bytes after the head do not count", func(t *testing.T) {
		if sketch.SourceOf(log[:head]) != sketch.SourceOf(log) {
			t.Error("the name changes when a log grows beyond the head")
		}
	})
	t.Run("bytes of the head count", func(t *testing.T) {
		other := bytes.Clone(log)
		other[head-1] ^= 1
		if sketch.SourceOf(other) == sketch.SourceOf(log) {
			t.Error("logs that differ in the last byte of the head have one name")
		}
	})
	t.Run("a short log is named by all of it", func(t *testing.T) {
		short := sketch.SourceOf(log[:100])
		if short.Length != 100 || short.Sum != sha256.Sum256(log[:100]) {
			t.Errorf("named %+v", short)
		}
		if grown := sketch.SourceOf(log[:short.Length]); grown != short {
			t.Error("a log that grew is not found again by the length of its name")
		}
	})
	t.Run("an empty log has no name", func(t *testing.T) {
		if mark := (sketch.Mark{Source: sketch.SourceOf(nil)}); !mark.IsZero() {
			t.Error("an empty log is a source")
		}
	})
}

func TestMarkRemembersTheTailOfItsBatch(t *testing.T) {
	tests := []struct {
		name            string
		from, to, start int64
	}{
		{"nothing", 0, 0, 0},
		{"shorter than a tail", 10, 1033, 10},
		{"as long as a tail", 10, 1034, 10},
		{"longer than a tail", 10, 1035, 11},
		{"much longer", 1 << 40, 1<<40 + 1<<20, 1<<40 + 1<<20 - 1024},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mark := sketch.Mark{From: test.from, To: test.to}
			if got := mark.TailStart(); got != test.start {
				t.Errorf("the tail starts at %d, expected %d", got, test.start)
			}
		})
	}
}

func TestMarkWithoutSourceIsZero(t *testing.T) {
	if !(sketch.Mark{}).IsZero() {
		t.Error("a batch that came over HTTP has a source")
	}
	if (sketch.Mark{Source: sketch.SourceOf([]byte("x"))}).IsZero() {
		t.Error("a batch of a log has no source")
	}
}
