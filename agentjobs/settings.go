package agentjobs

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/dgraph-io/badger/v4"

	"footfall/agentjobs/agent"
	"footfall/agentjobs/checkout"
	"footfall/agentjobs/forge"
	"footfall/agentjobs/gate"
	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
)

// Settings are what the operator set for the agent jobs of a project. Secrets are
// not among them, only the names of the files that hold them: a file is read when
// its secret is used, and so can be replaced at any time.
type Settings struct {
	Repository     string     `json:"repo"`           // URL to clone and push to
	Ref            string     `json:"ref"`            // the branch that pull requests are for
	Forge          forge.Kind `json:"forge"`          // what serves the pull requests
	ForgeURL       string     `json:"forgeUrl"`       // of its API; empty where it follows from Repository
	ForgeTokenFile string     `json:"forgeTokenFile"` // token to clone, push and open pull requests
	Agent          string     `json:"agent"`          // a preset or an argv, see agent.Parse
	Model          string     `json:"model"`
	ModelURL       string     `json:"modelUrl"`     // base URL of the model's API, to which its routes are added
	ModelKeyFile   string     `json:"modelKeyFile"` // empty for a model that asks for none
	DocsPath       string     `json:"docsPath"`     // what the agent may change; empty for all of the repository
	Draft          bool       `json:"draft"`        // open pull requests as drafts
}

// errNoRepository is what a client is told whose project has no settings.
var errNoRepository = api.BadRequest("the project has no repository; its operator sets one with: footfall agent settings --project ID --repo URL ...")

// withDefaults fills in what was left out.
func (s Settings) withDefaults() Settings {
	if s.Ref == "" {
		s.Ref = "main"
	}
	if s.Forge == "" {
		s.Forge = forge.GitHub
	}
	if s.Agent == "" {
		s.Agent = "opencode"
	}
	return s
}

// validate returns nil, or a 400 that names every setting that is wrong by its flag.
// insecure takes URLs of this machine, for tests.
func (s Settings) validate(insecure bool) error {
	var faults []string
	check := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Sprintf("--%s %v", flag, err))
		}
	}
	check("repo", checkURL(s.Repository, true, insecure))
	check("ref", checkout.CheckBranch(s.Ref))
	if s.Forge != forge.GitHub && s.Forge != forge.Gitea {
		check("forge", fmt.Errorf("must be %s or %s", forge.GitHub, forge.Gitea))
	}
	check("forge-url", checkURL(s.ForgeURL, false, insecure))
	check("forge-token-file", checkSecretFile(s.ForgeTokenFile, true))
	_, err := agent.Parse(s.Agent)
	check("agent", err)
	check("model", checkModel(s.Model))
	check("model-url", checkURL(s.ModelURL, true, insecure))
	check("model-key-file", checkSecretFile(s.ModelKeyFile, false))
	check("docs-path", checkDocsPath(s.DocsPath))
	if len(faults) == 0 {
		check("repo", s.tryParts(insecure))
	}
	if len(faults) > 0 {
		return api.BadRequest("a setting is not valid: "+strings.Join(faults, "; "), faults...)
	}
	return nil
}

// tryParts makes what a run is made of, which knows best what it can work with.
func (s Settings) tryParts(insecure bool) error {
	noToken := func() (string, error) { return "", nil }
	_, err := forge.New(forge.Options{Kind: s.Forge, APIURL: s.ForgeURL, Repository: s.Repository, Token: noToken, Insecure: insecure})
	if err != nil {
		return err
	}
	preset, err := agent.Parse(s.Agent)
	if err != nil {
		return err
	}
	_, err = preset.Command(agent.Config{Model: s.Model, ModelURL: "http://127.0.0.1/v1", Tree: "/tree", Home: "/home"})
	return err
}

// checkURL holds a URL to https without user information, so that nothing is sent
// in the clear and no secret stands in a URL, which ends up in logs.
func checkURL(text string, required, insecure bool) error {
	if text == "" && !required {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > 2048 || strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("must be a URL")
	case u.User != nil:
		return fmt.Errorf("must hold no user and no password; secrets belong into files")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return fmt.Errorf("must hold no query and no fragment")
	case u.Scheme == "https" && u.Hostname() != "" && (insecure || !loopback(u.Hostname())):
		return nil
	case insecure && (u.Scheme == "http" && loopback(u.Hostname()) || u.Scheme == "file" && u.Host == ""):
		return nil
	}
	return fmt.Errorf("must be an https URL with a host that is not this machine")
}

// loopback reports whether a host is this machine. A name that ends in a number is an
// IPv4 address to many resolvers, in spellings that ParseAddr does not take (127.1;
// https://url.spec.whatwg.org/#ends-in-a-number-checker): it counts as this machine.
func loopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().IsLoopback() || address.IsUnspecified()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || last != "" && strings.Trim(last, "0123456789") == ""
}

func checkSecretFile(name string, required bool) error {
	if name == "" && !required {
		return nil
	}
	if !filepath.IsAbs(name) || filepath.Clean(name) != name || strings.ContainsRune(name, 0) {
		return fmt.Errorf("must be the absolute path of a file")
	}
	return nil
}

func checkModel(name string) error {
	if len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		return fmt.Errorf("must be the model's name, of 1 to 200 printable characters without spaces")
	}
	return gate.CheckModel(name)
}

func checkDocsPath(name string) error {
	if name == "" {
		return nil
	}
	if path.IsAbs(name) || path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../") ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("must be a directory of the repository, such as docs or site/docs")
	}
	return nil
}

// SetSettings keeps the settings of a project's jobs. Jobs that wait run with the
// new ones; a run that has begun goes on with the old ones. The error is a 400
// where a setting is wrong.
func (js *Jobs) SetSettings(project access.Project, s Settings) (Settings, error) {
	s = s.withDefaults()
	if err := s.validate(js.options.Insecure); err != nil {
		return Settings{}, err
	}
	err := js.db.Update(func(txn *badger.Txn) error {
		return database.SetJSON(txn, database.JobSettingsKey(project.Number), database.KindJobSettings, s)
	})
	if err != nil {
		return Settings{}, fmt.Errorf("keeping the settings of project %q: %w", project.ID, err)
	}
	return s, nil
}

// Settings returns the settings of a project's jobs. found is false where none were
// set.
func (js *Jobs) Settings(project access.Project) (s Settings, found bool, err error) {
	err = js.db.View(func(txn *badger.Txn) error {
		found, err = database.GetJSON(txn, database.JobSettingsKey(project.Number), database.KindJobSettings, &s)
		return err
	})
	if err != nil {
		return Settings{}, false, fmt.Errorf("reading the settings of project %q: %w", project.ID, err)
	}
	return s, found, nil
}
