package checkout

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// settings are git's settings for every command. They stand in the environment, which
// goes before every file of settings, so what a file says of these does not count.
//
// They are written down though git's own configuration files are off as well: the
// file in the git directory is read still.
func settings() [][2]string {
	return [][2]string{
		// Whatever names a program.
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		// What a start after a power cut relies on: git leaves these unsynced otherwise.
		{"core.fsync", "committed,reference"},
		{"credential.helper", ""},
		{"commit.gpgSign", "false"},
		{"push.gpgSign", "false"},
		{"init.templateDir", ""},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},

		// Whatever reads another file.
		{"core.attributesFile", os.DevNull},
		{"core.excludesFile", os.DevNull},

		// Other repositories.
		{"submodule.recurse", "false"},
		{"fetch.recurseSubmodules", "false"},
		{"push.recurseSubmodules", "no"},
		{"diff.ignoreSubmodules", "all"},

		// Other hosts.
		{"http.followRedirects", "false"},
		{"transfer.bundleURI", "false"},

		// What comes over the wire is checked. Repositories whose history has old faults
		// fail such a check, but with a depth of one nothing of the history is fetched.
		{"transfer.fsckObjects", "true"},
		{"fetch.unpackLimit", "1"}, // one pack, whose size has a bound

		// The tree is what the repository says, whatever the machine is.
		{"core.fileMode", "true"},
		{"core.symlinks", "true"},
		{"core.ignoreCase", "false"},
		{"core.precomposeUnicode", "false"},
		{"core.protectHFS", "true"},
		{"core.protectNTFS", "true"},
		{"core.autocrlf", "false"},
		{"core.eol", "lf"},
		{"core.safecrlf", "false"},
		{"core.sparseCheckout", "false"},
		{"core.untrackedCache", "false"},
		{"core.splitIndex", "false"},

		{"core.logAllRefUpdates", "false"},
		{"push.followTags", "false"},
		{"init.defaultBranch", "main"},
	}
}

// environment is everything that a git command knows of the outside. Nothing of the
// service's own environment is in it.
func (c *Checkout) environment(command command, token string) []string {
	env := []string{
		// Git finds its own programs by itself.
		"PATH=" + filepath.Dir(c.git) + ":/usr/bin:/bin",
		"LC_ALL=C",
		// No .netrc, no .gitconfig. A path below a file can not exist.
		"HOME=" + os.DevNull + "/none",
		"XDG_CONFIG_HOME=" + os.DevNull + "/none",
		"GIT_DIR=" + c.gitDir(),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=false",
		"GIT_EDITOR=false",
		"GIT_PAGER=cat",
		"GIT_ALLOW_PROTOCOL=" + c.scheme(),
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_LITERAL_PATHSPECS=1",
	}
	if command.onTree {
		env = append(env, "GIT_WORK_TREE="+c.Tree())
	}
	config := settings()
	if token != "" {
		// Scoped to the remote's URL: an unscoped header goes to whatever host a
		// url.insteadOf or a redirect names.
		config = append(config, [2]string{"http." + c.options.Remote + ".extraHeader", "Authorization: " + c.basic(token)})
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
	for i, pair := range config {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+pair[0], "GIT_CONFIG_VALUE_"+n+"="+pair[1])
	}
	return append(env, command.env...)
}

// scheme is the only protocol that git may speak.
func (c *Checkout) scheme() string {
	scheme, _, _ := strings.Cut(c.options.Remote, ":")
	return strings.ToLower(scheme)
}

// basic is the value of an Authorization header (RFC 7617).
func (c *Checkout) basic(token string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.options.TokenUser+":"+token))
}

// token reads the secret; empty where there is none to use.
func (c *Checkout) token() (string, error) {
	if c.options.Token == nil || c.scheme() == "file" {
		return "", nil
	}
	token, err := c.options.Token()
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return "", errors.New("read the token: it is empty")
	}
	if strings.ContainsFunc(token, unicode.IsControl) {
		return "", errors.New("read the token: it holds a control character")
	}
	return token, nil
}
