package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	acp "github.com/coder/acp-go-sdk"
)

// What a run ends with when it does not end well. Beside these, Run returns an
// *Error for what the agent itself reported, and wraps the context's error.
var (
	// ErrProtocol: no session could be begun. The agent does not speak the protocol
	// or another version of it, wants a login, or did not answer in StartTimeout.
	ErrProtocol = errors.New("no session with the agent")
	// ErrIdle: the agent gave no sign of life for IdleTimeout.
	ErrIdle = errors.New("the agent went silent")
	// ErrOutput: the agent wrote more than OutputBytes, or a line above MaxLine.
	ErrOutput = errors.New("the agent wrote too much")
	// ErrEnded: the agent's process closed the connection before it answered.
	ErrEnded = errors.New("the agent ended before it answered")
	// ErrRefused: the agent, or its model, refuses the prompt.
	ErrRefused = errors.New("the agent refused the prompt")
	// ErrMaxTokens: the model's limit of tokens was reached in the middle of the work.
	ErrMaxTokens = errors.New("the agent reached the model's token limit before it was done")
	// ErrMaxTurnRequests: the agent's own limit of model requests was reached.
	ErrMaxTurnRequests = errors.New("the agent reached its limit of model requests before it was done")
	// ErrStopped: the agent stopped for a reason of its own: it says that it was
	// cancelled, by nobody here, or gives a reason that the protocol does not know.
	ErrStopped = errors.New("the agent stopped before it was done")
)

// maxErrorText bounds an agent's own words in an error, in bytes.
const maxErrorText = 1 << 10

// Error is what the agent answered instead of a result.
type Error struct {
	Code int    // as JSON-RPC and the protocol number them
	Text string // the agent's words: at most 1 KiB, valid UTF-8, one line
}

func (e *Error) Error() string { return fmt.Sprintf("the agent failed: %s (code %d)", e.Text, e.Code) }

// authRequired is the protocol's code for an agent that wants a login first.
const authRequired = -32000

// agentError makes an error of what the agent answered. The text is not taken for
// harmless: it may hold any bytes, and be long.
func agentError(err error) error {
	var request *acp.RequestError
	if !errors.As(err, &request) {
		return err
	}
	text := request.Message
	// The data is where agents put the reason: beside "Internal error", say.
	if data, err := json.Marshal(request.Data); err == nil && request.Data != nil && !bytes.Equal(data, []byte("null")) {
		text += ": " + string(data)
	}
	return &Error{Code: request.Code, Text: cleanLine(text, maxErrorText)}
}
