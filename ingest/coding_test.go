package ingest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"footfall/internal/store"
)

// TestContentEncodings: which encodings are taken, and what is said of the others
// and of bodies that are not encoded as they say.
func TestContentEncodings(t *testing.T) {
	c := newCounted(t, store.Limits{})
	text := event(nil) + "\n"
	gzip, zstded := encode(t, "gzip", text), encode(t, "zstd", text)
	twice := func(part []byte) []byte { return slices.Concat(part, part) }
	damaged := bytes.Clone(gzip)
	damaged[len(damaged)-5] ^= 1 // of the checksum
	var views uint64
	for _, test := range []struct {
		header string
		body   []byte
		status int
		views  uint64
	}{
		{"gzip", gzip, http.StatusAccepted, 1},
		{"GZip", gzip, http.StatusAccepted, 1},
		{"zstd", zstded, http.StatusAccepted, 1},
		{"identity", []byte(text), http.StatusAccepted, 1},
		{"", []byte(text), http.StatusAccepted, 1},
		{"gzip", twice(gzip), http.StatusAccepted, 2}, // RFC 1952 section 2.2: members
		{"zstd", twice(zstded), http.StatusAccepted, 2},
		{"gzip", zstded, http.StatusBadRequest, 0},
		{"zstd", gzip, http.StatusBadRequest, 0},
		{"gzip", damaged, http.StatusBadRequest, 0},
		{"gzip", nil, http.StatusBadRequest, 0},
		{"zstd", nil, http.StatusBadRequest, 0},
		{"gzip", append(bytes.Clone(gzip), "text"...), http.StatusBadRequest, 0},
		{"gzip", []byte(text), http.StatusBadRequest, 0},
		{"br", gzip, http.StatusUnsupportedMediaType, 0},
		{"deflate", gzip, http.StatusUnsupportedMediaType, 0},
		{"gzip, zstd", gzip, http.StatusUnsupportedMediaType, 0},
		{"zstd", window(t, 64<<20), http.StatusRequestEntityTooLarge, 0},
	} {
		views += test.views
		got := c.send("docs", bytes.NewReader(test.body), http.Header{"Content-Encoding": {test.header}})
		c.expect(fmt.Sprintf("%q, %.20q", test.header, test.body), got, test.status, "", views)
		if n := c.pipeline.BodyBytes(); n != 0 {
			t.Errorf("%q, %.20q: %d bytes stay taken", test.header, test.body, n)
		}
	}
}

// window is a small body whose decoder is asked to keep so many bytes.
func window(t *testing.T, bytes int) []byte {
	t.Helper()
	var out strings.Builder
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(bytes), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{event(nil), "\n"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil { // So the length stands nowhere.
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(out.String())
}
