package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// chunkBytes is what is read of a response at a time.
const chunkBytes = 32 << 10

// errSilent ends a request whose upstream has sent nothing for too long.
var errSilent = errors.New("the upstream was silent for too long")

// handle is the life of a request: match, read, check, admit, forward.
func (g *Gate) handle(w http.ResponseWriter, r *http.Request) {
	if err := g.serve(w, r); err != nil {
		g.refuse(w, err)
	}
}

// serve returns an error as long as nothing was sent.
func (g *Gate) serve(w http.ResponseWriter, r *http.Request) error {
	matched, err := g.match(r)
	if err != nil {
		return err
	}
	select {
	case g.running <- struct{}{}:
		defer func() { <-g.running }()
	default:
		w.Header().Set("Retry-After", "1")
		return &refusal{status: http.StatusTooManyRequests, message: fmt.Sprintf("%d requests are running, no more at a time", g.limits.Concurrent)}
	}
	checked, err := g.readBody(w, r, matched)
	if err != nil {
		return err
	}
	if err := g.budget.admit(int64(len(checked.body)), checked.dropped); err != nil {
		return err
	}
	if checked.dropped > 0 {
		g.logger.Debug("The gate left fields out of a request to the model.", "path", matched.path, "fields", checked.dropped)
	}
	return g.forward(w, r, matched, checked.body)
}

// readBody reads what the route may have and checks it.
func (g *Gate) readBody(w http.ResponseWriter, r *http.Request, matched route) (outline, error) {
	if matched.form == nil {
		if r.ContentLength != 0 {
			return outline{}, malformed("this path takes no body")
		}
		return outline{}, nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return outline{}, &refusal{status: http.StatusUnsupportedMediaType, message: "the body is encoded; it must be plain", final: true}
	}
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return outline{}, &refusal{status: http.StatusUnsupportedMediaType, message: "the body is not application/json in UTF-8", final: true}
	}
	control := http.NewResponseController(w)
	// The deadline is for the body alone. It is taken back, or it would end the wait
	// for the answer: the server reads on to notice that the agent hangs up.
	if err := control.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		return outline{}, fmt.Errorf("setting the deadline of a body: %w", err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.limits.RequestBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return outline{}, &refusal{
			status:  http.StatusRequestEntityTooLarge,
			message: fmt.Sprintf("the body has more than %d bytes", g.limits.RequestBytes),
			final:   true,
		}
	}
	if err != nil {
		return outline{}, malformed("the body could not be read to its end")
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return outline{}, fmt.Errorf("clearing the deadline of a body: %w", err)
	}
	g.checking.Lock()
	defer g.checking.Unlock()
	return matched.form.check(body, g.model)
}

// forward asks the upstream and passes its answer on.
func (g *Gate) forward(w http.ResponseWriter, r *http.Request, matched route, body []byte) error {
	key, err := g.readKey()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	silence := time.AfterFunc(g.limits.Silence, func() { cancel(errSilent) })
	defer silence.Stop()

	request, err := http.NewRequestWithContext(ctx, matched.method, g.target(matched, r.URL).String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making the request to the model: %w", err)
	}
	request.Header = requestHeader(matched, r.Header, key)
	account := &meter{anthropic: matched.anthropic, request: int64(len(body))}
	// A round trip follows no redirect, keeps no cookie and repeats no header.
	response, err := g.transport.RoundTrip(request)
	if err != nil {
		if r.Context().Err() != nil {
			// The agent hung up, or the gate closes. The model may have read the
			// request by then.
			if matched.metered {
				g.budget.report(account.total())
			}
			panic(http.ErrAbortHandler)
		}
		return failure(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := checkResponse(response); err != nil {
		return err
	}
	account.stream = isStream(response.Header)
	if matched.metered && response.StatusCode < http.StatusMultipleChoices {
		defer func() { g.budget.report(account.total()) }()
	}
	copyResponseHeader(w.Header(), response.Header, key)
	w.WriteHeader(response.StatusCode)
	g.pass(w, response.Body, newMask(key), account, silence)
	return nil
}

// failure says which side the request failed at, without the upstream's address:
// that is the operator's.
func failure(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return &refusal{status: http.StatusGatewayTimeout, message: "the model's host did not answer in time"}
	}
	return fmt.Errorf("asking the model's host: %w", err)
}

// readKey checks that the key can stand in a header: an error of net/http about
// one that can not would repeat it.
func (g *Gate) readKey() (string, error) {
	if g.key == nil {
		return "", nil
	}
	key, err := g.key()
	if err != nil {
		return "", fmt.Errorf("reading the model's key: %w", err)
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("the model's key is empty or holds other than printable ASCII")
	}
	return key, nil
}

// checkResponse refuses what would lead the agent elsewhere, or could not be read
// for the key.
func checkResponse(response *http.Response) error {
	status := response.StatusCode
	if status < http.StatusOK || status >= http.StatusMultipleChoices && status < http.StatusBadRequest {
		return &refusal{status: http.StatusBadGateway, message: fmt.Sprintf("the model's host answered %d, which leads elsewhere", status), final: true}
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return &refusal{status: http.StatusBadGateway, message: "the model's host encoded its answer, which it was not asked to", final: true}
	}
	return nil
}

func isStream(header http.Header) bool {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && media == "text/event-stream"
}

// pass sends each chunk on as it comes. Where the answer is not whole, the
// connection is cut: an answer that ends early must not look complete.
func (g *Gate) pass(w http.ResponseWriter, body io.Reader, mask *mask, account *meter, silence *time.Timer) {
	control := http.NewResponseController(w)
	if err := control.Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
	chunk := make([]byte, chunkBytes)
	for {
		n, err := body.Read(chunk)
		silence.Reset(g.limits.Silence)
		granted := g.budget.receive(n)
		account.write(chunk[:granted])
		if !send(w, control, mask.next(chunk[:granted])) {
			panic(http.ErrAbortHandler)
		}
		switch {
		case granted < n:
			g.logger.Debug("The gate cut an answer of the model: the run has used up its bytes.")
			panic(http.ErrAbortHandler)
		case errors.Is(err, io.EOF):
			if !send(w, control, mask.rest()) {
				panic(http.ErrAbortHandler)
			}
			// The connection may serve another request, which has its own deadlines.
			_ = control.SetWriteDeadline(time.Time{})
			return
		case err != nil:
			panic(http.ErrAbortHandler)
		}
	}
}

// send tells whether the agent took the bytes.
func send(w http.ResponseWriter, control *http.ResponseController, text []byte) bool {
	if len(text) == 0 {
		return true
	}
	if err := control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return false
	}
	if _, err := w.Write(text); err != nil {
		return false
	}
	return control.Flush() == nil
}
