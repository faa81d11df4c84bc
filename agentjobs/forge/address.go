package forge

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// segment is an owner or a repository as both forges name them. Both go into the
// paths of requests as they are.
var segment = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// place is where a repository lies.
type place struct {
	url    *url.URL
	prefix string // the path before the owner, with no slash at its end
	owner  string
	name   string
}

// parseURL reads a URL that a token may be sent to.
func parseURL(text string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is not a URL") // The error of Parse quotes it, with a password that it may have.
	}
	switch {
	case u.User != nil:
		return nil, errors.New("has user information, which belongs into the token's file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("has a query or a fragment")
	case u.Host == "" || u.Opaque != "":
		return nil, errors.New("has no host")
	case strings.HasSuffix(u.Host, ":"):
		return nil, errors.New("has no port behind the colon")
	case u.Scheme == "https":
		return u, nil
	case u.Scheme == "http" && insecure && isLoopback(u.Hostname()):
		return u, nil
	}
	return nil, fmt.Errorf("begins with %s instead of https", u.Scheme+"://")
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func parseRepository(text string, insecure bool) (place, error) {
	u, err := parseURL(text, insecure)
	if err != nil {
		return place{}, err
	}
	path := strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "/"), ".git")
	rest, name := cutLast(path)
	prefix, owner := cutLast(rest)
	for _, s := range []string{owner, name} {
		if !segment.MatchString(s) || strings.Trim(s, ".") == "" {
			return place{}, errors.New("does not end with /owner/name")
		}
	}
	return place{url: u, prefix: prefix, owner: owner, name: name}, nil
}

// cutLast splits a path before its last slash.
func cutLast(path string) (before, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// apiURL returns the base of the API, with a slash at its end.
func apiURL(o Options, p place) (*url.URL, error) {
	text := o.APIURL
	if text == "" {
		base := p.url.Scheme + "://" + p.url.Host
		switch {
		case o.Kind == Gitea:
			text = base + p.prefix + "/api/v1/"
		case p.prefix != "":
			// GitHub lies at the root of its host: the path is a proxy's or a
			// mirror's, and where that keeps the API can not be guessed.
			return nil, fmt.Errorf("does not follow from a repository below %s: it has to be given", p.prefix)
		case strings.EqualFold(p.url.Hostname(), "github.com") || strings.EqualFold(p.url.Hostname(), "www.github.com"):
			text = "https://api.github.com/"
		default:
			text = base + "/api/v3/"
		}
	}
	u, err := parseURL(text, o.Insecure)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	u.RawPath = ""
	return u, nil
}
