package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// ErrPreset is wrapped by errors about a setting or a configuration that no agent
// can be started with.
var ErrPreset = errors.New("not a usable agent")

// placeholder is the key that agents are given, which refuse to start without one.
// The gate takes it off and adds the real key.
const placeholder = "footfall"

// Preset says how an agent is started.
type Preset struct {
	name string
	argv []string // nil for the presets with a name of ours
}

// Parse reads a setting: "opencode", "codex", an agent's arguments as a JSON array
// of strings, or the name or path of a program that needs none. The error wraps
// ErrPreset.
func Parse(setting string) (Preset, error) {
	setting = strings.TrimSpace(setting)
	switch {
	case setting == "opencode", setting == "codex":
		return Preset{name: setting}, nil
	case strings.HasPrefix(setting, "["):
		var argv []string
		if err := json.Unmarshal([]byte(setting), &argv); err != nil {
			return Preset{}, fmt.Errorf("%w: not a JSON array of strings: %w", ErrPreset, err)
		}
		return program(argv)
	case strings.ContainsAny(setting, " \t\n"):
		// It may be a path with a space as well as a command: no guess is made, and no
		// shell splits it.
		return Preset{}, fmt.Errorf(`%w: %q has a space: give a program with arguments as a JSON array, ["program", "argument"]`, ErrPreset, setting)
	default:
		return program([]string{setting})
	}
}

func program(argv []string) (Preset, error) {
	if len(argv) == 0 || argv[0] == "" {
		return Preset{}, fmt.Errorf("%w: no program is named", ErrPreset)
	}
	for _, argument := range argv {
		if strings.ContainsRune(argument, 0) {
			return Preset{}, fmt.Errorf("%w: an argument holds a NUL", ErrPreset)
		}
	}
	return Preset{name: path.Base(argv[0]), argv: argv}, nil
}

// Name is what to call the agent: the preset's name, or the program's.
func (p Preset) Name() string { return p.name }

// Config is what an agent is started for, all as the agent sees it.
type Config struct {
	Model    string // as the model's API names it
	ModelURL string // the base of the model's API, with its version: http://127.0.0.1:8484/v1
	Tree     string // the work tree, an absolute path
	Home     string // its own directory, an absolute path; may hold what earlier runs left there
}

// Command is how an agent is started. It holds no secret.
type Command struct {
	Argv []string
	Env  []string // NAME=value, beside HOME and PATH, which are the sandbox's to set
	// Remove are paths, relative to HOME, to be removed with all that they hold before
	// each start: an earlier run may have left configuration there.
	Remove []string
	// Files are to be written after that: their paths, relative to HOME, and contents.
	// An earlier run may have left a link to anywhere in their place, so whoever
	// removes and writes outside of the sandbox must not follow it, as os.Root does not.
	Files map[string][]byte
	// Hide are paths, relative to the work tree, that the agent would run code from as
	// it starts. Where one is there, the agent must see it empty.
	Hide []string
}

// Command says how to start the agent. The error wraps ErrPreset.
//
// An agent that is a program of the operator's own finds in its environment:
//
//	FOOTFALL_MODEL, FOOTFALL_MODEL_URL                         the Config's
//	OPENAI_BASE_URL, OPENAI_API_KEY                            the URL, a placeholder
//	ANTHROPIC_BASE_URL                                         the URL without /v1
//	ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_MODEL   placeholders, the model
func (p Preset) Command(c Config) (Command, error) {
	u, err := url.Parse(c.ModelURL)
	switch {
	case p.name == "":
		return Command{}, fmt.Errorf("%w: no program is named", ErrPreset)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil:
		return Command{}, fmt.Errorf("%w: the model's URL is not one of http", ErrPreset)
	case c.Model == "" || strings.ContainsFunc(c.Model, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return Command{}, fmt.Errorf("%w: %q is not the name of a model", ErrPreset, c.Model)
	case !path.IsAbs(c.Tree) || !path.IsAbs(c.Home):
		return Command{}, fmt.Errorf("%w: the work tree and the home need absolute paths", ErrPreset)
	}
	c.ModelURL = strings.TrimSuffix(c.ModelURL, "/")
	switch {
	case p.argv != nil:
		return p.own(c), nil
	case p.name == "opencode":
		return opencode(c)
	default:
		return codex(c), nil
	}
}

func (p Preset) own(c Config) Command {
	return Command{
		Argv: slices.Clone(p.argv),
		Env: []string{
			"FOOTFALL_MODEL=" + c.Model,
			"FOOTFALL_MODEL_URL=" + c.ModelURL,
			"OPENAI_BASE_URL=" + c.ModelURL,
			"OPENAI_API_KEY=" + placeholder,
			// Its clients add the version themselves.
			"ANTHROPIC_BASE_URL=" + strings.TrimSuffix(c.ModelURL, "/v1"),
			"ANTHROPIC_API_KEY=" + placeholder,
			"ANTHROPIC_AUTH_TOKEN=" + placeholder,
			"ANTHROPIC_MODEL=" + c.Model,
		},
	}
}
