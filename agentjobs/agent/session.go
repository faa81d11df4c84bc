package agent

import (
	"context"
	"errors"
	"fmt"

	acp "github.com/coder/acp-go-sdk"
)

// maxSessionID bounds the id of a session, in bytes: it is kept with the job.
const maxSessionID = 1 << 10

// session is the agent's session that a run uses.
type session struct {
	id      string
	resumed bool
}

func (s *session) result() Result { return Result{SessionID: s.id, Resumed: s.resumed} }

// call makes one call of the agent. Its error is the agent's own (*Error) where the
// agent answered, that of the context where that ended, or why the stream ended.
func call[T any](ctx context.Context, r *run, method string, params any) (T, error) {
	answer, err := acp.SendRequest[T](r.connection, ctx, method, params)
	answered := r.pipe.returned()
	switch {
	case err == nil:
		return answer, nil
	case answered:
		return answer, agentError(err)
	case ctx.Err() != nil:
		return answer, ctx.Err()
	default:
		return answer, r.pipe.ended()
	}
}

// converse begins a session and gives it the prompt.
func (r *run) converse(ctx context.Context) ending {
	s, err := r.start(ctx)
	if err != nil {
		return ending{err: err}
	}
	r.session.Store(s)
	text := r.options.Prompt
	if !s.resumed && r.options.Summary != "" {
		text = r.options.Summary + "\n\n" + text
	}
	r.alive()
	r.prompted.Store(true)
	answer, err := call[acp.PromptResponse](ctx, r, acp.AgentMethodSessionPrompt, acp.PromptRequest{
		SessionId: acp.SessionId(s.id),
		Prompt:    []acp.ContentBlock{acp.TextBlock(text)},
	})
	result := s.result()
	if err != nil {
		return ending{result, err}
	}
	result.StopReason = cleanLine(string(answer.StopReason), 100)
	if u := answer.Usage; u != nil {
		result.Usage = &Usage{Input: int64(max(u.InputTokens, 0)), Output: int64(max(u.OutputTokens, 0))}
	}
	return ending{result, stopped(answer.StopReason, result.StopReason)}
}

// stopped tells a good end from the others.
func stopped(reason acp.StopReason, text string) error {
	switch reason {
	case acp.StopReasonEndTurn:
		return nil
	case acp.StopReasonRefusal:
		return ErrRefused
	case acp.StopReasonMaxTokens:
		return ErrMaxTokens
	case acp.StopReasonMaxTurnRequests:
		return ErrMaxTurnRequests
	default:
		return fmt.Errorf("%w: %q", ErrStopped, text)
	}
}

// start brings the agent to where it can be given a prompt.
func (r *run) start(ctx context.Context) (*session, error) {
	ctx, stop := context.WithTimeoutCause(ctx, r.options.StartTimeout,
		fmt.Errorf("the agent did not answer within %v", r.options.StartTimeout))
	defer stop()
	s, err := r.begin(ctx)
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", ErrProtocol, context.Cause(ctx))
	case errors.Is(err, ErrProtocol), errors.Is(err, ErrEnded), errors.Is(err, ErrOutput):
		return nil, err
	}
	var refused *Error
	if errors.As(err, &refused) && refused.Code == authRequired {
		return nil, fmt.Errorf("%w: the agent wants a login: %w", ErrProtocol, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
}

func (r *run) begin(ctx context.Context) (*session, error) {
	// Every capability that is left out is one that we do not have.
	agent, err := call[acp.InitializeResponse](ctx, r, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: "footfall", Version: "1"},
	})
	if err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	if agent.ProtocolVersion != acp.ProtocolVersionNumber {
		return nil, fmt.Errorf("%w: the agent speaks version %d of the protocol, not %d",
			ErrProtocol, agent.ProtocolVersion, acp.ProtocolVersionNumber)
	}
	if r.options.SessionID != "" && agent.AgentCapabilities.LoadSession {
		s, err := r.load(ctx)
		if err == nil {
			return s, nil
		}
		var failed *Error
		if !errors.As(err, &failed) {
			return nil, fmt.Errorf("session/load: %w", err)
		}
		// An agent forgets sessions, of its earlier version for one.
		r.options.Logger.Info("the agent could not load its session", "err", err)
	}
	made, err := call[acp.NewSessionResponse](ctx, r, acp.AgentMethodSessionNew, acp.NewSessionRequest{
		Cwd:        r.options.Tree,
		McpServers: []acp.McpServer{}, // null is not valid
	})
	if err != nil {
		return nil, fmt.Errorf("session/new: %w", err)
	}
	if id := string(made.SessionId); id == "" || len(id) > maxSessionID || clean(id, maxSessionID) != id {
		return nil, fmt.Errorf("%w: the agent gave a session without a usable id", ErrProtocol)
	}
	s := &session{id: string(made.SessionId)}
	return s, r.setModel(ctx, s, made.Models, made.ConfigOptions)
}

func (r *run) load(ctx context.Context) (*session, error) {
	s := &session{id: r.options.SessionID, resumed: true}
	loaded, err := call[acp.LoadSessionResponse](ctx, r, acp.AgentMethodSessionLoad, acp.LoadSessionRequest{
		SessionId:  acp.SessionId(s.id),
		Cwd:        r.options.Tree,
		McpServers: []acp.McpServer{},
	})
	if err != nil {
		return nil, err
	}
	return s, r.setModel(ctx, s, loaded.Models, loaded.ConfigOptions)
}
