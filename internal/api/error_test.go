package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/sketch"
)

func TestStatusOfErrors(t *testing.T) {
	tests := []struct {
		err        error
		status     int
		retryAfter string
	}{
		{access.ErrKeyMissing, 401, ""},
		{access.ErrKeyMalformed, 401, ""},
		{access.ErrKeyInvalid, 401, ""},
		{access.ErrKeyExpired, 401, ""},
		{access.ErrKeyAddress, 403, ""},
		{access.ErrKeyScope, 403, ""},
		{access.ErrKeyProject, 403, ""},
		{access.ErrProjectUnknown, 404, ""},
		{access.ErrKeyUnknown, 404, ""},
		{sketch.ErrProjectDeleted, 404, ""},
		{access.ErrProjectExists, 409, ""},
		{sketch.ErrSourceMoved, 409, ""},
		{access.ErrProjectID, 400, ""},
		{access.ErrScope, 400, ""},
		{access.ErrAllow, 400, ""},
		{access.ErrExpires, 400, ""},
		{access.ErrName, 400, ""},
		{sketch.ErrOverloaded, 503, "1"},
		{sketch.ErrUnavailable, 503, "10"},
		{&api.Error{Status: 418, Message: "a teapot", RetryAfter: time.Minute}, 418, "60"},
		{sketch.ErrCorrupted, 500, ""},
		{errors.New("something else"), 500, ""},
		{context.DeadlineExceeded, 500, ""},
		// Cancelled by something of ours, while the client waits for an answer.
		{context.Canceled, 500, ""},
	}
	for _, test := range tests {
		for _, err := range []error{test.err, fmt.Errorf("project %q: %w", "docs", test.err)} {
			t.Run(err.Error(), func(t *testing.T) {
				recorder := httptest.NewRecorder()
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
				api.WriteError(recorder, request, slog.New(slog.DiscardHandler), err)
				checkRefusal(t, recorder.Result(), test.status)
				if got := recorder.Header().Get("Retry-After"); got != test.retryAfter {
					t.Errorf("Retry-After %q, want %q", got, test.retryAfter)
				}
			})
		}
	}
}

func TestErrorBody(t *testing.T) {
	for want, err := range map[string]error{
		`{"error":"two are wrong","details":[{"message":"limit <"},{"message":"offset é"}]}`: api.BadRequest("two are wrong", "limit <", "offset é"),
		`{"error":"one is wrong","details":[{"message":"one is wrong"}]}`:                    api.BadRequest("one is wrong"),
	} {
		recorder := httptest.NewRecorder()
		api.WriteError(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), slog.New(slog.DiscardHandler), err)
		got := strings.ReplaceAll(recorder.Body.String(), `\u003c`, "<")
		if got != want+"\n" {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What happened inside is for the log. The client learns that something did.
func TestInternalErrorsAreLoggedAndNotTold(t *testing.T) {
	inside := "reading /var/lib/footfall/badger/000001.sst"
	for _, test := range []struct {
		err    error
		status int
		logged bool
	}{
		{errors.New(inside), 500, true},
		{fmt.Errorf("%s: %w", inside, sketch.ErrCorrupted), 500, true},
		{fmt.Errorf("%s: %w", inside, sketch.ErrUnavailable), 503, true},
		{fmt.Errorf("%s: %w", inside, sketch.ErrOverloaded), 503, true},
		{fmt.Errorf("%s: %w", inside, api.BadRequest("limit is wrong")), 400, false},
	} {
		var log bytes.Buffer
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/somewhere", nil)
		request.Header.Set("Authorization", "Bearer ff_secret")
		api.WriteError(recorder, request, slog.New(slog.NewTextHandler(&log, nil)), test.err)
		text := checkRefusal(t, recorder.Result(), test.status)
		if strings.Contains(text, "/var/lib") {
			t.Errorf("%v is told: %s", test.err, text)
		}
		if logged := strings.Contains(log.String(), inside); logged != test.logged {
			t.Errorf("%v: logged %v, want %v: %s", test.err, logged, test.logged, log.String())
		}
		if strings.Contains(log.String(), "ff_secret") {
			t.Errorf("the log holds a key: %s", log.String())
		}
	}
}

// A client that has gone is no fault of the server, and no answer to it may look
// like success: a proxy may still hear it.
func TestClientHasGone(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for _, err := range []error{ctx.Err(), errors.New("reading the body"), fmt.Errorf("ranking: %w", ctx.Err())} {
		var log bytes.Buffer
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
		api.WriteError(recorder, request, slog.New(slog.NewTextHandler(&log, nil)), err)
		if status := recorder.Result().StatusCode; status < 500 {
			t.Errorf("%v: status %d", err, status)
		}
		if log.Len() > 0 {
			t.Errorf("%v was logged: %s", err, log.String())
		}
	}
}

// TestWritePlain: paths hold characters that encoding/json escapes for HTML pages.
func TestWritePlain(t *testing.T) {
	w := httptest.NewRecorder()
	api.Write(w, http.StatusOK, map[string]string{"path": "/a&b/<c>"})
	if got, want := w.Body.String(), `{"path":"/a&b/<c>"}`+"\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
