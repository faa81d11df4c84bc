package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"footfall/internal/api"
)

// checkType refuses bodies of a type that is not taken. lines reports whether the
// body was sent as newline-delimited JSON.
func checkType(r *http.Request) (lines bool, err error) {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return false, nil
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err == nil {
		switch mediaType {
		case "application/json":
			return false, nil
		case "application/x-ndjson", "application/ndjson", "application/jsonl":
			return true, nil
		}
	}
	return false, &api.Error{
		Status:  http.StatusUnsupportedMediaType,
		Message: "Content-Type must be application/json, or application/x-ndjson for newline-delimited JSON",
	}
}

// readBody reads a body, decoded. The limit holds for the bytes that were sent
// and for those that they decode to: a body that decodes to more is left at the
// limit, before memory is taken for the rest.
func (p *Pipeline) readBody(w http.ResponseWriter, r *http.Request, body *bytes.Buffer) error {
	tooLarge := &api.Error{
		Status:  http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("the body must have at most %d bytes, also when it is decoded", p.maxBody),
	}
	if r.ContentLength > p.maxBody {
		return tooLarge
	}
	sent := http.MaxBytesReader(w, r.Body, p.maxBody)
	decoded, err := decode(r.Header.Values("Content-Encoding"), sent)
	if err != nil {
		return bodyError(err, tooLarge)
	}
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err = body.ReadFrom(io.LimitReader(decoded, p.maxBody+1))
	if err := errors.Join(err, decoded.Close()); err != nil {
		return bodyError(err, tooLarge)
	}
	if int64(body.Len()) > p.maxBody {
		return tooLarge
	}
	return nil
}

func bodyError(err error, tooLarge *api.Error) error {
	var limit *http.MaxBytesError
	var told *api.Error
	switch {
	case errors.As(err, &limit), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return tooLarge
	case errors.As(err, &told):
		return told
	}
	return api.BadRequest("the body could not be read to its end, or is not encoded as Content-Encoding says")
}

// maxWindow bounds the memory of a zstd decoder. It is what RFC 8878 section 3.1.1.1.2
// recommends that every decoder supports.
const maxWindow = 8 << 20

// decode returns the body behind its Content-Encoding.
func decode(encodings []string, body io.ReadCloser) (io.ReadCloser, error) {
	encoding := "identity"
	switch len(encodings) {
	case 0:
	case 1:
		encoding = strings.ToLower(encodings[0])
	default:
		encoding = "several"
	}
	switch encoding {
	case "identity", "":
		return body, nil
	case "gzip":
		return gzip.NewReader(body)
	case "zstd":
		// One goroutine a request is enough: the handler's own.
		decoder, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return decoder.IOReadCloser(), nil
	}
	return nil, &api.Error{
		Status:  http.StatusUnsupportedMediaType,
		Message: "Content-Encoding must be gzip or zstd, or left out",
	}
}
