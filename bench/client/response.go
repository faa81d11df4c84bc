package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Response is an answer.
type Response struct {
	Status int
	// Body is valid until the connection is asked again.
	Body []byte
	// RetryAfter is how long the server asks to stay away; 0 where it does not.
	RetryAfter time.Duration
	// Close is whether the server closes the connection after this answer.
	Close bool
}

// ErrResponse is wrapped by the error of an answer that is not understood.
var ErrResponse = errors.New("the answer is not understood")

// Bounds of an answer. Its header must fit the buffer of a connection.
const (
	headerBytes = 16 << 10
	maxBody     = 16 << 20
)

// readResponse reads one answer (RFC 9112). Its body is read into buffer, which
// grows as needed and is returned as the body.
func readResponse(r *bufio.Reader, buffer []byte) (Response, error) {
	line, err := readLine(r)
	if err != nil {
		return Response{}, err
	}
	response, err := parseStatusLine(line)
	if err != nil {
		return Response{}, err
	}
	length := -1
	for {
		line, err := readLine(r)
		if err != nil {
			return Response{}, unexpected(err)
		}
		if len(line) == 0 {
			break
		}
		if err := response.readHeader(line, &length); err != nil {
			return Response{}, err
		}
	}
	if length < 0 {
		return Response{}, fmt.Errorf("%w: it has no Content-Length", ErrResponse)
	}
	if cap(buffer) < length {
		buffer = make([]byte, length)
	}
	response.Body = buffer[:length]
	if _, err := io.ReadFull(r, response.Body); err != nil {
		return Response{}, unexpected(err)
	}
	return response, nil
}

// unexpected turns the end of a connection within an answer into an error that
// says so: io.EOF alone is a connection that ended between answers.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readLine returns a line without its end. It is valid until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: a line is too long", ErrResponse)
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

func parseStatusLine(line []byte) (Response, error) {
	rest, found := bytes.CutPrefix(line, []byte("HTTP/1.1 "))
	if !found || len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' {
		return Response{}, fmt.Errorf("%w: status line %q", ErrResponse, line)
	}
	status, err := number(rest[:3])
	if err != nil || status < 200 {
		return Response{}, fmt.Errorf("%w: status line %q", ErrResponse, line)
	}
	return Response{Status: status}, nil
}

// readHeader takes from one line of the header what matters here.
func (r *Response) readHeader(line []byte, length *int) error {
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found {
		return fmt.Errorf("%w: header line %q", ErrResponse, line)
	}
	value = bytes.TrimSpace(value)
	// The length of the name spares most lines the comparison.
	switch {
	case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		n, err := number(value)
		if err != nil || n > maxBody || *length >= 0 && *length != n {
			return fmt.Errorf("%w: header line %q", ErrResponse, line)
		}
		*length = n
	case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		return fmt.Errorf("%w: header line %q", ErrResponse, line)
	case len(name) == len("Connection") && bytes.EqualFold(name, []byte("Connection")):
		r.Close = bytes.EqualFold(value, []byte("close"))
	case len(name) == len("Retry-After") && bytes.EqualFold(name, []byte("Retry-After")):
		seconds, err := number(value)
		if err != nil {
			return fmt.Errorf("%w: header line %q", ErrResponse, line)
		}
		r.RetryAfter = time.Duration(seconds) * time.Second
	}
	return nil
}

// number reads digits and nothing else: Atoi would take a sign.
func number(digits []byte) (int, error) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, ErrResponse
		}
	}
	return strconv.Atoi(string(digits))
}
