package client

import (
	"fmt"
	"strconv"
	"strings"
)

// Header is one field of a request's header.
type Header struct{ Name, Value string }

// Render returns all bytes of a request. host is the address of the server, and
// target what stands in the request line. Content-Length is added. What would
// break a line of the header is an error.
func Render(method, host, target string, headers []Header, body []byte) ([]byte, error) {
	head := make([]byte, 0, 512)
	head = append(head, method+" "+target+" HTTP/1.1\r\nHost: "+host+"\r\n"...)
	for _, h := range headers {
		if strings.ContainsAny(h.Name+h.Value, "\r\n\x00") {
			return nil, fmt.Errorf("rendering a request: the header %q holds a line break", h.Name)
		}
		head = append(head, h.Name+": "+h.Value+"\r\n"...)
	}
	head = append(head, "Content-Length: "...)
	head = strconv.AppendInt(head, int64(len(body)), 10)
	head = append(head, "\r\n\r\n"...)
	request := make([]byte, 0, len(head)+len(body))
	return append(append(request, head...), body...), nil
}
