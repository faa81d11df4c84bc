package ingest

import (
	"errors"
	"io"
	"sync"

	"footfall/internal/fairshare"
	"footfall/sketch"
)

// The sizes of buffers: each is four times the one before. The smallest ones, up
// to 256 KiB, are kept for other requests.
const (
	minBuffer    = 16 << 10
	bufferGrowth = 4
	keptSizes    = 3
)

// buffers hands out the memory of request bodies: bounded over all requests,
// which projects share, and taken as the bytes arrive. What a client announces
// takes nothing, so one that is slow or stuck holds the smallest buffer, or some
// times what it has sent: four, and at the last step to the limit up to twelve.
type buffers struct {
	memory *fairshare.Pool
	kept   [keptSizes]sync.Pool // of *[]byte, by size
}

// buffer is one text that is being read.
type buffer struct {
	from    *buffers
	project sketch.ProjectNumber
	bytes   []byte
}

// errTooLong: a text is longer than it may be.
var errTooLong = errors.New("text is too long")

// readFrom reads to the end, at most limit bytes: errTooLong says that there are
// more, sketch.ErrOverloaded that there is no memory for them now.
func (b *buffer) readFrom(r io.Reader, limit int) error {
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(limit + 1); err != nil { // One more tells that there are more.
				return err
			}
		}
		n, err := r.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if len(b.bytes) > limit {
			return errTooLong
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// grow makes room for more bytes, for so many in all at most.
func (b *buffer) grow(most int) error {
	size := max(minBuffer, bufferGrowth*cap(b.bytes))
	if 3*size > most { // A small last step would hold the text twice for a few bytes.
		size = most
	}
	if !b.from.memory.Take(b.project, size) {
		return sketch.ErrOverloaded
	}
	larger := b.from.get(size)
	larger = append(larger, b.bytes...)
	b.free()
	b.bytes = larger
	return nil
}

// free gives the memory back.
func (b *buffer) free() {
	if cap(b.bytes) > 0 {
		b.from.memory.Give(b.project, cap(b.bytes))
		b.from.put(b.bytes)
	}
	b.bytes = nil
}

// get returns an empty slice of this capacity.
func (b *buffers) get(size int) []byte {
	if pool := b.pool(size); pool != nil {
		if kept, ok := pool.Get().(*[]byte); ok {
			return (*kept)[:0]
		}
	}
	return make([]byte, 0, size)
}

func (b *buffers) put(bytes []byte) {
	if pool := b.pool(cap(bytes)); pool != nil {
		pool.Put(&bytes)
	}
}

// pool returns where slices of this capacity are kept, or nil.
func (b *buffers) pool(size int) *sync.Pool {
	for i, kept := 0, minBuffer; i < keptSizes; i, kept = i+1, kept*bufferGrowth {
		if size == kept {
			return &b.kept[i]
		}
	}
	return nil
}
