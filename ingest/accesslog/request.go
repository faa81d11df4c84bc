package accesslog

import "bytes"

// splitRequest takes a logged request line apart: method, target, version. The
// version is missing in HTTP/0.9. A target may hold spaces, where a client sent
// them; those around it are separators, as RFC 9112 section 3 lets a server take
// them. Both are empty for what is no request line. The target still has its
// escapes; a method cannot hold any.
func splitRequest(request []byte) (method, target []byte) {
	space := bytes.IndexByte(request, ' ')
	if space < 0 || !isMethod(request[:space]) {
		return nil, nil
	}
	rest := bytes.Trim(request[space:], " ")
	if last := bytes.LastIndexByte(rest, ' '); isVersion(rest[last+1:]) {
		rest = bytes.TrimRight(rest[:max(last, 0)], " ")
	}
	if len(rest) == 0 {
		return nil, nil
	}
	return request[:space], rest
}

// setRequest takes a method and a target that the log has in fields of their own.
func (e *Entry) setRequest(method, target []byte) {
	if len(target) > 0 && isMethod(method) {
		e.Method, e.Target = method, target
	}
}

// isVersion reports whether b is an HTTP version: HTTP/1.1, HTTP/2.0, HTTP/2.
func isVersion(b []byte) bool {
	number, found := bytes.CutPrefix(b, []byte("HTTP/"))
	switch {
	case !found:
		return false
	case len(number) == 1:
		return isDigit(number[0])
	}
	return len(number) == 3 && isDigit(number[0]) && number[1] == '.' && isDigit(number[2])
}

// isMethod reports whether b can be a method. "-" could, but stands for none.
func isMethod(b []byte) bool { return string(b) != "-" && isToken(b) }

// isToken reports whether b is a token of RFC 9110 section 5.6.2, as every
// method is.
func isToken(b []byte) bool {
	for _, c := range b {
		if ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || isDigit(c) {
			continue
		}
		if bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) < 0 {
			return false
		}
	}
	return len(b) > 0
}
