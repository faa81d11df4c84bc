package sketch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"footfall/sketch"
)

const anyKind sketch.Kind = 7

var frameKey = []byte("some/key")

// checkCorrupted checks that an error is an ErrCorrupted that names the key, and
// keeps a key of its own.
func checkCorrupted(err error, key []byte) error {
	if !errors.Is(err, sketch.ErrCorrupted) {
		return fmt.Errorf("%w, expected ErrCorrupted", err)
	}
	var corruption *sketch.CorruptionError
	if !errors.As(err, &corruption) {
		return fmt.Errorf("%T, expected a *CorruptionError", err)
	}
	if !bytes.Equal(corruption.Key, key) || !strings.Contains(err.Error(), fmt.Sprintf("%q", key)) {
		return fmt.Errorf("%w: does not name key %q", err, key)
	}
	if corruption.Reason == "" || !strings.Contains(err.Error(), corruption.Reason) {
		return fmt.Errorf("%w: does not give its reason %q", err, corruption.Reason)
	}
	return nil
}

// What is stored may never change its meaning: these bytes were worked out from
// the format's description, not taken from the encoder.
func TestFrameIsStoredAsTheseBytes(t *testing.T) {
	want := "\x01\x07\x0e" + "\x00\x00\x00\x00" + "payload"
	sum := crc32.Checksum([]byte("some/key"+want[:3]+want[7:]), crc32.MakeTable(crc32.Castagnoli))
	stored := []byte(want)
	binary.LittleEndian.PutUint32(stored[3:], sum)
	if got := sketch.AppendFrame(nil, frameKey, anyKind, sketch.PathPrecision, []byte("payload")); !bytes.Equal(got, stored) {
		t.Errorf("stored as % x, expected % x", got, stored)
	}
}

func TestFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		kind := sketch.Kind(rapid.Byte().Draw(t, "kind"))
		p := sketch.Precision(rapid.Byte().Draw(t, "precision"))
		payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")

		gotPrecision, gotPayload, err := sketch.OpenFrame(key, kind, sketch.AppendFrame(nil, key, kind, p, payload))
		if err != nil {
			t.Fatal(err)
		}
		if gotPrecision != p || !bytes.Equal(gotPayload, payload) {
			t.Fatalf("opened to precision %d and % x", gotPrecision, gotPayload)
		}
	})
}

// frameRefused checks that a value does not open.
func frameRefused(t *testing.T, name string, key, value []byte) {
	t.Helper()
	_, payload, err := sketch.OpenFrame(key, anyKind, value)
	if payload != nil {
		t.Errorf("%s: returns the payload % x", name, payload)
	}
	if err := checkCorrupted(err, key); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestEveryBitFlipIsFound(t *testing.T) {
	value := sketch.AppendFrame(nil, frameKey, anyKind, sketch.PathPrecision, encodedHashes(1<<50, 2<<50, 3<<50))
	for bit := range 8 * len(value) {
		flipped := bytes.Clone(value)
		flipped[bit/8] ^= 1 << (bit % 8)
		frameRefused(t, fmt.Sprintf("bit %d of byte %d", bit%8, bit/8), frameKey, flipped)
	}
	for bit := range 8 * len(frameKey) {
		key := bytes.Clone(frameKey)
		key[bit/8] ^= 1 << (bit % 8)
		frameRefused(t, fmt.Sprintf("bit %d of the key", bit), key, value)
	}
}

func TestEveryTruncatedFrameIsFound(t *testing.T) {
	value := sketch.AppendFrame(nil, frameKey, anyKind, sketch.PathPrecision, encodedHashes(1<<50, 2<<50, 3<<50))
	for n := range len(value) {
		frameRefused(t, fmt.Sprintf("cut to %d bytes", n), frameKey, value[:n])
	}
}

func TestFrameRefusesWhatItIsNot(t *testing.T) {
	frame := sketch.AppendFrame(nil, frameKey, anyKind, sketch.PathPrecision, []byte("payload"))
	tests := []struct {
		name   string
		key    []byte
		kind   sketch.Kind
		value  []byte
		reason string
	}{
		{"nothing", frameKey, anyKind, nil, "too few"},
		{"less than a header", frameKey, anyKind, frame[:6], "too few"},
		{"another key", []byte("some/kez"), anyKind, frame, "checksum"},
		{"a longer key", slices.Concat(frameKey, []byte{1}), anyKind, frame, "checksum"},
		{"no key", nil, anyKind, frame, "checksum"},
		{"a byte follows", frameKey, anyKind, append(bytes.Clone(frame), 0), "checksum"},
		{"two frames", frameKey, anyKind, append(bytes.Clone(frame), frame...), "checksum"},
		{"all zeros", frameKey, anyKind, make([]byte, 64), "checksum"},
		{"another kind", frameKey, anyKind + 1, frame, "kind"},
		{"a newer version", frameKey, anyKind, reseal(frameKey, frame, func(b []byte) { b[0] = 2 }), "version"},
		{"version zero", frameKey, anyKind, reseal(frameKey, frame, func(b []byte) { b[0] = 0 }), "version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, payload, err := sketch.OpenFrame(test.key, test.kind, test.value)
			if payload != nil {
				t.Errorf("returns the payload % x", payload)
			}
			if err := checkCorrupted(err, test.key); err != nil {
				t.Fatal(err)
			}
			var corruption *sketch.CorruptionError
			if errors.As(err, &corruption) && !strings.Contains(corruption.Reason, test.reason) {
				t.Errorf("the reason is %q, expected %q in it", corruption.Reason, test.reason)
			}
		})
	}
}

// The key of an error outlives the slice it came in, which belongs to the
// iterator of a store.
func TestCorruptionKeepsAKeyOfItsOwn(t *testing.T) {
	key := bytes.Clone(frameKey)
	_, _, opened := sketch.OpenFrame(key, anyKind, nil)
	missing := sketch.Corrupted(key, "it is %s", "missing")
	clear(key)
	for _, err := range []error{opened, missing} {
		if err := checkCorrupted(err, frameKey); err != nil {
			t.Error(err)
		}
	}
	if want := "it is missing"; !strings.HasSuffix(missing.Error(), want) {
		t.Errorf("%q does not say %q", missing, want)
	}
}

// reseal changes a frame and makes its checksum right again. It computes the
// sum by itself: over key, header and payload, as the format is described.
func reseal(key, frame []byte, change func([]byte)) []byte {
	frame = bytes.Clone(frame)
	change(frame)
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, part := range [][]byte{key, frame[:3], frame[7:]} {
		sum.Write(part) // a hash.Hash never fails
	}
	binary.LittleEndian.PutUint32(frame[3:], sum.Sum32())
	return frame
}
