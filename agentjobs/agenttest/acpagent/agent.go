package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// agent answers the calls of the protocol.
type agent struct {
	settings   settings
	store      store
	out        *output
	connection *acp.AgentSideConnection
	ready      chan struct{} // closed when connection is set

	mu   sync.Mutex
	open map[acp.SessionId]*session
}

func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion:   acp.ProtocolVersion(a.settings.protocol),
		AgentCapabilities: acp.AgentCapabilities{LoadSession: !a.settings.noLoad},
		AgentInfo:         &acp.Implementation{Name: "acpagent", Version: "1"},
	}, nil
}

func (a *agent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

func (a *agent) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if a.settings.auth {
		return acp.NewSessionResponse{}, acp.NewAuthRequired(nil)
	}
	s := a.store.create(r.Cwd)
	if len(a.settings.models) > 0 {
		s.Model = a.settings.models[0]
	}
	a.keep(s)
	return acp.NewSessionResponse{SessionId: acp.SessionId(s.ID), Models: a.models(s)}, a.store.save(s)
}

// LoadSession repeats the history before it answers, as the protocol wants it.
func (a *agent) LoadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	<-a.ready
	s, err := a.store.load(r.SessionId)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	s.Directory = r.Cwd
	a.keep(s)
	for _, m := range s.History {
		update := acp.UpdateAgentMessageText(m.Text)
		if m.User {
			update = acp.UpdateUserMessageText(m.Text)
		}
		if err := a.connection.SessionUpdate(ctx, acp.SessionNotification{SessionId: r.SessionId, Update: update}); err != nil {
			return acp.LoadSessionResponse{}, err
		}
	}
	return acp.LoadSessionResponse{Models: a.models(s)}, nil
}

func (a *agent) models(s *session) *acp.SessionModelState {
	if len(a.settings.models) == 0 {
		return nil
	}
	state := &acp.SessionModelState{CurrentModelId: acp.ModelId(s.Model)}
	for _, m := range a.settings.models {
		state.AvailableModels = append(state.AvailableModels, acp.ModelInfo{ModelId: acp.ModelId(m), Name: m})
	}
	return state
}

// UnstableSetSessionModel sets one of the models that it offers.
func (a *agent) UnstableSetSessionModel(_ context.Context, r acp.UnstableSetSessionModelRequest) (acp.UnstableSetSessionModelResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return acp.UnstableSetSessionModelResponse{}, err
	}
	if !slices.Contains(a.settings.models, string(r.ModelId)) {
		return acp.UnstableSetSessionModelResponse{}, acp.NewInvalidParams("no such model")
	}
	s.Model = string(r.ModelId)
	return acp.UnstableSetSessionModelResponse{}, nil
}

func (a *agent) keep(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[acp.SessionId(s.ID)] = s
}

func (a *agent) session(id acp.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.open[id]; s != nil {
		return s, nil
	}
	return nil, acp.NewInvalidParams("no such session")
}

// Prompt does what the text says, line by line.
func (a *agent) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	<-a.ready
	s, err := a.session(r.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	var text strings.Builder
	for _, block := range r.Prompt {
		if block.Text != nil {
			text.WriteString(block.Text.Text)
		}
	}
	s.History = append(s.History, said{User: true, Text: text.String()})
	t := &turn{agent: a, session: s, stop: acp.StopReasonEndTurn}
	for line := range strings.Lines(text.String()) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := t.do(ctx, line); err != nil {
			return acp.PromptResponse{}, err
		}
		if t.over {
			break
		}
	}
	if err := a.store.save(s); err != nil {
		return acp.PromptResponse{}, err
	}
	return acp.PromptResponse{StopReason: t.stop, Usage: t.usage}, nil
}

// Cancel does nothing: the library ends the context of the prompt.
func (a *agent) Cancel(context.Context, acp.CancelNotification) error { return nil }

func (a *agent) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionClose)
}

func (a *agent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

func (a *agent) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

func (a *agent) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

func (a *agent) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}

// turn is one prompt being done.
type turn struct {
	agent   *agent
	session *session
	stop    acp.StopReason
	usage   *acp.Usage
	over    bool
	calls   int // tool calls so far
}

func (t *turn) end(reason acp.StopReason) {
	t.stop, t.over = reason, true
}

func (t *turn) update(ctx context.Context, u acp.SessionUpdate) error {
	return t.agent.connection.SessionUpdate(ctx, acp.SessionNotification{SessionId: acp.SessionId(t.session.ID), Update: u})
}

// say is a message, a line to itself.
func (t *turn) say(ctx context.Context, text string) error {
	t.session.History = append(t.session.History, said{Text: text})
	return t.update(ctx, acp.UpdateAgentMessageText(text+"\n"))
}

// tool tells of a tool call around what it does.
func (t *turn) tool(ctx context.Context, kind acp.ToolKind, title string, content []acp.ToolCallContent, do func() error) error {
	t.calls++
	id := acp.ToolCallId(fmt.Sprintf("call-%d-%d", len(t.session.History), t.calls))
	if err := t.update(ctx, acp.StartToolCall(id, title, acp.WithStartKind(kind), acp.WithStartStatus(acp.ToolCallStatusPending))); err != nil {
		return err
	}
	failure := do()
	if failure != nil {
		if err := t.update(ctx, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusFailed))); err != nil {
			return err
		}
		return t.say(ctx, "failed: "+failure.Error())
	}
	return t.update(ctx, acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusCompleted), acp.WithUpdateContent(content)))
}
