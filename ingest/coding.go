package ingest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"footfall/internal/api"
)

// coding is how a body is encoded (RFC 9110 section 8.4.1).
type coding string

const (
	identity coding = "identity"
	gzipped  coding = "gzip"
	zstded   coding = "zstd" // RFC 8878
)

// codingOf reads the values of Content-Encoding.
func codingOf(values []string) (coding, error) {
	if len(values) == 0 {
		return identity, nil
	}
	switch c := coding(strings.ToLower(strings.Join(values, ","))); c {
	case "":
		return identity, nil
	case identity, gzipped, zstded:
		return c, nil
	}
	return "", &api.Error{
		Status:  http.StatusUnsupportedMediaType,
		Message: "Content-Encoding must be gzip or zstd, or left out",
	}
}

// maxWindow bounds the memory of a zstd decoder. It is what RFC 8878 section 3.1.1.1.2
// recommends that every decoder supports.
const maxWindow = 8 << 20

// decoders bounds how many bodies are decoded at the same time, and so the memory
// of their decoders: up to maxWindow each. A body waits for its turn only while
// others are computed, since all of them are in memory.
type decoders chan struct{}

func newDecoders(atOnce int) decoders { return make(decoders, atOnce) }

// decode decodes a text into a buffer, at most limit bytes: errTooLong says that
// there are more.
func (d decoders) decode(to *buffer, c coding, text []byte, limit int) error {
	d <- struct{}{}
	defer func() { <-d }()
	decoder, err := newReader(c, text)
	if err != nil {
		return fmt.Errorf("decoding %s: %w", c, err)
	}
	defer func() { _ = decoder.Close() }() // Nothing of ours is behind it.
	if err := to.readFrom(decoder, limit); err != nil {
		return fmt.Errorf("decoding %s: %w", c, err)
	}
	return nil
}

func newReader(c coding, text []byte) (io.ReadCloser, error) {
	if c == gzipped {
		return gzip.NewReader(bytes.NewReader(text))
	}
	// One goroutine a request is enough: the handler's own.
	decoder, err := zstd.NewReader(bytes.NewReader(text), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return decoder.IOReadCloser(), nil
}
