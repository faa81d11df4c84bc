package checkout

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Author is who the commits are by.
type Author struct {
	Name, Email string
}

// Options say what is checked out, and where.
type Options struct {
	// Dir is the job's directory, an absolute path. The checkout owns what it puts
	// there: git, tree, and trash for the moment that removing takes.
	Dir string

	// Remote is the URL of the repository: https, without user information.
	Remote string

	// Token returns the secret for the remote. It is called again at each use. Nil:
	// the remote is read and written without one.
	Token func() (string, error)

	// TokenUser is the user of the Basic credentials whose password is the token;
	// empty: "x-access-token", as GitHub wants it for every kind of token. Gitea
	// takes any user.
	TokenUser string

	// Insecure allows the schemes http, on loopback, and file besides. For tests.
	Insecure bool

	// DocsPath is the directory below which changes may be, relative and slash
	// separated. Empty: everywhere.
	DocsPath string

	Author Author

	// Now is the clock of the commits; nil: time.Now.
	Now func() time.Time

	Limits Limits
}

// Limits bound what a checkout uses. Zero means the default.
type Limits struct {
	// Timeout is how long one git command may take; default 5 minutes.
	Timeout time.Duration

	// Files is how many files, links and directories the tree may hold, ignored ones
	// too; default 500,000.
	Files int

	// FileBytes is how large a file of a change may be; default 50 MiB. GitHub warns
	// from there on and refuses 100 MiB.
	FileBytes int64

	// ChangeBytes is how large all files of a change together may be; default 256 MiB.
	ChangeBytes int64

	// FetchBytes is how large a file that git writes may be, so the pack of a fetch
	// too; default 4 GiB. The kernel enforces it (RLIMIT_FSIZE); on Linux only.
	FetchBytes int64
}

const (
	defaultTimeout     = 5 * time.Minute
	defaultFiles       = 500_000
	defaultFileBytes   = 50 << 20
	defaultChangeBytes = 256 << 20
	defaultFetchBytes  = 4 << 30

	defaultTokenUser = "x-access-token"
)

func (l Limits) withDefaults() Limits {
	if l.Timeout <= 0 {
		l.Timeout = defaultTimeout
	}
	if l.Files <= 0 {
		l.Files = defaultFiles
	}
	if l.FileBytes <= 0 {
		l.FileBytes = defaultFileBytes
	}
	if l.ChangeBytes <= 0 {
		l.ChangeBytes = defaultChangeBytes
	}
	if l.FetchBytes <= 0 {
		l.FetchBytes = defaultFetchBytes
	}
	return l
}

// withDefaults returns the options with every default in place, or what is wrong
// with them. No error holds the remote: it may have a password in it.
func (o Options) withDefaults() (Options, error) {
	if !filepath.IsAbs(o.Dir) {
		return o, errors.New("directory is not an absolute path")
	}
	o.Dir = filepath.Clean(o.Dir)
	if strings.ContainsRune(o.Dir, os.PathListSeparator) {
		// Git splits some of its variables there.
		return o, fmt.Errorf("directory holds a %q", os.PathListSeparator)
	}
	if err := checkRemote(o.Remote, o.Insecure); err != nil {
		return o, fmt.Errorf("remote: %w", err)
	}
	docs, err := cleanDocsPath(o.DocsPath)
	if err != nil {
		return o, fmt.Errorf("docs path: %w", err)
	}
	o.DocsPath = docs
	for field, s := range map[string]string{"name": o.Author.Name, "email": o.Author.Email} {
		if err := checkIdentity(s); err != nil {
			return o, fmt.Errorf("author's %s: %w", field, err)
		}
	}
	if o.TokenUser == "" {
		o.TokenUser = defaultTokenUser
	}
	// RFC 7617: the user ends at the first colon.
	if strings.Contains(o.TokenUser, ":") || strings.ContainsFunc(o.TokenUser, unicode.IsControl) {
		return o, errors.New("token's user holds a colon or a control character")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Limits = o.Limits.withDefaults()
	return o, nil
}

func checkRemote(remote string, insecure bool) error {
	u, err := url.Parse(remote)
	if err != nil {
		// The error of Parse quotes the URL.
		return errors.New("not a URL")
	}
	switch {
	case u.User != nil:
		return errors.New("the URL holds a user; secrets are given as files")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the URL has a query or a fragment")
	case strings.ContainsFunc(remote, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf || r == 0x7f }):
		return errors.New("the URL holds a character that has to be escaped")
	case u.Scheme == "https" && u.Hostname() != "":
		return nil
	case insecure && u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	case insecure && u.Scheme == "file" && u.Host == "" && path.IsAbs(u.Path):
		return nil
	}
	return errors.New("the URL is not https://host/path")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func cleanDocsPath(docs string) (string, error) {
	clean := path.Clean("/" + docs)[1:]
	switch {
	case docs == "" || docs == "." || docs == "./":
		return "", nil
	case path.IsAbs(docs):
		return "", errors.New("not relative to the repository")
	case clean == "" || strings.TrimSuffix(strings.TrimPrefix(docs, "./"), "/") != clean:
		return "", errors.New("holds an empty, a . or a .. element")
	case strings.ContainsRune(docs, 0):
		return "", errors.New("holds a NUL")
	}
	return clean, nil
}

// checkIdentity refuses what git would drop from a name or an address in silence.
func checkIdentity(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("missing")
	}
	if !utf8.ValidString(s) || strings.ContainsAny(s, "<>") || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("holds <, > or a control character")
	}
	return nil
}
