package agentjobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"footfall/agentjobs/agent"
	"footfall/internal/access"
)

// checkPrefix begins the names of the directories that checks work in.
const checkPrefix = "check-"

// Finding is what a check of one part of a project's settings came to.
type Finding struct {
	Part  string `json:"part"`
	Fault string `json:"fault"` // empty where the part is as it should be
}

// Check tries everything that a run needs, in the order in which a run needs it, and
// says of each part what is wrong. It changes nothing outside of this machine, and
// asks the model one short question. What needs a part that failed is left out.
func (js *Jobs) Check(ctx context.Context, project access.Project) ([]Finding, error) {
	settings, found, err := js.Settings(project)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoRepository
	}
	ctx, cancel := context.WithTimeoutCause(ctx, js.options.RunTimeout, errDeadline)
	defer cancel()
	defer context.AfterFunc(js.waiting, cancel)()
	dir, err := os.MkdirTemp(js.options.Dir, checkPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("making a directory to check in: %w", err)
	}
	defer func() {
		if err := removeAll(dir); err != nil {
			js.logger.Warn("The directory of a check was not removed.", "error", err)
		}
	}()
	var findings []Finding
	try := func(part string, err error) (good bool) {
		finding := Finding{Part: part}
		if err != nil {
			// The operator asks, who may know all of it.
			finding.Fault = err.Error()
		}
		findings = append(findings, finding)
		return err == nil
	}
	token := func() (string, error) { return readSecret("forge-token-file", settings.ForgeTokenFile) }
	_, err = token()
	if try("forge token", err) {
		try("forge", js.checkForge(ctx, settings, token))
		try("clone", js.checkClone(ctx, settings, filepath.Join(dir, "clone"), token))
	}
	if try("sandbox", js.options.Sandbox.Check(ctx)) {
		try("agent and model", js.checkAgent(ctx, settings, dir))
	}
	return findings, nil
}

func (js *Jobs) checkForge(ctx context.Context, s Settings, token func() (string, error)) error {
	f, err := js.newForge(s, token)
	if err != nil {
		return err
	}
	return f.Check(ctx, s.Ref)
}

func (js *Jobs) checkClone(ctx context.Context, s Settings, dir string, token func() (string, error)) error {
	c, err := js.newCheckout(s, dir, token)
	if err != nil {
		return err
	}
	if err := c.Check(ctx, s.Ref); err != nil {
		return err
	}
	_, err = c.Prepare(ctx, "footfall/check", s.Ref)
	return err
}

func (js *Jobs) checkAgent(ctx context.Context, s Settings, dir string) error {
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		return fmt.Errorf("making an empty directory to work in: %w", err)
	}
	var last string
	result, err := js.converse(ctx, conversation{
		settings: s, tree: tree, home: filepath.Join(dir, "home"), socket: filepath.Join(js.sockets, filepath.Base(dir)+socketSuffix),
		prompt: "Answer with the word OK alone, and change no file.",
		event: func(e agent.Event) {
			if e.Kind == agent.KindError {
				last = e.Text
			}
		},
	})
	switch {
	case err != nil && last != "":
		return fmt.Errorf("%w; it said last: %s", err, last)
	case err != nil:
		return err
	case result.Message == "":
		return errors.New("the agent ended without an answer; is its model right?")
	}
	return nil
}
