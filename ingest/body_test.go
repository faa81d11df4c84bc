package ingest_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"footfall/sketch"
)

// encode returns text in a content encoding.
func encode(t testing.TB, encoding, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zstd":
		var err error
		if w, err = zstd.NewWriter(&out); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestContentEncoding(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd"} {
		t.Run(encoding, func(t *testing.T) {
			in := newInlet(t)
			post := func(header string, body []byte) answer {
				request := in.request(asLines, bytes.NewReader(body))
				request.Header.Set("Content-Encoding", header)
				return in.do(request)
			}
			lines := event(nil) + "\n" + event(nil) + "\n"
			if a := post(encoding, encode(t, encoding, lines)); a.status != http.StatusAccepted || len(in.committed.visits()) != 2 {
				t.Errorf("status %d: %s", a.status, a.text)
			}
			if a := post(strings.ToUpper(encoding), encode(t, encoding, lines)); a.status != http.StatusAccepted {
				t.Errorf("in capitals: status %d: %s", a.status, a.text)
			}
			whole := encode(t, encoding, lines)
			if a := post(encoding, whole[:len(whole)-3]); a.status != http.StatusBadRequest {
				t.Errorf("cut off: status %d: %s", a.status, a.text)
			}
			if a := post(encoding, []byte(lines)); a.status != http.StatusBadRequest {
				t.Errorf("not encoded: status %d: %s", a.status, a.text)
			}
			// What is sent is small; what it decodes to is a hundred times the limit.
			bomb := encode(t, encoding, strings.Repeat(" ", 100*maxBody))
			if len(bomb) > maxBody {
				t.Fatalf("the bomb has %d bytes, which tests another limit", len(bomb))
			}
			if a := post(encoding, bomb); a.status != http.StatusRequestEntityTooLarge {
				t.Errorf("a bomb: status %d: %s", a.status, a.text)
			}
			// Two of the request in capitals; the refused ones kept nothing.
			if n := len(in.committed.visits()); n != 2 {
				t.Errorf("%d visits were kept, want 2", n)
			}
		})
	}
}

// TestTooManyLongPaths: a body within the limit, whose paths grow as they are
// escaped, may exceed what the log takes as one record. It is told so, whole.
func TestTooManyLongPaths(t *testing.T) {
	in := newInlet(t)
	in.committed.err = sketch.ErrBatchTooLarge
	if a := in.post(asLines, event(nil)); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d: %s", a.status, a.text)
	}
}

// TestLineEndsTakeNoMemory posts a body of nothing but line ends.
func TestLineEndsTakeNoMemory(t *testing.T) {
	in := newInlet(t)
	body := event(nil) + strings.Repeat("\n", maxBody-len(event(nil)))
	allocated := testing.AllocsPerRun(1, func() { in.post(asLines, body) })
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			in.post(asLines, body)
		}
	})
	if most := int64(8 * maxBody); result.AllocedBytesPerOp() > most {
		t.Errorf("%d bytes in %.0f allocations, want %d at most", result.AllocedBytesPerOp(), allocated, most)
	}
}
