package agentjobs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"footfall/agentjobs/agent"
	"footfall/agentjobs/gate"
	"footfall/agentjobs/sandbox"
)

// conversation is one prompt to the agent of a project.
type conversation struct {
	settings Settings
	tree     string // where the agent works
	home     string // what the agent keeps from one conversation to the next
	socket   string // where the gate to the model is
	prompt   string
	session  string // of an earlier conversation, empty for none
	summary  string // of what went before, where the agent cannot go on with it
	event    func(agent.Event)
}

// converse starts the agent of a project in a sandbox, gives it a prompt and waits
// until it is done. When it returns, no process of the agent is left, and its way to
// the model is gone.
func (js *Jobs) converse(ctx context.Context, c conversation) (result agent.Result, err error) {
	upstream, err := url.Parse(c.settings.ModelURL)
	if err != nil {
		return agent.Result{}, fmt.Errorf("reading the URL of the model: %w", err)
	}
	var key func() (string, error)
	if name := c.settings.ModelKeyFile; name != "" {
		key = func() (string, error) { return readSecret("model-key-file", name) }
		// An agent would be told by the gate, and say what it makes of that.
		if _, err := key(); err != nil {
			return agent.Result{}, err
		}
	}
	way, err := gate.Open(gate.Options{
		Socket: c.socket, Upstream: upstream, Model: c.settings.Model, Key: key, Limits: js.options.Gate, Logger: js.logger,
	})
	if err != nil {
		return agent.Result{}, fmt.Errorf("opening the way to the model: %w", err)
	}
	defer func() {
		err = errors.Join(err, way.Close())
		js.metrics.used(way.Usage())
	}()
	if err := os.MkdirAll(c.home, 0o700); err != nil {
		return agent.Result{}, fmt.Errorf("making the home of the agent: %w", err)
	}
	room, err := js.options.Sandbox.Prepare(sandbox.Spec{Tree: c.tree, Home: c.home, GateSocket: c.socket})
	if err != nil {
		return agent.Result{}, fmt.Errorf("preparing the sandbox: %w", err)
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	preset, err := agent.Parse(c.settings.Agent)
	if err != nil {
		return agent.Result{}, fmt.Errorf("reading how the agent is started: %w", err)
	}
	command, err := preset.Command(agent.Config{Model: c.settings.Model, ModelURL: room.ModelURL, Tree: room.Tree, Home: room.Home})
	if err != nil {
		return agent.Result{}, fmt.Errorf("making the agent's configuration: %w", err)
	}
	kept, err := openHome(c.home, command)
	if err != nil {
		return agent.Result{}, err
	}
	if !kept {
		c.event(agent.Event{Kind: agent.KindStatus, Text: "What the agent kept from earlier runs can not be used again and was removed."})
	}
	if err := room.Hide(command.Hide...); err != nil {
		return agent.Result{}, err
	}
	process, err := room.Start(ctx, command.Argv, command.Env)
	if err != nil {
		return agent.Result{}, fmt.Errorf("starting the agent: %w", err)
	}
	result, err = agent.Run(ctx, agent.Options{
		Stdin: process.Stdin(), Stdout: process.Stdout(),
		Tree: room.Tree, Model: c.settings.Model, Prompt: c.prompt, SessionID: c.session, Summary: c.summary,
		IdleTimeout: js.options.IdleTimeout, Event: c.event, Logger: js.logger,
	})
	// It was asked to end by the end of its input. Some agents do not, and what it
	// left running does not know.
	process.Kill()
	ended := process.Wait()
	var limit *sandbox.LimitError
	if errors.As(ended, &limit) {
		return result, ended // Whatever the agent says of it is a consequence.
	}
	if err != nil {
		if ended != nil && !errors.Is(ended, sandbox.ErrKilled) {
			c.event(agent.Event{Kind: agent.KindError, Text: agent.Clean(ended.Error())})
		}
		if said := process.Stderr(); said != "" {
			c.event(agent.Event{Kind: agent.KindError, Text: agent.Clean(said)})
		}
	}
	return result, err
}
