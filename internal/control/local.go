package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Local is a transport that hands requests to a handler of this process.
type Local struct{ Handler http.Handler }

// RoundTrip calls the handler and returns what it answered.
func (l Local) RoundTrip(r *http.Request) (*http.Response, error) {
	// What a server would give the handler differs from what a client sends.
	request := r.Clone(r.Context())
	request.RequestURI = r.URL.RequestURI()
	if request.Body == nil {
		request.Body = http.NoBody
	}
	answer := &recorder{header: make(http.Header), status: http.StatusOK}
	l.Handler.ServeHTTP(answer, request)
	// A request that was given up has no answer, also where the handler gave one.
	if err := errors.Join(request.Body.Close(), r.Context().Err()); err != nil {
		return nil, err
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status)),
		StatusCode:    answer.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        answer.header,
		Body:          io.NopCloser(&answer.body),
		ContentLength: int64(answer.body.Len()),
		Request:       r,
	}, nil
}

type recorder struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.body.Write(b)
}
