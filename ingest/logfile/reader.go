package logfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"

	"footfall/sketch"
)

// Stdin is the name of standard input.
const Stdin = "-"

// chunkBytes is how much of a log is handed out at once.
const chunkBytes = 1 << 20

// ErrChanged says that a log begins like one that was imported, but is not the
// same up to the place where that import ended.
var ErrChanged = errors.New("the log begins like one imported before, but differs from it later")

// ErrCutOff says that a compressed log ends before its compression does. What was
// read before that was whole.
var ErrCutOff = errors.New("the compressed log is cut off")

// Chunk is a part of a log. Data is valid until the next call of Next.
type Chunk struct {
	From  int64 // offset in the log, in uncompressed bytes
	Lines int64 // lines before From
	Data  []byte
	End   bool // the log ends with Data, as far as is known now
}

// Reader reads one log. It is not safe for concurrent use.
type Reader struct {
	name       string
	file       *os.File
	compressed bool
	buffered   *bufio.Reader

	offset int64
	lines  int64
	// inside says that the last byte handed out was not a line end, so that the
	// next bytes are the rest of a line that was counted.
	inside  bool
	pending []byte // read, but handed out only with what follows
	buffer  []byte
	last    []byte // the last bytes that were taken, to tell whether the file is the same
}

// lastBytes bounds how many of the last bytes are remembered.
const lastBytes = 256

// Open opens a log. Whether it is compressed is told by its content.
func Open(name string) (*Reader, error) {
	file := os.Stdin
	if name != Stdin {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, fmt.Errorf("opening the log: %w", err)
		}
	}
	r := &Reader{name: name, file: file, buffered: bufio.NewReaderSize(file, 64<<10)}
	magic, err := r.buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", name, err), r.Close())
	}
	if bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(r.buffered)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reading %s as gzip: %w", name, err), r.Close())
		}
		r.compressed = true
		r.buffered = bufio.NewReaderSize(uncompressed{plain}, 64<<10)
	}
	return r, nil
}

// uncompressed reads a compressed log. Its end before its time is an error of its
// own: io.ErrUnexpectedEOF is what io.ReadFull makes of any end.
type uncompressed struct{ io.Reader }

func (u uncompressed) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrCutOff
	}
	return n, err
}

// Close closes the log.
func (r *Reader) Close() error {
	if r.file == os.Stdin {
		return nil
	}
	return r.file.Close()
}

// Head returns how the log begins: at most sketch.SourceHead bytes. It is to be
// called before anything was read.
func (r *Reader) Head() ([]byte, error) {
	head, err := r.buffered.Peek(sketch.SourceHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading %s: %w", r.name, err)
	}
	return bytes.Clone(head), nil
}

// Size returns the size of the file on disk, 0 for standard input and others
// that have none.
func (r *Reader) Size() int64 {
	info, err := r.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// Read returns how many bytes of the file on disk were read so far.
func (r *Reader) Read() int64 {
	if !r.compressed {
		return r.offset
	}
	position, err := r.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	return position
}

// SkipTo goes to where an earlier import ended. It is to be called before
// anything was read. ErrChanged says that the log is not the one that was
// imported then.
func (r *Reader) SkipTo(mark sketch.Mark) error {
	start := mark.TailStart()
	if r.seekable() {
		if _, err := r.file.Seek(start, io.SeekStart); err != nil {
			return fmt.Errorf("going to offset %d of %s: %w", start, r.name, err)
		}
		r.buffered.Reset(r.file)
	} else if _, err := io.CopyN(io.Discard, r.buffered, start); err != nil {
		return r.skipError(err)
	}
	tail := make([]byte, mark.To-start)
	if _, err := io.ReadFull(r.buffered, tail); err != nil {
		return r.skipError(err)
	}
	if sha256.Sum256(tail) != mark.Tail {
		return fmt.Errorf("%s: %w", r.name, ErrChanged)
	}
	r.offset, r.lines = mark.To, mark.Lines
	r.inside = len(tail) > 0 && tail[len(tail)-1] != '\n'
	return nil
}

func (r *Reader) seekable() bool {
	info, err := r.file.Stat()
	// Standard input may be a file that was read in part before it came to us.
	return err == nil && info.Mode().IsRegular() && !r.compressed && r.file != os.Stdin
}

// skipError makes ErrChanged of a log that ends before the place: it is shorter
// than the one that was imported.
func (r *Reader) skipError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", r.name, ErrChanged)
	}
	return fmt.Errorf("reading %s: %w", r.name, err)
}

// Next returns the next chunk. It ends with a line end, but for two cases: at
// the end of the log, and within a line that is longer than a whole chunk. At
// the end of the log it returns io.EOF; what was appended since is returned by a
// later call. Lines that were read before a failure are handed out before it.
func (r *Reader) Next() (Chunk, error) {
	if r.buffer == nil {
		r.buffer = make([]byte, 0, chunkBytes)
	}
	r.buffer = append(r.buffer[:0], r.pending...)
	r.pending = r.pending[:0]
	filled := len(r.buffer)
	n, err := io.ReadFull(r.buffered, r.buffer[filled:chunkBytes])
	r.buffer = r.buffer[:filled+n]
	end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !end && bytes.IndexByte(r.buffer, '\n') < 0 {
		r.pending = append(r.pending, r.buffer...)
		return Chunk{}, fmt.Errorf("reading %s at offset %d: %w", r.name, r.offset+int64(len(r.buffer)), err)
	}
	data := r.buffer
	if !end {
		if last := bytes.LastIndexByte(data, '\n'); last >= 0 {
			r.pending = append(r.pending, data[last+1:]...)
			data = data[:last+1]
		}
	}
	if len(data) == 0 {
		return Chunk{}, io.EOF
	}
	return Chunk{From: r.offset, Lines: r.lines, Data: data, End: end}, nil
}

// Advance says that a chunk was imported up to an offset, with the lines of the
// log before it. What stands behind it comes again.
func (r *Reader) Advance(chunk Chunk, to, lines int64) {
	taken := chunk.Data[:to-chunk.From]
	r.pending = append(bytes.Clone(chunk.Data[len(taken):]), r.pending...)
	r.offset, r.lines = to, lines
	if len(taken) > 0 {
		r.inside = taken[len(taken)-1] != '\n'
		r.last = append(r.last[:0], taken[max(0, len(taken)-lastBytes):]...)
	}
}

// overwritten reports whether the file holds something else where the last bytes
// that were taken stood: it was cut and has grown again since.
func (r *Reader) overwritten() bool {
	now := make([]byte, len(r.last))
	n, err := r.file.ReadAt(now, r.offset-int64(len(r.last)))
	return err == nil && n == len(now) && !bytes.Equal(now, r.last)
}

// Inside reports whether the next chunk begins within a line of which the
// beginning was handed out.
func (r *Reader) Inside() bool { return r.inside }

// Left returns, at the end of the log, how many bytes of a last line without an
// end were read but not taken.
func (r *Reader) Left() int {
	if bytes.HasSuffix(r.pending, []byte("\n")) {
		return 0
	}
	return len(r.pending)
}
