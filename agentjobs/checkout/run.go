package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxListing bounds what is read of a command's output, in bytes: a line of 100
	// bytes for each of a million files.
	maxListing = 100 << 20

	// maxText bounds what is kept of a command's stderr, in bytes.
	maxText = 8 << 10

	// maxReason bounds what of it goes into an error, in bytes.
	maxReason = 1 << 10

	// killDelay is how long a killed command's pipes are waited for.
	killDelay = 5 * time.Second
)

// command is one call of git.
type command struct {
	args     []string
	onTree   bool      // it reads or writes the tree
	onRemote bool      // it needs the token
	stdin    io.Reader // nil: nothing
	env      []string  // besides the environment of every command
	limit    int       // of stdout in bytes; 0: maxListing
}

// run executes a command and returns what it printed. Where that is more than the
// limit, it returns as much as the limit, and ErrTooMuch.
func (c *Checkout) run(ctx context.Context, command command) ([]byte, error) {
	stdout, _, err := c.runText(ctx, command)
	return stdout, err
}

// runText returns stderr besides, sanitised.
func (c *Checkout) runText(ctx context.Context, command command) ([]byte, string, error) {
	var token string
	if command.onRemote {
		var err error
		if token, err = c.token(); err != nil {
			return nil, "", err
		}
	}
	limited, cancel := context.WithTimeout(ctx, c.options.Limits.Timeout)
	defer cancel()

	limit := command.limit
	if limit == 0 {
		limit = maxListing
	}
	stdout, stderr := &bounded{limit: limit}, &bounded{limit: maxText, drain: true}
	err := c.execute(func() *exec.Cmd {
		cmd := exec.CommandContext(limited, c.git, command.args...)
		cmd.Env = c.environment(command, token)
		cmd.Dir = c.gitDir()
		if command.onTree {
			cmd.Dir = c.Tree()
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = command.stdin, stdout, stderr
		cmd.WaitDelay = killDelay
		return cmd
	})
	text := c.clean(stderr.buffer.String(), token)
	var exit *exec.ExitError
	switch {
	case stdout.over:
		return stdout.buffer.Bytes(), text, fmt.Errorf("git %s: %w", command.args[0], ErrTooMuch)
	case err == nil:
		return stdout.buffer.Bytes(), text, nil
	case ctx.Err() != nil:
		return nil, text, fmt.Errorf("git %s: %w", command.args[0], context.Cause(ctx))
	case limited.Err() != nil:
		return nil, text, fmt.Errorf("git %s: %w, more than %s", command.args[0], ErrTimeout, c.options.Limits.Timeout)
	case errors.As(err, &exit):
		return stdout.buffer.Bytes(), text, &commandError{command: command.args[0], exit: exit.ExitCode(), text: reason(text)}
	}
	return nil, text, fmt.Errorf("git %s: %w", command.args[0], err)
}

// execute runs a process so that it dies with all that it starts, when the context
// ends and when the service does: git starts further processes for the network.
func (c *Checkout) execute(make func() *exec.Cmd) error {
	// The kernel's signal on the parent's death is bound to the thread that started
	// the child, so that one has to last.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, err := start(make)
	if err != nil {
		return err
	}
	if err := boundFiles(cmd.Process.Pid, c.options.Limits.FetchBytes); err != nil {
		_ = cmd.Cancel()
		_ = cmd.Wait()
		return fmt.Errorf("bound the size of files: %w", err)
	}
	return cmd.Wait()
}

// clean makes a foreign program's text fit for messages: no control characters, no
// invalid UTF-8, and no token in either form.
func (c *Checkout) clean(text, token string) string {
	if token != "" {
		// The header's value first: a short token could be a part of it.
		_, encoded, _ := strings.Cut(c.basic(token), " ")
		text = strings.ReplaceAll(text, encoded, "***")
		text = strings.ReplaceAll(text, token, "***")
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return ' '
		}
		return r
	}, text))
}

// reason makes one bounded line of a text that is clean.
func reason(text string) string {
	return cut(strings.Join(strings.Fields(text), " "), maxReason)
}

// cut returns the longest beginning of s that has at most limit bytes and does not
// end within a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for back := range min(utf8.UTFMax, limit) {
		if utf8.RuneStart(s[limit-back]) {
			return s[:limit-back]
		}
	}
	return s[:limit] // no character is that long
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	buffer bytes.Buffer
	limit  int
	drain  bool // the rest is dropped; else writing fails, and the writer gets SIGPIPE
	over   bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.buffer.Len()
	if len(p) <= room {
		return b.buffer.Write(p)
	}
	b.buffer.Write(p[:room])
	if b.drain {
		return len(p), nil
	}
	b.over = true
	return room, ErrTooMuch
}
