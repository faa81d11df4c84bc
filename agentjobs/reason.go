package agentjobs

import (
	"errors"
	"fmt"
	"os/exec"

	"footfall/agentjobs/agent"
	"footfall/agentjobs/checkout"
	"footfall/agentjobs/forge"
	"footfall/agentjobs/sandbox"
)

var (
	errMoved       = errors.New("the project's repository is another one now; post a new job")
	errInterrupted = errors.New("interrupted")
)

// secretError says that a secret could not be read. Its file is for the operator's
// eyes; a client learns which setting it is.
type secretError struct {
	flag  string
	cause error
}

func (e *secretError) Error() string { return fmt.Sprintf("--%s: %v", e.flag, e.cause) }
func (e *secretError) Unwrap() error { return e.cause }

// internalReason is what a client is told of a failure that is ours or the
// operator's.
const internalReason = "an internal error occurred; the server's log has it"

// reasonOf returns why a run failed, in words for the one who posted it.
func reasonOf(err error) string {
	var (
		unreadable *secretError
		violation  *checkout.Violation
		failure    *forge.Failure
		limit      *sandbox.LimitError
		reported   *agent.Error
		lookup     *exec.Error
	)
	switch {
	case errors.As(err, &unreadable):
		return fmt.Sprintf("the secret of --%s can not be read; the server's log says why", unreadable.flag)
	case errors.As(err, &violation):
		return violation.Error()
	case errors.As(err, &failure):
		return failure.Error()
	case errors.As(err, &limit):
		return limit.Error()
	case errors.As(err, &reported):
		return reported.Error()
	}
	if errors.As(err, &lookup) || errors.Is(err, agent.ErrPreset) {
		return "the agent's program can not be started; footfall agent check says why"
	}
	for _, told := range []error{
		errMoved, errNoRoom, errInterrupted, errCancelled, errDeadline, errNoRepository,
		agent.ErrProtocol, agent.ErrIdle, agent.ErrOutput, agent.ErrEnded, agent.ErrRefused, agent.ErrMaxTokens, agent.ErrMaxTurnRequests, agent.ErrStopped,
	} {
		if errors.Is(err, told) {
			return told.Error()
		}
	}
	for _, told := range []error{
		checkout.ErrUnauthorized, checkout.ErrNotFound, checkout.ErrRejected, checkout.ErrRedirected,
		checkout.ErrUnreachable, checkout.ErrTimeout, checkout.ErrTooMuch, sandbox.ErrNotHidden,
	} {
		if errors.Is(err, told) {
			return err.Error() // With the branch or the name, and what the remote says of it.
		}
	}
	return internalReason
}

// ownReason reports whether a run failed for what it is, however late that was found.
func ownReason(err error) bool {
	var (
		violation *checkout.Violation
		limit     *sandbox.LimitError
	)
	return errors.As(err, &violation) || errors.As(err, &limit) || errors.Is(err, agent.ErrIdle) || errors.Is(err, agent.ErrOutput)
}

// internal reports whether a failure is for the server's log.
func internal(err error) bool {
	var unreadable *secretError
	var lookup *exec.Error
	return errors.As(err, &unreadable) || errors.As(err, &lookup) || reasonOf(err) == internalReason
}
