package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/sketch"
)

// newReceipt returns the receipt of a request with an idempotency key, without its
// answer, or nil for one without a key.
func (p *Pipeline) newReceipt(header http.Header, body []byte) (*sketch.Receipt, error) {
	key, found, err := api.IdempotencyKey(header.Values("Idempotency-Key"))
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
