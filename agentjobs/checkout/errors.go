package checkout

import (
	"errors"
	"fmt"
)

var (
	// ErrUnauthorized says: the remote refuses the token, or it may not do this. Without
	// a token: the remote wants one.
	ErrUnauthorized = errors.New("the remote refuses access")

	// ErrNotFound says: the remote has no such repository or no such branch. Forges say
	// the same of a repository that the token may not see.
	ErrNotFound = errors.New("not found")

	// ErrRejected says: the remote did not take a push, because the branch has moved on,
	// is protected, or a rule of the remote forbids the change. Nothing was pushed.
	ErrRejected = errors.New("the remote rejected the push")

	// ErrRedirected says: the remote sends its clients to another address. Redirects are
	// not followed: the token is meant for one host.
	ErrRedirected = errors.New("the remote has another address now")

	// ErrUnreachable says: the remote does not answer, or answers that it can not. Trying
	// again later may help.
	ErrUnreachable = errors.New("the remote can not be reached")

	// ErrTimeout says: a command took longer than Limits.Timeout and was killed.
	ErrTimeout = errors.New("git took too long")

	// ErrTooMuch says: the repository is larger than Limits.FetchBytes, or has so many files
	// that their listing is not read to its end.
	ErrTooMuch = errors.New("the repository is too large")

	// ErrName says: a branch name that git does not allow.
	ErrName = errors.New("branch name is not valid")

	// ErrMessage says: a commit message without a visible character.
	ErrMessage = errors.New("commit message is blank")
)

// Violation is what the agent may not do. The work tree is left as it is, and
// nothing of it was committed.
type Violation struct {
	Path string // below the tree, slash separated, as the agent named it: any bytes
	Rule string // the rule, as the end of a sentence that begins with the path
}

func (v *Violation) Error() string { return fmt.Sprintf("%q %s", v.Path, v.Rule) }

// commandError is a git command that failed for a reason that has no name here.
type commandError struct {
	command string // its first word: fetch
	exit    int    // -1 where a signal ended it
	text    string // of its stderr, sanitised
}

func (e *commandError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("git %s ended with status %d", e.command, e.exit)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.text)
}
