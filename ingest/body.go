package ingest

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"

	"github.com/klauspost/compress/zstd"

	"footfall/internal/api"
	"footfall/sketch"
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

// readBody reads a body, decoded, and frees what it holds of it with free. The
// limit holds for the bytes that were sent and for those that they decode to: a
// body that decodes to more is left at the limit, before memory is taken for the
// rest.
//
// An encoded body is decoded once it is there: a decoder takes memory of its own,
// which a client must not hold by being slow.
func (p *Pipeline) readBody(r *http.Request, project sketch.ProjectNumber) (_ *buffer, err error) {
	limit := int(p.maxBody)
	tooLarge := &api.Error{
		Status:  http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("the body must have at most %d bytes, also when it is decoded", limit),
	}
	if r.ContentLength > p.maxBody {
		return nil, tooLarge
	}
	coding, err := codingOf(r.Header.Values("Content-Encoding"))
	if err != nil {
		return nil, err
	}
	sent := &buffer{from: &p.buffers, project: project}
	if err := sent.readFrom(r.Body, limit); err != nil {
		sent.free()
		return nil, p.bodyError(err, tooLarge)
	}
	if coding == identity {
		return sent, nil
	}
	defer sent.free()
	decoded := &buffer{from: &p.buffers, project: project}
	if err := p.decoders.decode(decoded, coding, sent.bytes, limit); err != nil {
		decoded.free()
		return nil, p.bodyError(err, tooLarge)
	}
	return decoded, nil
}

func (p *Pipeline) bodyError(err error, tooLarge *api.Error) error {
	switch {
	case errors.Is(err, errTooLong), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return tooLarge
	case errors.Is(err, sketch.ErrOverloaded):
		p.metrics.refused.Inc()
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &api.Error{Status: http.StatusRequestTimeout, Message: "the body did not arrive in time"}
	}
	return api.BadRequest("the body could not be read to its end, or is not encoded as Content-Encoding says")
}
