package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// MaxSize is the most bytes that a file of a secret may have. Keys and tokens
// are far shorter; it bounds what a wrong path makes us read.
const MaxSize = 64 << 10

// ErrRefused is matched by the error of Read for a path or a file that breaks a
// rule of this package. Other errors are those of the operating system.
var ErrRefused = errors.New("refused as a secret")

// Read returns the text of the file at an absolute path, without the white space
// around it.
//
// The file has to be a regular one of at most MaxSize bytes that belongs to the
// effective user or to root and gives no permission to its group or to others.
// The text has to be valid UTF-8, not empty and without control characters. An
// error names the path and the rule, never the content.
func Read(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", refuse(path, "the path is not absolute")
	}
	// Links are followed, as Kubernetes mounts a secret behind two of them. So it
	// is the opened file that is judged: what the path leads to may be exchanged
	// between a look at it and the opening. Without O_NONBLOCK a FIFO would hold
	// the opening until someone writes to it.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return "", fmt.Errorf("opening a secret: %w", err)
	}
	defer func() { _ = file.Close() }()
	if err := judge(file, path); err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return "", fmt.Errorf("reading a secret: %w", err)
	}
	if len(content) > MaxSize {
		return "", refuse(path, fmt.Sprintf("the file has more than %d bytes", MaxSize))
	}
	text := strings.TrimSpace(string(content))
	switch {
	case text == "":
		return "", refuse(path, "the file is empty")
	case !utf8.ValidString(text):
		return "", refuse(path, "the file is not valid UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", refuse(path, "the file has a control character or more than one line")
	}
	return text, nil
}

// judge refuses an opened file that others than its owner may read, or change.
func judge(file *os.File, path string) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return fmt.Errorf("looking at the secret %s: %w", path, err)
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return refuse(path, "it is not a regular file")
	case stat.Mode&0o077 != 0:
		return refuse(path, fmt.Sprintf("its group or others have permissions (mode %04o): only its owner may", stat.Mode&0o7777))
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return refuse(path, fmt.Sprintf("it belongs to user %d, neither to user %d, which this process runs as, nor to root", stat.Uid, os.Geteuid()))
	}
	return nil
}

func refuse(path, rule string) error {
	return fmt.Errorf("%s is %w: %s", path, ErrRefused, rule)
}
