package forge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// maxAnswer is the most bytes of an answer that are read. A page of pull
// requests has about 25 KB for each, and their bodies of up to 64 KB.
const maxAnswer = 8 << 20

// errTooLarge is the cause of a Failure for an answer over maxAnswer.
var errTooLarge = errors.New("answer is too large")

// directTransport connects without a proxy.
func directTransport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        maxRequest,
		MaxResponseHeaderBytes: 1 << 20,
		MaxIdleConns:           2,
		ForceAttemptHTTP2:      true,
	}
}

// exchange adds the token to requests, and bounds their answers in time and
// size.
type exchange struct {
	token string
	base  http.RoundTripper
}

// RoundTrip reads the whole answer. go-github does not close the body of an error
// (CheckResponse puts another in its place), and a time limit of http.Client's
// would leave a goroutine behind for each.
//
// The request stays as it is, as http.RoundTripper demands. So the errors that
// quote it do not hold the token either.
func (e *exchange) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), maxRequest)
	defer cancel()
	signed := request.Clone(ctx)
	// Both forges take Bearer; GitHub's and Gitea's older word is "token".
	signed.Header.Set("Authorization", "Bearer "+e.token)
	response, err := e.base.RoundTrip(signed)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		body, err = nil, errTooLarge
	}
	// The status of an error says enough where its words are lost.
	if err != nil && response.StatusCode < 300 {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	read := *response
	read.Request, read.Body = request, io.NopCloser(bytes.NewReader(body))
	return &read, nil
}
