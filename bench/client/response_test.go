package client

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestReadResponse(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		want         Response
	}{
		{name: "with a body", answer: "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nhello", want: Response{Status: 202, Body: []byte("hello")}},
		{name: "without a body", answer: "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", want: Response{Status: 202}},
		{name: "without a reason", answer: "HTTP/1.1 202\r\nContent-Length: 0\r\n\r\n", want: Response{Status: 202}},
		{name: "names in any case", answer: "HTTP/1.1 202 \r\ncOnTeNt-LeNgTh:\t1 \r\n\r\nx", want: Response{Status: 202, Body: []byte("x")}},
		{name: "lengths that agree", answer: "HTTP/1.1 202 \r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", want: Response{Status: 202, Body: []byte("x")}},
		{name: "line feeds alone", answer: "HTTP/1.1 202 Accepted\nContent-Length: 1\n\nx", want: Response{Status: 202, Body: []byte("x")}},
		{
			name:   "a refusal",
			answer: "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfull",
			want:   Response{Status: 503, Body: []byte("full"), RetryAfter: 2 * time.Second, Close: true},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Twice in one connection, byte by byte, into a buffer with something in it.
			r := bufio.NewReader(iotest.OneByteReader(strings.NewReader(test.answer + test.answer)))
			for range 2 {
				got, err := readResponse(r, []byte("what was before"))
				if err != nil {
					t.Fatal(err)
				}
				if string(got.Body) != string(test.want.Body) {
					t.Errorf("body %q, want %q", got.Body, test.want.Body)
				}
				if got.Status != test.want.Status || got.RetryAfter != test.want.RetryAfter || got.Close != test.want.Close {
					t.Errorf("%+v, want %+v", got, test.want)
				}
			}
			if _, err := readResponse(r, nil); !errors.Is(err, io.EOF) {
				t.Errorf("after the last answer: %v, want io.EOF", err)
			}
		})
	}
}

func TestReadResponseRefuses(t *testing.T) {
	const ok = "HTTP/1.1 202 Accepted\r\n"
	for _, test := range []struct {
		name, answer string
		want         error
	}{
		{"another protocol", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", ErrResponse},
		{"no status", "HTTP/1.1 \r\nContent-Length: 0\r\n\r\n", ErrResponse},
		{"a status of four digits", "HTTP/1.1 2020 OK\r\nContent-Length: 0\r\n\r\n", ErrResponse},
		{"a status with a sign", "HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n", ErrResponse},
		{"an informational answer", "HTTP/1.1 100 Continue\r\n\r\n", ErrResponse},
		{"no length", ok + "\r\n", ErrResponse},
		{"a negative length", ok + "Content-Length: -1\r\n\r\n", ErrResponse},
		{"an empty length", ok + "Content-Length:\r\n\r\n", ErrResponse},
		{"a length that is too large", ok + "Content-Length: 16777217\r\n\r\n", ErrResponse},
		{"lengths that differ", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", ErrResponse},
		{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ErrResponse},
		{"a header without a colon", ok + "Content-Length\r\n\r\n", ErrResponse},
		{"a line that is too long", ok + "X: " + strings.Repeat("x", headerBytes) + "\r\n\r\n", ErrResponse},
		{"an end in the status line", "HTTP/1.1 20", io.ErrUnexpectedEOF},
		{"an end after the status line", ok, io.ErrUnexpectedEOF},
		{"an end in the header", ok + "Content-Len", io.ErrUnexpectedEOF},
		{"an end before the body", ok + "Content-Length: 1\r\n\r\n", io.ErrUnexpectedEOF},
		{"an end in the body", ok + "Content-Length: 2\r\n\r\nx", io.ErrUnexpectedEOF},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readResponse(bufio.NewReaderSize(strings.NewReader(test.answer), headerBytes), nil)
			if !errors.Is(err, test.want) {
				t.Errorf("%+v, error %v, want %v", got, err, test.want)
			}
		})
	}
}
