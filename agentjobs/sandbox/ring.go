package sandbox

import (
	"io"
	"strings"
	"sync"
)

// A ring keeps the last bytes written to it.
type ring struct {
	mu   sync.Mutex
	kept []byte
	next int // where the oldest byte is, once full
	full bool
}

func newRing(size int) *ring { return &ring{kept: make([]byte, size)} }

// Write never fails, so that a copy into the ring goes on to the end.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if len(p) >= len(r.kept) {
		p = p[len(p)-len(r.kept):]
		copy(r.kept, p)
		r.next, r.full = 0, true
		return n, nil
	}
	first := copy(r.kept[r.next:], p)
	if first < len(p) || r.next+first == len(r.kept) {
		r.full = true
	}
	copy(r.kept, p[first:])
	r.next = (r.next + len(p)) % len(r.kept)
	return n, nil
}

// String returns what is kept as valid UTF-8: it may begin within a character.
func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := string(r.kept[:r.next])
	if r.full {
		text = string(r.kept[r.next:]) + text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// drain copies src into the ring, through a buffer that does not grow.
func (r *ring) drain(src io.Reader) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := src.Read(buffer)
		_, _ = r.Write(buffer[:n])
		if err != nil {
			return
		}
	}
}
