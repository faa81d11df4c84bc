package agentjobs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

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
		Socket: c.socket, Upstream: upstream, Model: c.settings.Model, Key: key, Limits: js.Gate, Logger: js.logger,
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
	room, err := js.Sandbox.Prepare(sandbox.Spec{Tree: c.tree, Home: c.home, GateSocket: c.socket})
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
	if err := furnish(c.home, command); err != nil {
		return agent.Result{}, err
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
		IdleTimeout: js.IdleTimeout, Event: c.event, Logger: js.logger,
	})
	// It was asked to end by the end of its input. Some agents do not, and what it
	// left running does not know.
	process.Kill()
	ended := process.Wait()
	var limit *sandbox.LimitError
	if errors.As(ended, &limit) {
		return result, ended // Whatever the agent says of it is a consequence.
	}
	if said := process.Stderr(); err != nil && said != "" {
		c.event(agent.Event{Kind: agent.KindError, Text: agent.Clean(said)})
	}
	return result, err
}

// furnish puts the agent's configuration into its home, and removes from there what
// the agent would run code from as it starts. An earlier run may have left links
// there, which os.Root does not follow out of it.
func furnish(home string, command agent.Command) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("opening the home of the agent: %w", err)
	}
	defer func() { _ = root.Close() }() // It was read-only.
	for _, name := range command.Remove {
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("removing the agent's %s: %w", name, err)
		}
	}
	for name, content := range command.Files {
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return fmt.Errorf("writing the agent's %s: %w", name, err)
		}
		// Not into what lies there: that may be a link, or a file that nobody may write.
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("writing the agent's %s: %w", name, err)
		}
		if err := root.WriteFile(name, content, 0o600); err != nil {
			return fmt.Errorf("writing the agent's %s: %w", name, err)
		}
	}
	return nil
}
