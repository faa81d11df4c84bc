package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"footfall/internal/access"
	"footfall/sketch"
)

// Error is an error that the client is told. Its JSON is
// {"error": Message, "details": [{"message": ...}]}.
type Error struct {
	Status  int
	Message string
	Details []string
	// RetryAfter is when a client may try again. Zero leaves the header out.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Message }

// BadRequest returns a 400 whose details name each bad parameter and its rule.
func BadRequest(message string, details ...string) *Error {
	return &Error{Status: http.StatusBadRequest, Message: message, Details: details}
}

// ErrorBody is the body of an answer that is an error.
type ErrorBody struct {
	Error   string        `json:"error"`
	Details []ErrorDetail `json:"details"`
}

// ErrorDetail is one thing that is wrong.
type ErrorDetail struct {
	Message string `json:"message"`
}

// NewErrorBody returns the body of an error. Without details the message is the
// only one.
func NewErrorBody(message string, details ...string) ErrorBody {
	if len(details) == 0 {
		details = []string{message}
	}
	body := ErrorBody{Error: message}
	for _, detail := range details {
		body.Details = append(body.Details, ErrorDetail{Message: detail})
	}
	return body
}

// statusOf is the one table from the errors of the domain to HTTP.
func statusOf(err error) *Error {
	var told *Error
	switch {
	case errors.As(err, &told):
		return told
	case errors.Is(err, access.ErrKeyMissing), errors.Is(err, access.ErrKeyMalformed),
		errors.Is(err, access.ErrKeyInvalid), errors.Is(err, access.ErrKeyExpired):
		return &Error{Status: http.StatusUnauthorized, Message: err.Error()}
	case errors.Is(err, access.ErrKeyAddress), errors.Is(err, access.ErrKeyScope),
		errors.Is(err, access.ErrKeyProject):
		return &Error{Status: http.StatusForbidden, Message: err.Error()}
	case errors.Is(err, access.ErrProjectUnknown), errors.Is(err, access.ErrKeyUnknown),
		errors.Is(err, sketch.ErrProjectDeleted):
		return &Error{Status: http.StatusNotFound, Message: err.Error()}
	case errors.Is(err, access.ErrProjectExists), errors.Is(err, sketch.ErrSourceMoved):
		return &Error{Status: http.StatusConflict, Message: err.Error()}
	case errors.Is(err, access.ErrProjectID), errors.Is(err, access.ErrScope), errors.Is(err, access.ErrAllow),
		errors.Is(err, access.ErrExpires), errors.Is(err, access.ErrName):
		return &Error{Status: http.StatusBadRequest, Message: err.Error()}
	case errors.Is(err, sketch.ErrBatchTooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge, Message: sketch.ErrBatchTooLarge.Error()}
	case errors.Is(err, sketch.ErrTooManyReceipts):
		return &Error{
			Status: http.StatusTooManyRequests, Message: sketch.ErrTooManyReceipts.Error(),
			Details:    []string{fmt.Sprintf("Idempotency-Key: a project keeps at most %d for 48 hours; leave it out, or try again later", sketch.ReceiptsPerProject)},
			RetryAfter: time.Minute,
		}
	case errors.Is(err, sketch.ErrOverloaded):
		return &Error{Status: http.StatusServiceUnavailable, Message: sketch.ErrOverloaded.Error(), RetryAfter: time.Second}
	case errors.Is(err, sketch.ErrDiskFull):
		return &Error{Status: http.StatusServiceUnavailable, Message: sketch.ErrDiskFull.Error(), RetryAfter: 30 * time.Second}
	case errors.Is(err, sketch.ErrUnavailable):
		return &Error{Status: http.StatusServiceUnavailable, Message: sketch.ErrUnavailable.Error(), RetryAfter: 10 * time.Second}
	}
	return nil
}

// WriteError answers a request with an error. What is not meant for the client
// is logged and answered as a plain 500.
func WriteError(w http.ResponseWriter, r *http.Request, logger *slog.Logger, err error) {
	told := statusOf(err)
	switch {
	case told == nil:
		// A client that has gone is no failure. It is answered all the same: an
		// answer that nobody wrote is a 200 to a proxy that still listens.
		if r.Context().Err() == nil {
			logger.Error("A request failed.", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		told = &Error{Status: http.StatusInternalServerError, Message: "an internal error occurred; the server's log has it"}
	case told.Status == http.StatusServiceUnavailable:
		logger.Warn("A request was refused.", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if told.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="footfall"`)
	}
	if told.RetryAfter > 0 {
		// Rounded up: who waits as long as told must not come too early.
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(told.RetryAfter.Seconds()))))
	}
	Write(w, told.Status, NewErrorBody(told.Message, told.Details...))
}

// Write answers a request with a value as JSON.
func Write(w http.ResponseWriter, status int, value any) {
	WriteJSON(w, status, Encode(value))
}

// Encode returns the JSON of an answer, which must be one of our plain structs: a
// failure is a mistake in the program, and panics.
func Encode(value any) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // Paths hold &, and no browser takes this for a page.
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return body.Bytes()
}

// WriteJSON answers a request with JSON that is encoded already.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A failed write means that the client has gone; there is nobody to tell.
	_, _ = w.Write(body)
}
