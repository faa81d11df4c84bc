package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/sketch"
)

// maxKeyBytes bounds an idempotency key.
const maxKeyBytes = 255

var errIdempotencyKey = api.BadRequest("Idempotency-Key must be one key of 1 to 255 visible ASCII characters, with or without quotes")

// idempotencyKey reads the Idempotency-Key header: a string with quotes, as the
// draft has it (draft-ietf-httpapi-idempotency-key-header-07, a string of RFC 9651
// section 3.3.3), or the same without, as most clients send it. found is false
// where the header was left out.
func idempotencyKey(values []string) (key string, found bool, err error) {
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		key = values[0]
	default:
		return "", false, errIdempotencyKey
	}
	if strings.HasPrefix(key, `"`) {
		var ok bool
		if key, ok = unquoteKey(key); !ok {
			return "", false, errIdempotencyKey
		}
	}
	if len(key) == 0 || len(key) > maxKeyBytes {
		return "", false, errIdempotencyKey
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return "", false, errIdempotencyKey
		}
	}
	return key, true, nil
}

// unquoteKey reads a string of RFC 9651 section 3.3.3. ok is false for what is none:
// a quote within it that is not escaped, or a backslash that escapes nothing.
func unquoteKey(quoted string) (key string, ok bool) {
	var text strings.Builder
	for i := 1; i < len(quoted); i++ {
		switch c := quoted[i]; c {
		case '"':
			return text.String(), i == len(quoted)-1
		case '\\':
			if i++; i == len(quoted) || quoted[i] != '"' && quoted[i] != '\\' {
				return "", false
			}
			text.WriteByte(quoted[i])
		default:
			text.WriteByte(c)
		}
	}
	return "", false
}

// newReceipt returns the receipt of a request with an idempotency key, without its
// answer, or nil for one without a key.
func (p *Pipeline) newReceipt(header http.Header, body []byte) (*sketch.Receipt, error) {
	key, found, err := idempotencyKey(header.Values("Idempotency-Key"))
	if err != nil || !found {
		return nil, err
	}
	return &sketch.Receipt{
		Key:   sha256.Sum256([]byte(key)),
		Body:  sha256.Sum256(body),
		Taken: p.now().Unix(),
	}, nil
}

// repeat answers a request whose idempotency key was used: as the first one was
// answered, or with a 422 where its body was another. done is false for a key that
// is new.
func (p *Pipeline) repeat(ctx context.Context, w http.ResponseWriter, project access.Project, receipt *sketch.Receipt) (done bool, err error) {
	first, found, err := p.store.FindReceipt(ctx, project.Number, receipt.Key)
	if err != nil || !found {
		return false, err
	}
	if first.Body != receipt.Body {
		return false, &api.Error{
			Status:  http.StatusUnprocessableEntity,
			Message: "Idempotency-Key was used with another body in the last 48 hours",
		}
	}
	p.metrics.repeated.Inc()
	api.WriteJSON(w, http.StatusAccepted, first.Answer)
	return true, nil
}

// commitOnce commits a batch with a receipt, or answers as the batch of the same
// receipt was that came first. done says that it did.
func (p *Pipeline) commitOnce(ctx context.Context, w http.ResponseWriter, project access.Project, batch sketch.Batch) (done bool, err error) {
	err = p.store.Commit(ctx, batch)
	if !errors.Is(err, sketch.ErrRepeated) {
		return false, err
	}
	if done, err = p.repeat(ctx, w, project, batch.Receipt); done || err != nil {
		return done, err
	}
	// It expired in between, to the second.
	return false, &api.Error{
		Status:     http.StatusServiceUnavailable,
		Message:    "the lifetime of Idempotency-Key is ending",
		RetryAfter: time.Second,
	}
}
