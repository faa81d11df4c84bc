package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// Run gives the prompt to the agent and returns when the turn is over, or the run
// had to be given up. The Result holds the SessionID also beside an error, once
// there is a session.
//
// The agent is not dead when Run returns, and has to be killed if it does not heed
// that its Stdin was closed; some do not. The goroutines of Run end when Stdout's
// Read returns an error after that, as the death of the agent's processes makes
// it, or closing Stdout.
func Run(ctx context.Context, o Options) (Result, error) {
	o = o.withDefaults()
	if err := ctx.Err(); err != nil {
		return Result{}, errors.Join(fmt.Errorf("prompting the agent: %w", err), o.Stdin.Close())
	}
	r := &run{options: o, log: newNarrator(o.Tree, o.Event), begun: time.Now()}
	r.pipe = newPipe(o, r.alive)
	r.connection = acp.NewConnection(r.handle, r.pipe, r.pipe)
	r.connection.SetLogger(slog.New(slog.DiscardHandler)) // it logs whole messages
	close(r.pipe.ready)                                   // not before: the library reads its logger unlocked

	// Calls of the library outlive this function where the agent does not read its
	// Stdin, so they run beside it.
	calls, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	ended := make(chan ending, 1)
	go func() { ended <- r.converse(calls) }()

	end := r.supervise(ctx, ended)
	r.log.close()
	r.pipe.close()
	if err := o.Stdin.Close(); err != nil {
		o.Logger.Debug("closing the agent's input", "err", err)
	}
	if n := r.pipe.ignored.Load(); n > 0 {
		o.Logger.Info("the agent wrote lines that are no messages", "lines", n)
	}
	end.result.Message = r.log.message()
	if end.err != nil {
		return end.result, fmt.Errorf("prompting the agent: %w", end.err)
	}
	return end.result, nil
}

// ending is how a conversation ended.
type ending struct {
	result Result
	err    error
}

// run is one conversation.
type run struct {
	options    Options
	pipe       *pipe
	connection *acp.Connection
	log        *narrator
	session    atomic.Pointer[session] // nil until there is one
	prompted   atomic.Bool             // from the prompt on: the agent's updates are news
	stopping   atomic.Bool             // session/cancel was decided on
	begun      time.Time
	sign       atomic.Int64 // when the agent last gave a sign of life: nanoseconds since begun
}

func (r *run) alive() { r.sign.Store(int64(time.Since(r.begun))) }

// silent is how long the agent has not given a sign of life.
func (r *run) silent() time.Duration { return time.Since(r.begun) - time.Duration(r.sign.Load()) }

// supervise waits for the end of the conversation, and brings it about where it
// lasts too long.
func (r *run) supervise(ctx context.Context, ended <-chan ending) ending {
	idle := time.NewTimer(r.options.IdleTimeout)
	defer idle.Stop()
	for {
		select {
		case end := <-ended:
			return end
		case <-ctx.Done():
			return r.stop(ctx, ended, context.Cause(ctx))
		case <-idle.C:
			left := r.options.IdleTimeout - r.silent()
			if !r.prompted.Load() {
				left = r.options.IdleTimeout // the clock of the start is another one
			}
			if left <= 0 {
				return r.stop(ctx, ended, fmt.Errorf("%w for %v", ErrIdle, r.options.IdleTimeout))
			}
			idle.Reset(left)
		}
	}
}

// stop tells the agent to stop the turn, and waits a little for it to do so. What
// the agent answers by then does not change why the run ends.
func (r *run) stop(ctx context.Context, ended <-chan ending, why error) ending {
	if err := ctx.Err(); err != nil && !errors.Is(why, err) {
		why = fmt.Errorf("%w: %w", err, why)
	}
	end := ending{err: why}
	if s := r.session.Load(); s != nil {
		end.result = s.result()
	}
	r.stopping.Store(true)
	if !r.prompted.Load() {
		return end
	}
	go func() {
		// Beside us: it blocks where the agent does not read.
		err := r.connection.SendNotification(context.Background(), acp.AgentMethodSessionCancel,
			acp.CancelNotification{SessionId: acp.SessionId(end.result.SessionID)})
		if err != nil {
			r.options.Logger.Debug("cancelling the agent's turn", "err", err)
		}
	}()
	grace := time.NewTimer(r.options.CancelGrace)
	defer grace.Stop()
	select {
	case last := <-ended:
		last.err = why
		return last
	case <-grace.C:
		return end
	}
}

// handle deals with one message of the agent. It is quick, as the next one waits.
func (r *run) handle(_ context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	defer r.pipe.handled()
	switch method {
	case acp.ClientMethodSessionUpdate:
		return nil, r.update(params)
	case acp.ClientMethodSessionRequestPermission:
		return r.permission(params)
	default:
		// Files, terminals, questions and servers of tools: none was offered.
		if r.prompted.Load() {
			r.log.tell(KindError, "refused: the agent called "+cleanLine(method, 100)+", which it was not offered")
		}
		return nil, acp.NewMethodNotFound(method)
	}
}

// update takes news of the session. History, which loading a session repeats, and
// the talk of other sessions are none. What cannot be decoded is a kind of update
// that this version does not know, and passes for a sign of life only.
func (r *run) update(params json.RawMessage) *acp.RequestError {
	s := r.session.Load()
	if s == nil || !r.prompted.Load() {
		return nil
	}
	var n acp.SessionNotification
	if err := json.Unmarshal(params, &n); err != nil || string(n.SessionId) != s.id {
		return nil
	}
	r.log.update(n.Update)
	return nil
}

// permission answers whether the agent may.
func (r *run) permission(params json.RawMessage) (any, *acp.RequestError) {
	var q acp.RequestPermissionRequest
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, acp.NewInvalidParams(nil)
	}
	if r.stopping.Load() {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	reason := "nothing was asked of it yet"
	if r.prompted.Load() {
		reason = forbidden(r.options.Tree, q.ToolCall)
	}
	r.log.permission(q.ToolCall, reason)
	return acp.RequestPermissionResponse{Outcome: choose(q.Options, reason == "")}, nil
}
