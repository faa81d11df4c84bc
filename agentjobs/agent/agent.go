package agent

import (
	"io"
	"log/slog"
	"time"
)

// Kind says what an event tells of.
type Kind string

// The kinds of events.
const (
	KindMessage Kind = "message" // the agent said it
	KindTool    Kind = "tool"    // the agent did it, or asked whether it may
	KindDiff    Kind = "diff"    // the agent says that it changed a file like this
	KindStatus  Kind = "status"  // where the agent stands: its plan
	KindError   Kind = "error"   // the agent asked for what it does not get
)

// MaxEventText bounds the text of an event, in bytes.
const MaxEventText = 16 << 10

// Event is a piece of what the agent said or did. It is the agent's word: whether
// a file changed is not told by an event.
type Event struct {
	Kind Kind
	Text string // at most MaxEventText; valid UTF-8; no control characters but newline and tab
}

// The defaults of Options.
const (
	DefaultIdleTimeout  = 2 * time.Minute
	DefaultStartTimeout = time.Minute
	DefaultCancelGrace  = 5 * time.Second
	DefaultOutputBytes  = 64 << 20
)

// Options is what a run needs. Zero values stand for the defaults.
type Options struct {
	// Stdin and Stdout are the agent's. Run closes Stdin when it returns, which must
	// end a Write that blocks, as it does for a pipe. It does not close Stdout: see Run.
	Stdin  io.WriteCloser
	Stdout io.Reader

	Tree   string // the work tree as the agent sees it, an absolute path
	Model  string // set through the protocol where the agent offers it there; else left alone
	Prompt string

	SessionID string // of an earlier run, to go on with; "" for none
	Summary   string // of the earlier session; precedes the prompt where that cannot be loaded

	IdleTimeout  time.Duration // without an update or a request from the agent
	StartTimeout time.Duration // until there is a session
	CancelGrace  time.Duration // between session/cancel and giving up
	OutputBytes  int64         // of Stdout in all

	Event  func(Event)  // called in order, one at a time, never after Run returned; must not block for long
	Logger *slog.Logger // nil discards
}

func (o Options) withDefaults() Options {
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.CancelGrace <= 0 {
		o.CancelGrace = DefaultCancelGrace
	}
	if o.OutputBytes <= 0 {
		o.OutputBytes = DefaultOutputBytes
	}
	if o.Event == nil {
		o.Event = func(Event) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// MaxMessage bounds Result.Message, in bytes.
const MaxMessage = 4 << 10

// Result is what came of a run.
type Result struct {
	SessionID  string // for a later run; at most 1 KiB
	Resumed    bool   // the earlier session was loaded
	StopReason string // as the agent gave it: end_turn where all went well
	Usage      *Usage // nil where the agent does not report it
	Message    string // the agent's last message, clean, at most MaxMessage
}

// Usage is the tokens of a run, by the agent's own count.
type Usage struct {
	Input, Output int64
}
